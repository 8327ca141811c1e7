extension BinaryLink {
  // MARK: - Identifiers

  /// The identifier behind the last notification in the window.
  var endID: UInt32 { barrier.id ?? nextID }

  /// The identifier of the first notification on the wire of which nothing is known.
  var openID: UInt32 {
    kept == .nothing && pending.rest == nil && !window.isEmpty ? headID &+ pending.decided : endID
  }

  /// Notifications on the wire, or in the batch, of which nothing is known.
  var openCount: UInt32 { endID - openID }

  /// The last identifier of which the gateway may have seen the frame.
  var attemptedID: UInt32 { batch.isBlocked ? nextID - 1 : lastWrittenID }

  // MARK: - Outcomes

  public mutating func takeOutcome() -> LinkOutcome? {
    if pending.accepted > 0 {
      let stretch = window.removeFirst(notifications: min(pending.accepted, window.first!.count))
      pending.accepted -= stretch.count
      if pending.isProved {
        recipients.prove(headID..<headID &+ stretch.count)
      }
      headID &+= stretch.count
      return .accepted(stretch, isProved: pending.isProved)
    }
    if let rejection = pending.rejection {
      pending.rejection = nil
      headID &+= 1
      return .rejected(window.removeFirst(notifications: 1), rejection)
    }
    guard let rest = pending.rest else { return nil }
    // From the end, so that each goes before the one that was told last.
    guard var stretch = window.removeLast() else {
      pending.rest = nil
      return nil
    }
    guard window.notifications < Int(rest.attempted) else {
      return .returned(stretch, notBefore: nil)
    }
    stretch.wasSent = true
    if rest.isUncertain, settings.uncertain == .drop { return .dropped(stretch) }
    traffic.recordRetry(rest.cause, Int(stretch.count))
    return .returned(stretch, notBefore: nil)
  }

  public mutating func takeProved() -> UInt64? { recipients.take() }

  /// Everything on the wire before `id` arrived, or will not be heard of any more.
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
    isGatewayUnproven = false
    backoff.reset()
    poisonSearch.settled(count)
  }

  // MARK: - Answers

  /// Bytes came from the gateway.
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

  /// An answer says what became of everything before it, and ends the connection unless it says that nothing is wrong.
  private mutating func handle(_ response: ErrorResponse) {
    let id = response.identifier
    let rejection = response.status.rejection
    guard id > 0, id <= attemptedID, response.status.isDocumented else {
      reports.add(.strangeAnswer(rejection, identifier: id, uncertain: end(.died)))
      state = .closing
      return
    }
    let firstOpen = openID
    settle(before: id, byProof: true)
    if id == barrier.id {
      handleBarrierAnswer()
    } else if response.status == .none {
      settle(before: id + 1, byProof: true)
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

  /// The gateway answers barriers: what came before one that it did not answer is uncertain after all.
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

  /// What has waited long enough for an answer counts as delivered, if the wait was a sound one.
  mutating func settleByTime() -> Courier.Step? {
    guard let over = acknowledgements.settledAt, over <= time.now else { return nil }
    // A barrier that is not on its way yet cannot be missed.
    guard barrier.id == nil || batch.isEmpty else { return nil }
    // Silence proves nothing that was not listened to, nor on a connection that has stopped moving.
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

  /// Where a barrier is on its way and nothing moves any more, its answer is not waited for.
  mutating func checkBarrier() {
    if barrier.id != nil, batch.isEmpty, stream.isStalled(for: settings.settle, at: time.now) {
      treatBarrierAsLost()
    }
  }

  /// The barrier has not arrived: whatever came before is as uncertain as after a cut.
  private mutating func treatBarrierAsLost() {
    reports.add(.unanswered(uncertain: end(.unanswered)))
    state = .closing
  }

  /// Everything arrived, the connection is well, and the barrier has no answer: the gateway hangs, or it takes what it
  /// should refuse. Which of the two is shown by a barrier that goes alone on the next connection, before anything is sent
  /// again: without an answer to that one, silence means nothing, and time settles. A stop has no next connection.
  private mutating func giveUpBarrier() {
    state = .closing
    // A gateway that says what it has accepted, and has not said it of all.
    let isPartlyProved = kept == .nothing && (window.first?.skipped ?? 0) > 0
    if isPartlyProved || supply.isStopping && barrier.isReliable { return treatBarrierAsLost() }
    if !supply.isStopping, openCount > 0 {
      reports.add(.askedAgain(Int(openCount)))
      end(.silent)
      return
    }
    let before = pending.accepted
    settle(before: nextID, byProof: false)
    if kept == .unanswered {
      takeBackToWire()
      accept(UInt32(window.notifications), byProof: false)
    }
    if pending.accepted > before { reports.add(.unproved(Int(pending.accepted - before))) }
    end(.silent)
  }

  /// The notifications that were kept count as the last ones before the barrier.
  private mutating func takeBackToWire() {
    kept = .nothing
    headID = endID &- UInt32(window.notifications)
  }

  // MARK: - The search for a notification at which connections die

  public mutating func resetPoisonSearch() {
    if window.isEmpty { poisonSearch = PoisonSearch() }
  }

  /// When a connection without the suspect has lived long enough, where no barrier shows it sooner.
  var probeEnd: Instant? {
    guard poisonSearch.isProbing, state == .up, barrier.id == nil, !maySendBarrier, let upSince
    else {
      return nil
    }
    return upSince + settings.settle
  }

  /// Ends the trial, if it has lasted.
  mutating func endProbe() -> Courier.Step? {
    guard let end = probeEnd, end <= time.now else { return nil }
    guard stream.heardAt >= end else { return .listen }
    isolatePoison()
    return nil
  }

  /// The connection lives without the suspect: it is to blame for the deaths.
  private mutating func isolatePoison() {
    poisonSearch.reset()
    guard kept == .isolated else { return }
    takeBackToWire()
    pending.rejection = Rejection(.endsConnections)
    hasProgressed = true
    // A gateway that refuses barriers and dies at whatever else it is sent must not empty the spool so.
    if !isGatewayUnproven { backoff.reset() }
    isGatewayUnproven = true
  }
}
