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
  public mutating func disconnected(at now: Instant) {
    time.now = now
    switch link {
    case .up:
      let uncertain = cut(isAnswered: barrierID != nil && sent.isEmpty)
      if uncertain > 0 { reports.add(.cut(uncertain: uncertain)) }
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
    flushAt = nil
    framedEnd = nil
    lastWrittenID = nextID - 1
    self.wireEnd = wireEnd
    acknowledgements.sent(upTo: lastWrittenID, wireEnd: wireEnd, at: time.now)
  }

  /// The socket takes no more for now: the same batch is written when it does.
  public mutating func blocked() {
    isBlocked = true
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
    acknowledgedEnd = wireEnd - UInt64(min(unacknowledged, Int(clamping: wireEnd)))
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
  }

  // MARK: - Writing

  /// What to do for the batch, if anything, now that no more can be put into it.
  mutating func transmit() -> Step? {
    if isBlocked {
      guard isUnblocked else { return nil }
      isUnblocked = false
      return .write
    }
    if batchBytes == 0 && wantsBarrier { frameBarrier() }
    if batchBytes == 0 {
      // What the barrier was for has settled by time: nothing will be sent on this connection any more.
      if sent.isEmpty, barrierID != nil || nextID >= .max - 1 {
        cut(isAnswered: false)
        link = .closing
      }
      return nil
    }
    // More may come at once: only when there is none does waiting pay.
    guard intakeState == .dry, barrierID == nil else { return .write }
    if acknowledgedEnd == wireEnd { return .write }
    guard let flushAt else { return .sample }
    return time.now >= flushAt ? .write : nil
  }

  private var wantsBarrier: Bool {
    guard barrierID == nil, vainBarriers < Self.vainBarriersMax, sent.notifications > 0,
      settings.format != .simple,
      settings.confirm != .settle, lastWrittenID > 0
    else { return false }
    if isStopping || settings.isOnce {
      return isAllSent || isStopping || intakeState == .windowFull
    }
    guard settings.confirm == .barrier else { return false }
    if let barrierAt, time.now < barrierAt + settings.barrierInterval { return false }
    return isAllSent || intakeState == .windowFull
  }

  /// Puts a frame into the batch that every gateway must refuse, for the size of its token. One byte: gateways have
  /// answered a token of no bytes with identifier 0, which proves nothing.
  private mutating func frameBarrier() {
    let token: InlineArray<1, UInt8> = [0]
    let payload: StaticString = "{\"aps\":{}}"
    batchBytes = Frame(identifier: nextID, expiration: 0, priority: 5).write(
      settings.format, token: token.span, payload: payload.span,
      payloadBytes: payload.utf8CodeUnitCount, to: batch, at: 0)
    barrierID = nextID
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
        let uncertain = cut(isAnswered: false)
        switch error {
        case .command(let byte):
          reports.add(.garbage(firstByte: byte, uncertain: uncertain))
        }
        link = .closing
      }
    }
  }

  /// An answer ends the connection, and says what became of everything before it.
  private mutating func handle(_ response: ErrorResponse) {
    let id = response.identifier
    let isKnown =
      id > 0 && id <= attemptedID && response.status.isDocumented && response.status != .none
    guard isKnown else {
      reports.add(.strangeAnswer(response, uncertain: cut(isAnswered: false)))
      link = .closing
      return
    }
    let firstUnsettled = firstUnsettledID
    settle(before: id, byProof: true)
    if id == barrierID {
      vainBarriers = 0
      _ = cut(isAnswered: true)
    } else if response.status == .shutdown {
      settlePart(through: id, status: nil)
      reports.add(.shutdown(resent: cutAfterAnswer()))
    } else if id >= firstUnsettled {
      counters.refused += 1
      settlePart(through: id, status: response.status)
      reports.add(.refused(response.status, resent: cutAfterAnswer()))
    } else {
      reports.add(.lateAnswer(response))
      _ = cutAfterAnswer()
    }
    link = .closing
  }

  /// Of the oldest stretch, whatever lies before `id` is accepted; `id` is too, unless `status` refuses it.
  private mutating func settlePart(through id: UInt32, status: Status?) {
    guard let head = sent.first, head.count > 0, head.firstID <= id else { return }
    let accepted = id - head.firstID + (status == nil ? 1 : 0)
    if status == nil && accepted == head.count {
      settle(before: id &+ 1, byProof: true)
      return
    }
    trim = Trim(accepted: accepted, status: status)
    if !trim.isEmpty { noteProgress() }
    counters.settledByProof += UInt64(accepted)
  }

  private mutating func cutAfterAnswer() -> Int {
    _ = cut(isAnswered: true)
    return again.notifications - Int(trim.accepted) - (trim.status == nil ? 0 : 1)
  }

  /// The last identifier of which the gateway may have seen the frame.
  private var attemptedID: UInt32 { isBlocked ? nextID - 1 : lastWrittenID }

  private var firstUnsettledID: UInt32 {
    guard let head = sent.first else { return nextID }
    return head.firstID
  }

  // MARK: - Settling

  /// Everything before `id` arrived, or will not be heard of any more.
  mutating func settle(before id: UInt32, byProof: Bool) {
    while let head = sent.first {
      if head.count > 0 {
        guard head.firstID + head.count <= id else { break }
        if byProof {
          counters.settledByProof += UInt64(head.count)
        } else {
          counters.settledByTime += UInt64(head.count)
        }
        noteProgress()
      }
      dropHead()
    }
  }

  /// Lets the ends of files go that have come to the front.
  mutating func sweep() {
    while let head = sent.first, head.count == 0 { dropHead() }
  }

  private mutating func dropHead() {
    guard let head = sent.removeFirst() else { return }
    if head.endsFile { settledClaims += 1 }
  }

  mutating func noteProgress() {
    isProgress = true
    backoff.reset()
  }

  /// The connection is over: what was sent and is not settled goes again, before anything new. Returns how many
  /// notifications nobody knows of.
  @discardableResult
  mutating func cut(isAnswered: Bool) -> Int {
    interruptReading()
    var uncertain = 0
    if !isAnswered {
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
        if !isAnswered { uncertain += Int(stretch.count) }
      }
      again.prepend(stretch)
    }
    if !isAnswered { counters.uncertain += UInt64(uncertain) }
    acknowledgements.clear()
    answer = ErrorResponseReader()
    batchBytes = 0
    flushAt = nil
    isBlocked = false
    isUnblocked = false
    framedEnd = nil
    nextID = 1
    lastWrittenID = 0
    wireEnd = 0
    acknowledgedEnd = 0
    if barrierID != nil && !isAnswered { vainBarriers += 1 }
    barrierID = nil
    return uncertain
  }
}
