import TinyPush

extension BinaryLink {
  // MARK: - Identifiers

  /// The identifier after the last notification in the window.
  var endID: UInt32 { barrier.id ?? nextID }

  /// The identifier of the first notification on the wire without a known outcome.
  var openID: UInt32 {
    kept == .nothing && pending.rest == nil && !window.isEmpty ? headID &+ pending.decided : endID
  }

  /// The number of notifications on the wire or in the batch without a known outcome.
  var openCount: UInt32 { endID - openID }

  /// The last identifier whose frame may have reached the gateway.
  var attemptedID: UInt32 { batch.isBlocked ? nextID - 1 : lastWrittenID }

  // MARK: - Outcomes

  /// Returns the next outcome; nil if absent.
  public mutating func takeOutcome() -> (message: MessageNumber, outcome: LinkOutcome)? {
    if !oversized.queue.isEmpty {
      let message = oversized.queue.removeFirst().message
      return (message, .rejected(Status.invalidPayloadSize.rejection))
    }
    if pending.accepted > 0 {
      pending.accepted -= 1
      if pending.isProved { recent.prove(headID..<headID &+ 1) }
      headID &+= 1
      return (window.removeFirst().message, .accepted(isProved: pending.isProved))
    }
    if let rejection = pending.rejection {
      pending.rejection = nil
      headID &+= 1
      return (window.removeFirst().message, .rejected(rejection))
    }
    guard let rest = pending.rest else { return nil }
    // From the last one on: the courier puts each returned notification before the previous one.
    guard let entry = window.removeLast() else {
      pending.rest = nil
      return nil
    }
    guard window.count < Int(rest.attempted) else {
      return (entry.message, .returned(wasSent: entry.wasSent, notBefore: nil))
    }
    if rest.isUncertain, shared.uncertain == .drop { return (entry.message, .dropped) }
    traffic.recordRetry(rest.cause)
    return (
      entry.message,
      .returned(wasSent: true, notBefore: rest.letsOthersGo ? time.now : nil)
    )
  }

  /// Returns the hash of the next device token that an answer proved to be good.
  public mutating func takeProved() -> UInt64? { recent.take() }

  /// Accepts everything on the wire before `id`.
  private mutating func settle(before id: UInt32, byProof: Bool) {
    guard kept == .nothing, id > openID else { return }
    accept(min(id, endID) - openID, byProof: byProof)
  }

  private mutating func accept(_ count: UInt32, byProof: Bool) {
    pending.accepted += count
    pending.isProved = byProof
    recordProgress(Int(count))
  }

  private mutating func recordProgress(_ count: Int) {
    hasProgressed = true
    settledCount += count
    isGatewayUnproven = false
    lone = nil
    backoff.reset()
    poisonSearch.settled(count)
  }

  // MARK: - Answers

  /// Takes bytes from the gateway.
  public mutating func received(_ bytes: Span<UInt8>) {
    for index in bytes.indices {
      guard case .up = state else { return }
      do throws(ErrorResponseReader.Garbage) {
        if let response = try answer.take(bytes[index]) { handle(response) }
      } catch {
        let uncertain = end(.died)
        switch error {
        case .command(let byte):
          reports.add(.garbage(firstByte: byte, uncertain: uncertain))
        }
        state = .closing
      }
    }
  }

  /// Handles an answer, which settles everything before the notification that it names.
  ///
  /// Any answer but "no error" ends the connection.
  private mutating func handle(_ response: ErrorResponse) {
    let id = response.identifier
    let rejection = response.status.rejection
    guard id > 0, id <= attemptedID, response.status.isDocumented else {
      reports.add(.strangeAnswer(rejection, identifier: id, uncertain: end(.died)))
      state = .closing
      return
    }
    if response.status == .invalidPayloadSize, id != barrier.id {
      recent.payloadBytes(of: id).map { oversized.learn($0) }
    }
    let firstOpen = openID
    settle(before: id, byProof: true)
    if id == barrier.id {
      handleBarrierAnswer()
    } else if response.status == .none {
      settle(before: id + 1, byProof: true)
      saysNoError = true
      hasSaidNoError = true
      return
    } else if response.status == .shutdown {
      settle(before: id + 1, byProof: true)
      reports.add(.shutdown(resent: Int(openCount)))
      end(.answered)
      pending.rest?.cause = .shutdown
    } else if id >= firstOpen {
      pending.rejection = rejection
      recordProgress(1)
      end(.answered)
    } else {
      reports.add(.lateAnswer(rejection, identifier: id))
      end(.answered)
    }
    state = .closing
  }

