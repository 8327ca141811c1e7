extension Courier {
  // MARK: - Results of steps

  /// The connection is up, and the peer verified.
  public mutating func connected() {
    counters.connections += 1
    link = .up
    upSince = time.now
    isProgress = false
  }

  /// There is no connection: it could not be made, or it ended. Whatever could still be read from it has been
  /// ``received(_:)``.
  ///
  /// - Parameter byPeer: whether the other end closed or reset it; otherwise the way there is broken.
  public mutating func disconnected(at now: Instant, byPeer: Bool) {
    time.now = now
    switch link {
    case .up:
      // While the cause is looked for, connections that end are no news.
      let isNews = !suspicion.isNarrow
      let uncertain = cut(byPeer ? .died : .unanswered)
      if uncertain > 0, isNews { reports.add(.cut(uncertain: uncertain)) }
      link = .down(dialAt: dialAt())
    case .dialing: link = .down(dialAt: now + backoff.fail())
    case .down, .closing: break
    }
  }

  /// The bytes to write, as one record.
  @_lifetime(borrow self)
  public func batchContents() -> Span<UInt8> { batch.span(0..<batchBytes) }

  /// The batch is written; `wireEnd` counts the connection's bytes so far.
  public mutating func wrote(wireEnd: UInt64) {
    counters.records += 1
    counters.sent += UInt64(nextID - 1 - lastWrittenID)
    if barrierID == nextID - 1 { counters.sent -= 1 }
    isBlocked = false
    batchBytes = 0
    counters.repeated += batchRepeated
    batchRepeated = 0
    flushAt = nil
    framedEnd = nil
    lastWrittenID = nextID - 1
    writtenAt = time.now
    if acknowledgedEnd == self.wireEnd { movedAt = time.now }
    self.wireEnd = wireEnd
    acknowledgements.sent(upTo: lastWrittenID, wireEnd: wireEnd, at: time.now)
  }

  /// What the batch holds that is sent for the first time: the files that it is from, as they are when nobody has touched them
  /// since, and how many notifications of each.
  public func forEachFirst(_ body: (FileIdentity, Int) -> Void) {
    var index = sent.count - 1
    while index >= 0 {
      let stretch = sent[index]
      if stretch.count > 0 {
        guard stretch.firstID > lastWrittenID else { break }
        if !stretch.wasSent { body(claims[stretch.claim].identity, Int(stretch.count)) }
      }
      index -= 1
    }
  }

  /// The socket takes no more for now: the same batch is written when it does. A gateway that does not keep up takes longer
  /// to answer, too.
  public mutating func blocked() {
    isBlocked = true
    acknowledgements.restart(at: time.now)
  }

  /// The socket takes bytes again.
  public mutating func writable() {
    isUnblocked = true
  }

  /// What the peer's kernel has not acknowledged of the bytes written.
  ///
  /// - Parameters:
  ///   - since: how long ago an acknowledgement last came.
  ///   - roundTrip: how long one takes.
  public mutating func sampled(unacknowledged: Int, since: Duration, roundTrip: Duration) {
    let end = wireEnd - UInt64(min(unacknowledged, Int(clamping: wireEnd)))
    if end > acknowledgedEnd || end == wireEnd { movedAt = time.now }
    acknowledgedEnd = end
    sampledAt = time.now
    var at = time.now
    if unacknowledged == 0, since.milliseconds < at.milliseconds {
      at.milliseconds -= since.milliseconds
    }
    acknowledgements.acknowledged(upTo: acknowledgedEnd, at: at, now: time.now)
    if batchBytes > 0, flushAt == nil, acknowledgedEnd < wireEnd {
      let wait = roundTrip < settings.linger ? roundTrip : settings.linger
      let due = time.now + (wait.milliseconds > 0 ? wait : .milliseconds(1))
      let last = batchSince + settings.linger
      flushAt = due < last ? due : last
    }
    checkBarrier()
  }

  // MARK: - Writing

  /// What to do for the batch, if anything, now that no more can be put into it.
  mutating func transmit() -> Step? {
    if isBlocked {
      guard isUnblocked else { return nil }
      return write()
    }
    if batchBytes == 0 && wantsBarrier { frameBarrier() }
    if batchBytes == 0 {
      // Identifiers are used up.
      if sent.isEmpty, nextID >= .max - 1 {
        cut(.answered)
        link = .closing
      }
      return nil
    }
    // More may come at once: only when there is none does waiting pay.
    guard intakeState == .dry, barrierID == nil else { return write() }
    if acknowledgedEnd == wireEnd { return write() }
    guard let flushAt else { return .sample }
    return time.now >= flushAt ? write() : nil
  }

  /// Nothing is written before everything has been read: to a gateway that has answered, a write brings a reset, and
  /// that may take the answer away.
  private mutating func write() -> Step {
    guard hasJustHeard else { return .listen }
    isUnblocked = false
    return .write
  }

  /// Whether a barrier may be sent at all.
  var mayBarrier: Bool {
    guard settings.format != .simple, settings.confirm != .settle else { return false }
    // At a trial it shows whether the gateway dies at anything; of one that took something else that is known.
    return vainBarriers < Self.vainBarriersMax || suspicion.isTrial && !suspicion.hasPassed
  }

  /// Whether nothing new goes on this connection but a barrier, to see what the gateway makes of that.
  var goesAlone: Bool {
    suspicion.isTrial || silent > 0
      || vainBarriers >= Self.vainBarriersBeforeTrial && mayBarrier
        && (isStopping || settings.isOnce || settings.confirm == .barrier)
  }

  /// Until when a suspect that is alone in flight is followed by nothing: to a gateway that has refused it, a barrier would
  /// bring a reset, and that may take the answer away.
  var soloEnd: Instant? {
    guard suspicion.limit == 1, barrierID == nil, sent.notifications > 0 else { return nil }
    return writtenAt + Duration(milliseconds: settings.settle.milliseconds / 2)
  }

  private var wantsBarrier: Bool {
    guard barrierID == nil, mayBarrier else { return false }
    if goesAlone { return true }
    guard sent.notifications > 0, lastWrittenID > 0 else { return false }
    if suspicion.isNarrow {
      return (isAllSent || intakeState == .windowFull) && soloEnd.map { time.now >= $0 } ?? true
    }
    if isStopping || settings.isOnce {
      return isAllSent || isStopping || intakeState == .windowFull
    }
    guard settings.confirm == .barrier else { return false }
    if let barrierAt, time.now < barrierAt + settings.barrierInterval { return false }
    return isAllSent || intakeState == .windowFull
  }

  /// Puts a frame into the batch that every gateway must refuse.
  private mutating func frameBarrier() {
    batchBytes = Frame.writeRefusable(settings.format, identifier: nextID, to: batch)
    barrierID = nextID
    acknowledgements.waitsForAll = true
    barrierAt = time.now
    nextID += 1
  }

  // MARK: - Answers

  /// Bytes came from the gateway.
  public mutating func received(_ bytes: Span<UInt8>) {
    for index in bytes.indices {
      guard case .up = link else { return }
      do throws(ErrorResponseReader.Garbage) {
        if let response = try answer.take(bytes[index]) { handle(response) }
      } catch {
        let uncertain = cut(.died)
        switch error {
        case .command(let byte):
          reports.add(.garbage(firstByte: byte, uncertain: uncertain))
        }
        link = .closing
      }
    }
  }

  /// An answer says what became of everything before it, and ends the connection unless it says that nothing is wrong.
  private mutating func handle(_ response: ErrorResponse) {
    let id = response.identifier
    guard id > 0, id <= attemptedID, response.status.isDocumented else {
      reports.add(.strangeAnswer(response, uncertain: cut(.died)))
      link = .closing
      return
    }
    let firstUnsettled = firstUnsettledID
    settle(before: id, byProof: true)
    if id == barrierID {
      vainBarriers = 0
      isBarrierSound = true
      isProgress = true
      if suspicion.isTrial { convict() }
      let uncertain = sendSilentAgain()
      if uncertain > 0 { reports.add(.cut(uncertain: uncertain)) }
      _ = cut(.answered)
    } else if response.status == .none {
      settle(before: id &+ 1, byProof: true)
      prove(through: id)
      return
    } else if response.status == .shutdown {
      settlePart(through: id, status: nil)
      reports.add(.shutdown(resent: cutAfterAnswer()))
    } else if id >= firstUnsettled {
      counters.noteRefusal(response.status)
      settlePart(through: id, status: response.status)
      reports.add(.refused(response.status, resent: cutAfterAnswer()))
    } else {
      reports.add(.lateAnswer(response))
      _ = cutAfterAnswer()
    }
    link = .closing
  }

  private mutating func cutAfterAnswer() -> Int {
    _ = cut(.answered)
    return again.notifications - Int(trim.accepted) - (trim.verdict == nil ? 0 : 1)
  }

  /// The last identifier of which the gateway may have seen the frame.
  private var attemptedID: UInt32 { isBlocked ? nextID - 1 : lastWrittenID }

  private var firstUnsettledID: UInt32 {
    guard let head = sent.first else { return nextID }
    return head.firstID
  }

  // MARK: - Ends

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

  /// The connection is over: what was sent and is not settled goes again, before anything new. Returns how many
  /// notifications nobody knows of.
  @discardableResult
  mutating func cut(_ ending: Ending) -> Int {
    let isAnswered = ending == .answered
    let wasBarrier = barrierID != nil
    // One that went alone shows that it is the barrier after all.
    if wasBarrier, ending == .died || ending == .silent, sent.isEmpty { isBarrierSound = false }
    let isBarrierVain = wasBarrier && ending == .died && !isBarrierSound
    interruptReading()
    var uncertain = 0
    if ending == .silent {
      silent = sent.count
    } else if !isAnswered {
      uncertain -= Int(provedOfHead)
      if settings.uncertain == .drop {
        while let head = sent.first, head.count == 0 || head.firstID <= attemptedID {
          uncertain += Int(head.count)
          dropHead()
        }
      }
    }
    while var stretch = sent.removeLast() {
      if stretch.count > 0 && stretch.firstID <= attemptedID {
        stretch.wasSent = true
        if !isAnswered, ending != .silent { uncertain += Int(stretch.count) }
      }
      again.prepend(stretch)
    }
    if !isAnswered, provedOfHead > 0, settings.uncertain == .resend {
      trim = Trim(accepted: provedOfHead, verdict: nil)
    }
    provedOfHead = 0
    counters.uncertain += UInt64(uncertain)
    if suspicion.isTrial ? !isAnswered : ending == .died && (suspicion.isNarrow || !isBarrierVain) {
      suspect(uncertain)
    }
    acknowledgements.clear()
    answer = ErrorResponseReader()
    batchBytes = 0
    batchRepeated = 0
    flushAt = nil
    isBlocked = false
    isUnblocked = false
    framedEnd = nil
    nextID = 1
    lastWrittenID = 0
    wireEnd = 0
    acknowledgedEnd = 0
    if ending == .silent {
      // Where the barrier that went alone got no answer, no other will.
      vainBarriers =
        silent > 0 ? min(vainBarriers, Self.vainBarriersBeforeTrial) : Self.vainBarriersMax
    } else if isBarrierVain {
      vainBarriers += 1
    }
    barrierID = nil
    if wasBarrier, ending == .died { uncertain += sendSilentAgain() }
    return uncertain
  }

  /// The connection died with so many notifications under way, which now go again.
  private mutating func suspect(_ uncertain: Int) {
    let wasNarrow = suspicion.isNarrow
    guard wasNarrow || !isProgress, settings.uncertain == .resend else { return }
    suspicion.died(inFlight: uncertain, first: again.first?.place)
    guard suspicion.isNarrow, !wasNarrow else { return }
    if !isGatewayUnproven { backoff.reset() }
    reports.add(.narrowed)
  }
}
