extension BinaryLink {
  /// How a connection ends.
  enum Ending {
    case answered
    /// By the gateway, and nobody knows what arrived.
    case died
    /// By us, or by the network; the same.
    case unanswered
    /// By us: the connection is well, and the gateway has not answered the barrier.
    case silent
  }

  /// The connection is over: what was sent and is not settled goes back, or is kept until it is known what the gateway makes
  /// of a barrier. Returns how many notifications nobody knows of.
  @discardableResult
  mutating func end(_ ending: Ending) -> Int {
    let hadBarrier = barrier.id != nil
    let isOpenEmpty = openCount == 0
    // A barrier that went alone shows that it is the barrier after all.
    if hadBarrier, ending == .died || ending == .silent, isOpenEmpty { barrier.isReliable = false }
    let isUnanswered = hadBarrier && ending == .died && !barrier.isReliable
    var uncertain = decideRest(ending)
    let counts =
      poisonSearch.isProbing
      ? ending != .answered : ending == .died && (poisonSearch.isNarrowed || !isUnanswered)
    if counts { recordDeath(uncertain) }
    if ending == .silent {
      // Where the barrier that went alone got no answer, no other will.
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

  /// Decides what becomes of the notifications on the wire. Returns of how many of them nobody knows.
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

  /// The gateway does answer barriers, or nobody will know: what came before the one that it did not answer goes back.
  /// Returns how many notifications that are.
  mutating func returnUnanswered() -> Int {
    guard kept == .unanswered else { return 0 }
    kept = .nothing
    pending.rest = Rest(
      attempted: UInt32(window.notifications), isUncertain: true, cause: .noAnswer)
    traffic.uncertain += UInt64(window.notifications)
    return window.notifications
  }

  /// The connection died with so many notifications under way. After some deaths of the same one alone, that is kept while a
  /// connection is tried without it.
  private mutating func recordDeath(_ uncertain: Int) {
    let wasNarrow = poisonSearch.isNarrowed
    guard wasNarrow || !hasProgressed, settings.uncertain == .resend else { return }
    poisonSearch.died(inFlight: uncertain, first: firstOpenPlace)
    if poisonSearch.isProbing {
      kept = .isolated
      pending.rest = nil
      window.recordSent()
    } else if kept == .isolated {
      kept = .nothing
      pending.rest = Rest(
        attempted: UInt32(window.notifications), isUncertain: false, cause: .connectionLost)
    }
    guard poisonSearch.isNarrowed, !wasNarrow else { return }
    if !isGatewayUnproven { backoff.reset() }
    reports.add(.narrowed)
  }

  /// Where the first notification stands of which nothing is known.
  private var firstOpenPlace: FilePlace? {
    var before = pending.decided
    for index in 0..<window.count {
      let stretch = window[index]
      if before < stretch.count { return stretch.place }
      before -= stretch.count
    }
    return nil
  }

  private mutating func forgetConnection() {
    endings &+= 1
    acknowledgements.clear()
    answer = ErrorResponseReader()
    batch.clear()
    barrier.id = nil
    nextID = 1
    lastWrittenID = 0
    stream.written = 0
    stream.acknowledged = 0
  }
}

extension Status {
  /// What a status of an error response says of the notification that it names.
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
