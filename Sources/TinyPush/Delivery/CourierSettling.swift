extension Courier {
  // MARK: - By time

  /// What has waited long enough for an answer counts as delivered, if the wait was a sound one.
  mutating func settleByTime() -> Step? {
    guard let over = acknowledgements.settledAt, over <= time.now else { return nil }
    // A barrier that is not on its way yet cannot be missed.
    guard barrierID == nil || batchBytes == 0 else { return nil }
    // Silence proves nothing that was not listened to, nor on a connection that has stopped moving.
    guard heardAt >= over else { return .listen }
    guard sampledAt >= over else { return .sample }
    if isStalled(for: Duration(milliseconds: settings.settle.milliseconds / 2)) {
      acknowledgements.restart(at: time.now)
    } else if barrierID != nil {
      if suspicion.isTrial { convict() }
      passBarrierOver()
    } else {
      let heard = heardAt < sampledAt ? heardAt : sampledAt
      while let lastID = acknowledgements.takeSettled(at: heard) {
        settle(before: lastID &+ 1, byProof: false)
      }
    }
    return nil
  }

  /// Whether the peer has stopped taking what it is sent, so that it may not have looked at what it took before.
  private func isStalled(for patience: Duration) -> Bool {
    acknowledgedEnd < wireEnd && movedAt + patience < time.now
  }

  /// Where a barrier is on its way and nothing moves any more, its answer is not waited for.
  mutating func checkBarrier() {
    if barrierID != nil, batchBytes == 0, isStalled(for: settings.settle) { missBarrier() }
  }

  /// The barrier has not arrived: whatever came before is as uncertain as after a cut.
  private mutating func missBarrier() {
    reports.add(.unanswered(uncertain: cut(.unanswered)))
    link = .closing
  }

  /// Everything arrived, the connection is well, and the barrier has no answer: the gateway hangs, or it takes what it
  /// should refuse. Which of the two is shown by a barrier that goes alone on the next connection, before anything is sent
  /// again: without an answer to that one, silence means nothing, and time settles. A stop has no next connection.
  private mutating func passBarrierOver() {
    link = .closing
    if provedOfHead > 0 || isStopping && isBarrierSound { return missBarrier() }
    if !isStopping, sent.notifications > 0 {
      cut(.silent)
      return reports.add(.askedAgain(again.firstNotifications(silent)))
    }
    let before = counters.settledByTime
    settle(before: nextID, byProof: false)
    while silent > 0, let head = again.removeFirst() {
      silent -= 1
      counters.settledByTime += UInt64(head.count)
      noteProgress(Int(head.count))
      if head.endsFile { finishFile(head.claim) }
    }
    if counters.settledByTime > before {
      reports.add(.unproved(Int(clamping: counters.settledByTime - before)))
    }
    cut(.silent)
  }

  /// The gateway does answer barriers, or nobody will know: what came before the one that it did not answer is uncertain.
  /// Returns how many notifications that are.
  @discardableResult
  mutating func sendSilentAgain() -> Int {
    let uncertain = again.firstNotifications(silent)
    counters.uncertain += UInt64(uncertain)
    if settings.uncertain == .drop {
      while silent > 0, let head = again.removeFirst() {
        silent -= 1
        if head.endsFile { finishFile(head.claim) }
      }
    }
    silent = 0
    return uncertain
  }

  // MARK: - By proof

  /// Of the oldest stretch, whatever lies before `id` is accepted; `id` is too, unless `status` refuses it.
  mutating func settlePart(through id: UInt32, status: Status?) {
    guard let head = sent.first, head.count > 0, head.firstID <= id else { return }
    let accepted = id - head.firstID + (status == nil ? 1 : 0)
    if status == nil && accepted == head.count {
      settle(before: id &+ 1, byProof: true)
      return
    }
    trim = Trim(accepted: accepted, verdict: status.map { .refused($0) })
    let news = accepted - min(accepted, provedOfHead)
    if !trim.isEmpty { noteProgress(Int(news) + (status == nil ? 0 : 1)) }
    counters.settledByProof += UInt64(news)
  }

  /// Of the oldest stretch, whatever lies before `id` is accepted, and `id` is; the connection goes on.
  mutating func prove(through id: UInt32) {
    guard let head = sent.first, head.count > 0, head.firstID <= id else { return }
    let proved = id - head.firstID + 1
    guard proved > provedOfHead else { return }
    noteProgress(Int(proved - provedOfHead))
    counters.settledByProof += UInt64(proved - provedOfHead)
    provedOfHead = proved
  }

  /// Everything before `id` arrived, or will not be heard of any more.
  mutating func settle(before id: UInt32, byProof: Bool) {
    while let head = sent.first {
      if head.count > 0 {
        guard head.firstID + head.count <= id else { break }
        let count = head.count - provedOfHead
        if byProof {
          counters.settledByProof += UInt64(count)
        } else {
          counters.settledByTime += UInt64(count)
        }
        noteProgress(Int(count))
      }
      dropHead()
    }
  }

  /// Lets the ends of files go that have come to the front.
  mutating func sweep() {
    while let head = sent.first, head.count == 0 { dropHead() }
  }

  mutating func dropHead() {
    guard let head = sent.removeFirst() else { return }
    provedOfHead = 0
    if head.endsFile { settledClaims += 1 }
  }

  mutating func noteProgress(_ count: Int) {
    isProgress = true
    isGatewayUnproven = false
    backoff.reset()
    suspicion.settled(count)
  }

  // MARK: - By elimination

  /// When a connection without the accused notification has lived long enough, where no barrier shows it sooner.
  var trialEnd: Instant? {
    guard suspicion.isTrial, link == .up, barrierID == nil, !mayBarrier, let upSince else {
      return nil
    }
    return upSince + settings.settle
  }

  /// Ends the trial, if it has lasted.
  mutating func endTrial() -> Step? {
    guard let end = trialEnd, end <= time.now else { return nil }
    guard heardAt >= end else { return .listen }
    convict()
    return nil
  }

  /// The connection lives without the first notification that is to go again: it is to blame for the deaths.
  mutating func convict() {
    while let head = again.first, head.count == 0 {
      _ = again.removeFirst()
      finishFile(head.claim)
    }
    suspicion.convicted()
    guard !again.isEmpty else { return }
    trim = Trim(accepted: 0, verdict: .deadly)
    isProgress = true
    // A gateway that refuses barriers and dies at whatever else it is sent must not empty the spool so.
    if !isGatewayUnproven { backoff.reset() }
    isGatewayUnproven = true
    counters.noteRefusal(.none)
    reports.add(.deadly)
  }
}
