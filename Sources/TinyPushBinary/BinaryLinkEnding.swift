import TinyPush

extension BinaryLink {
  /// How a connection ended.
  enum Ending {
    /// An answer ended it.
    case answered
    /// The gateway ended it, and some notifications may or may not have arrived.
    case died
    /// The link or the network ended it, and some notifications may or may not have arrived.
    case unanswered
    /// The link ended it: the connection works, but the gateway did not answer a barrier.
    case silent
  }

  /// Ends the connection, and decides about the notifications without an outcome.
  ///
  /// They are returned to the courier, or kept until a barrier on the next connection shows what
  /// became of them. Returns how many notifications may or may not have arrived.
  @discardableResult
  mutating func end(_ ending: Ending) -> Int {
    let hadBarrier = barrier.id != nil
    let isOpenEmpty = openCount == 0
    // Nothing but the barrier was open, so the gateway does not answer barriers.
    if hadBarrier, ending == .died || ending == .silent, isOpenEmpty { barrier.isReliable = false }
    let isUnanswered = hadBarrier && ending == .died && !barrier.isReliable
    var uncertain = decideRest(ending)
    let counts =
      poisonSearch.isProbing
      ? ending != .answered : ending == .died && (poisonSearch.isNarrowed || !isUnanswered)
    if counts { recordDeath(uncertain) }
    if ending == .silent {
      // If a barrier that was sent alone gets no answer, no more barriers are sent.
      barrier.unanswered =
        kept == .unanswered
        ? min(barrier.unanswered, Barrier.unansweredBeforeBarrierOnly) : Barrier.unansweredMax
    } else if isUnanswered {
      barrier.unanswered += 1
    }
    if hadBarrier, ending == .died { uncertain += returnUnanswered() }
    forgetConnection()
    return uncertain
  }

  /// Decides about the notifications on the wire, and returns how many are uncertain.
  private mutating func decideRest(_ ending: Ending) -> Int {
    guard kept == .nothing, pending.rest == nil else { return 0 }
    if ending == .silent {
      if openCount > 0 {
        kept = .unanswered
        window.recordSent()
      }
      return 0
    }
    let attemptedEnd = min(attemptedID + 1, endID)
    let attempted = attemptedEnd > openID ? attemptedEnd - openID : 0
    let cause: RetryCause =
      switch ending {
      case .answered: .refusalBefore
      case .died: .connectionLost
      case .unanswered, .silent: .noAnswer
      }
    pending.rest = Rest(attempted: attempted, isUncertain: ending != .answered, cause: cause)
    guard ending != .answered else { return 0 }
    traffic.uncertain += UInt64(attempted)
    return Int(attempted)
  }

  /// Returns the kept notifications to the courier.
  ///
  /// They are uncertain: the gateway answers another barrier, or the next connection died too.
  /// Returns how many notifications that are.
  mutating func returnUnanswered() -> Int {
    guard kept == .unanswered else { return 0 }
    kept = .nothing
    pending.rest = Rest(
      attempted: UInt32(window.count), isUncertain: true, cause: .noAnswer)
    traffic.uncertain += UInt64(window.count)
    return window.count
  }

  /// Records the death of a connection, and the number of notifications in flight.
  ///
  /// After several deaths with the same isolated notification, it is kept while a connection is
  /// probed without it.
  private mutating func recordDeath(_ uncertain: Int) {
    let wasNarrow = poisonSearch.isNarrowed
    guard poisonSearch.isSuspicious || !hasProgressed, shared.uncertain == .resend else { return }
    // The batch was not written, and may have others behind it.
    let isAlone =
      lone?.message == firstOpen && window.count == Int(pending.decided) + 1
    poisonSearch.died(inFlight: uncertain, alone: isAlone ? lone?.key : nil)
    if poisonSearch.isProbing {
      kept = .isolated
      pending.rest = nil
      window.recordSent()
    } else if kept == .isolated {
      kept = .nothing
      pending.rest = Rest(
        attempted: UInt32(window.count), isUncertain: false, cause: .connectionLost)
    }
    pending.rest?.letsOthersGo = poisonSearch.letsOthersGo
    // The next notification in the row may be good, and must not wait for long.
    if poisonSearch.isNewSuspect { backoff.reset() }
    guard poisonSearch.isNarrowed, !wasNarrow else { return }
    if !isGatewayUnproven { backoff.reset() }
    reports.add(.narrowed)
  }

  /// The first notification without a known outcome.
  private var firstOpen: MessageNumber? {
    let first = Int(pending.decided)
    return first < window.count ? window[first].message : nil
  }

  private mutating func forgetConnection() {
    acknowledgements.clear()
    answer = ErrorResponseReader()
    saysNoError = false
    batch.clear()
    barrier.id = nil
    nextID = 1
    lastWrittenID = 0
    stream.written = 0
    stream.acknowledged = 0
  }
}

extension Status {
  /// The rejection that the status of an error response means.
  package var rejection: Rejection {
    let reason: Rejection.Reason =
      switch self {
      case .processingError: .processingError
      case .missingDeviceToken: .missingDeviceToken
      case .missingTopic: .missingTopic
      case .missingPayload: .missingPayload
      case .invalidTokenSize: .invalidTokenSize
      case .invalidTopicSize: .invalidTopicSize
      case .invalidPayloadSize: .invalidPayloadSize
      case .invalidToken: .invalidToken
      default: .other
      }
    return Rejection(reason, code: UInt16(rawValue))
  }
}
