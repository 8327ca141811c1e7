extension BinaryLink {
  // MARK: - Taking notifications

  public var isOpen: Bool {
    guard case .up = state else { return false }
    return !batch.isBlocked && barrier.id == nil && !sendsBarrierOnly && nextID < .max - 1
  }

  public func obstacle(payloadBytes: Int) -> Obstacle? {
    guard isOpen else { return .closed }
    let frameBytes = Frame.byteCount(settings.format, payloadBytes: payloadBytes)
    guard batch.bytes + frameBytes <= batch.buffer.capacity else { return .batchFull }
    guard window.isEmpty || window.count + 2 < window.capacity,
      window.notifications < poisonSearch.limit
    else { return .windowFull }
    return nil
  }

  public mutating func take(_ message: borrowing Message, in text: Span<UInt8>) {
    let isFirst = batch.isEmpty
    if isFirst { batch.since = time.now }
    batch.bytes = Frame(
      identifier: nextID, expiration: message.expiration, priority: message.priority
    ).write(
      settings.format, token: message.token.bytes.span, message.payload, message.rendition,
      in: text, to: batch.buffer, at: batch.bytes)
    if window.isEmpty { headID = nextID }
    // What one write carries, the gateway has or has not: no stretch goes beyond it.
    if message.follows, !isFirst, let last = window.last, last.wasSent == message.wasSent {
      window.extendLast()
    } else {
      window.append(Stretch(place: message.place, wasSent: message.wasSent))
    }
    if message.wasSent { batch.repeated += 1 }
    recipients.record(message.token.hash, nextID)
    nextID += 1
  }

  // MARK: - Writing

  /// The bytes to write, as one record.
  @_lifetime(borrow self)
  public func batchContents() -> Span<UInt8> { batch.buffer.span(0..<batch.bytes) }

  /// The batch is written; `wireEnd` counts the connection's bytes so far.
  public mutating func wrote(wireEnd: UInt64) {
    traffic.records += 1
    traffic.sent += UInt64(nextID - 1 - lastWrittenID)
    if barrier.id == nextID - 1 { traffic.sent -= 1 }
    traffic.repeated += batch.repeated
    batch.bytes = 0
    batch.repeated = 0
    batch.flushAt = nil
    batch.isBlocked = false
    lastWrittenID = nextID - 1
    stream.wrote(upTo: wireEnd, at: time.now)
    acknowledgements.sent(upTo: lastWrittenID, wireEnd: wireEnd, at: time.now)
  }

  /// The stretches in the batch that are sent for the first time.
  public func forEachFirst(_ body: (Stretch) -> Void) {
    // What is kept is not on this connection, where only a barrier goes.
    guard kept == .nothing else { return }
    var index = window.count - 1
    var end = endID
    while index >= 0 {
      let stretch = window[index]
      end -= stretch.count
      guard end > lastWrittenID else { break }
      if !stretch.wasSent { body(stretch) }
      index -= 1
    }
  }

  /// The socket takes no more for now: the same batch is written when it does. A gateway that does not keep up takes longer
  /// to answer, too.
  public mutating func blocked() {
    batch.isBlocked = true
    acknowledgements.restart(at: time.now)
  }

  /// The socket takes bytes again.
  public mutating func writable() {
    batch.isUnblocked = true
  }

  /// What the peer's kernel has not acknowledged of the bytes written.
  ///
  /// - Parameters:
  ///   - since: how long ago an acknowledgement last came.
  ///   - roundTrip: how long one takes.
  public mutating func sampled(unacknowledged: Int, since: Duration, roundTrip: Duration) {
    stream.sampled(unacknowledged: unacknowledged, at: time.now)
    var at = time.now
    if unacknowledged == 0, since.milliseconds < at.milliseconds {
      at.milliseconds -= since.milliseconds
    }
    acknowledgements.acknowledged(upTo: stream.acknowledged, at: at, now: time.now)
    if !stream.isAcknowledged { batch.await(roundTrip, linger: settings.linger, at: time.now) }
    checkBarrier()
  }

  /// What to do for the batch, if anything, now that no more can be put into it.
  mutating func transmit() -> Courier.Step? {
    if batch.isBlocked {
      guard batch.isUnblocked else { return nil }
      return write()
    }
    if batch.isEmpty, wantsBarrier { frameBarrier() }
    if batch.isEmpty {
      // Identifiers are used up.
      if window.isEmpty, nextID >= .max - 1 {
        end(.answered)
        state = .closing
      }
      return nil
    }
    // More may come at once: only when there is none does waiting pay.
    if supply.obstacle == .batchFull || supply.obstacle == .windowFull || barrier.id != nil {
      return write()
    }
    if stream.isAcknowledged { return write() }
    guard let flushAt = batch.flushAt else { return .sample }
    return time.now >= flushAt ? write() : nil
  }

  /// Nothing is written before everything has been read: to a gateway that has answered, a write brings a reset, and
  /// that may take the answer away.
  private mutating func write() -> Courier.Step {
    guard stream.isJustRead else { return .listen }
    batch.isUnblocked = false
    return .write
  }

  // MARK: - Barriers

  /// Whether a barrier may be sent at all.
  var maySendBarrier: Bool {
    guard settings.format != .simple, settings.confirm != .settle else { return false }
    // At a trial it shows whether the gateway dies at anything; of one that took something else that is known.
    return barrier.unanswered < Barrier.unansweredMax
      || poisonSearch.isProbing && !poisonSearch.hasSettledAny
  }

  /// Whether only a barrier goes on this connection, to see what the gateway makes of that.
  var sendsBarrierOnly: Bool {
    poisonSearch.isProbing || kept == .unanswered
      || barrier.unanswered >= Barrier.unansweredBeforeBarrierOnly && maySendBarrier
        && (supply.isStopping || settings.isOnce || settings.confirm == .barrier)
  }

  /// Until when a suspect that is alone in flight is followed by nothing: to a gateway that has refused it, a barrier would
  /// bring a reset, and that may take the answer away.
  var isolationEnd: Instant? {
    guard poisonSearch.limit == 1, barrier.id == nil, openCount > 0 else { return nil }
    return stream.writtenAt + Duration(milliseconds: settings.settle.milliseconds / 2)
  }

  private var wantsBarrier: Bool {
    guard barrier.id == nil, maySendBarrier else { return false }
    if sendsBarrierOnly { return true }
    guard openCount > 0, lastWrittenID > 0 else { return false }
    let isFull = supply.obstacle == .windowFull
    if poisonSearch.isNarrowed {
      return (supply.isAllSent || isFull) && isolationEnd.map { time.now >= $0 } ?? true
    }
    if supply.isStopping || settings.isOnce {
      return supply.isAllSent || supply.isStopping || isFull
    }
    guard settings.confirm == .barrier else { return false }
    if let at = barrier.framedAt, time.now < at + settings.barrierInterval { return false }
    return supply.isAllSent || isFull
  }

  /// Puts a frame into the batch that every gateway must refuse.
  private mutating func frameBarrier() {
    batch.bytes = Frame.writeRefusable(settings.format, identifier: nextID, to: batch.buffer)
    barrier.id = nextID
    acknowledgements.waitsForAll = true
    barrier.framedAt = time.now
    nextID += 1
  }
}