  /// Handles the answer to a barrier.
  ///
  /// The gateway answers barriers. So notifications that were kept because a barrier had no answer
  /// may or may not have arrived.
  private mutating func handleBarrierAnswer() {
    barrier.unanswered = 0
    barrier.isReliable = true
    hasProgressed = true
    if poisonSearch.isProbing { isolatePoison() }
    let uncertain = returnUnanswered()
    if uncertain > 0 { reports.add(.cut(uncertain: uncertain)) }
    end(.answered)
  }

  // MARK: - Time

  /// Accepts notifications whose wait is over without an answer.
  mutating func settleByTime() -> Courier.Step? {
    guard let over = acknowledgements.settledAt, over <= time.now else { return nil }
    // The wait for a barrier begins when it is written.
    guard barrier.id == nil ? !settlesByBarrier : batch.isEmpty else { return nil }
    // Silence counts only if everything was read and the connection still moves bytes.
    guard stream.heardAt >= over else { return .listen }
    guard stream.sampledAt >= over else { return .sample }
    let patience = Duration(milliseconds: settings.settle.milliseconds / 2)
    if stream.isStalled(for: patience, at: time.now) {
      acknowledgements.restart(at: time.now)
    } else if barrier.id != nil {
      if poisonSearch.isProbing { isolatePoison() }
      giveUpBarrier()
    } else {
      let heard = stream.heardAt < stream.sampledAt ? stream.heardAt : stream.sampledAt
      while let lastID = acknowledgements.takeSettled(at: heard) {
        settle(before: lastID &+ 1, byProof: false)
      }
    }
    return nil
  }

  /// Ends the connection if a barrier is on its way and the peer acknowledges nothing.
  mutating func checkBarrier() {
    if barrier.id != nil, batch.isEmpty, stream.isStalled(for: settings.settle, at: time.now) {
      treatBarrierAsLost()
    }
  }

  /// Ends the connection: the barrier did not arrive, and everything before it is uncertain.
  private mutating func treatBarrierAsLost() {
    reports.add(.unanswered(uncertain: end(.unanswered)))
    state = .closing
  }

  /// Ends a connection on which everything was acknowledged, but the barrier has no answer.
  ///
  /// Either the gateway hangs, or it accepts frames that it should refuse. A barrier that is sent
  /// alone on the next connection shows which. If that has no answer either, silence means nothing,
  /// and time settles. A stop has no next connection: with `confirm = barrier`, or if the gateway
  /// answered a barrier before, everything is uncertain.
  private mutating func giveUpBarrier() {
    state = .closing
    // The gateway reports what it has accepted, and has not reported everything.
    let isPartlyProved = kept == .nothing && saysNoError && openCount > 0
    let isProofNeeded = barrier.isReliable || settings.confirm == .barrier
    if isPartlyProved || supply.isStopping && isProofNeeded { return treatBarrierAsLost() }
    if !supply.isStopping, openCount > 0 {
      reports.add(.askedAgain(Int(openCount)))
      end(.silent)
      return
    }
    let before = pending.accepted
    settle(before: nextID, byProof: false)
    if kept == .unanswered {
      takeBackToWire()
      accept(UInt32(window.count), byProof: false)
    }
    if pending.accepted > before { reports.add(.unproved(Int(pending.accepted - before))) }
    end(.silent)
  }

  /// Counts the kept notifications as written directly before the barrier.
  private mutating func takeBackToWire() {
    kept = .nothing
    headID = endID &- UInt32(window.count)
  }

  // MARK: - The search for a poison notification

  /// Ends a search for a poison notification, since no notification is in flight.
  public mutating func resetPoisonSearch() {
    if window.isEmpty { poisonSearch = PoisonSearch() }
  }

  /// When a probe without a barrier has lasted long enough.
  var probeEnd: Instant? {
    guard poisonSearch.isProbing, state == .up, barrier.id == nil, !maySendBarrier, let upSince
    else {
      return nil
    }
    return upSince + settings.settle
  }

  /// Ends a probe without a barrier if it has lasted long enough.
  mutating func endProbe() -> Courier.Step? {
    guard let end = probeEnd, end <= time.now else { return nil }
    guard stream.heardAt >= end else { return .listen }
    isolatePoison()
    return nil
  }

  /// Rejects the isolated notification, since the connection lived without it.
  private mutating func isolatePoison() {
    poisonSearch.rejected()
    guard kept == .isolated else { return }
    takeBackToWire()
    var rejection = Rejection(.endsConnections)
    rejection.isNeverNamed = settings.format == .simple
    pending.rejection = rejection
    hasProgressed = true
    // A gateway that closes on every notification, but answers barriers, must not empty the spool
    // quickly: only the first rejection resets the backoff.
    if !isGatewayUnproven { backoff.reset() }
    isGatewayUnproven = true
  }
}
