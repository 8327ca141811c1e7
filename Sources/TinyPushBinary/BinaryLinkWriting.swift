import TinyPush

extension BinaryLink {
  // MARK: - Taking notifications

  /// Whether the link can take notifications now.
  public var isOpen: Bool {
    guard case .up = state else { return false }
    return !batch.isBlocked && barrier.id == nil && !sendsBarrierOnly && nextID < .max - 1
  }

  /// Returns why a payload of this size is not taken now; nil: it is taken.
  public func obstacle(payloadBytes: Int) -> Obstacle? {
    guard isOpen else { return .closed }
    if payloadBytes >= oversized.limit {
      return oversized.queue.count < Oversized.capacity ? nil : .batchFull
    }
    let frameBytes = Frame.byteCount(settings.format, payloadBytes: payloadBytes)
    guard batch.bytes + frameBytes <= batch.buffer.capacity else { return .batchFull }
    guard window.count < min(window.capacity, poisonSearch.limit)
    else { return .windowFull }
    return nil
  }

  /// Puts a notification into the batch, or refuses it for its size.
  @_optimize(speed)
  public mutating func take(
    _ message: borrowing Message, in text: Span<UInt8>, to subscription: Span<UInt8>
  ) {
    let entry = Window.Entry(message: message.number, wasSent: message.wasSent)
    if message.rendition.bytes >= oversized.limit { return oversized.queue.append(entry) }
    if batch.isEmpty { batch.since = time.now }
    batch.bytes = Frame(
      identifier: nextID, expiration: message.expiration, priority: message.priority
    ).write(
      settings.format, token: message.token.bytes, message.payload, message.rendition,
      in: text, to: batch.buffer, at: batch.bytes)
    if window.isEmpty {
      headID = nextID
      lone = (message.number, message.fingerprint.low)
    }
    window.append(entry)
    if message.wasSent { batch.repeated += 1 }
    recent.record(message.identity.hash, payloadBytes: message.rendition.bytes, nextID)
    nextID += 1
  }

  // MARK: - Writing

  /// The bytes to write as one record.
  @_lifetime(borrow self)
  public func batchContents() -> Span<UInt8> { batch.buffer.span(0..<batch.bytes) }

  /// Records that the batch was written.
  ///
  /// - Parameter wireEnd: the bytes of the connection so far.
  public mutating func wrote(wireEnd: UInt64) {
    traffic.records += 1
    traffic.sent += UInt64(nextID - 1 - lastWrittenID)
    if barrier.id == nextID - 1 { traffic.sent -= 1 }
    traffic.repeated += batch.repeated
    batch.wrote(batch.bytes)
    lastWrittenID = nextID - 1
    stream.wrote(upTo: wireEnd, at: time.now)
    acknowledgements.sent(upTo: lastWrittenID, wireEnd: wireEnd, at: time.now)
  }

  /// Calls `body` with the notifications in the batch that are sent for the first time.
  public func forEachFirst(_ body: (MessageNumber) -> Void) {
    // Kept notifications are not on this connection, which carries only a barrier.
    guard kept == .nothing else { return }
    var index = window.count - 1
    var id = endID
    while index >= 0 {
      id -= 1
      guard id > lastWrittenID else { break }
      if !window[index].wasSent { body(window[index].message) }
      index -= 1
    }
  }

  /// Records that the socket takes no more bytes for now.
  ///
  /// The same batch is written later. A gateway that is so busy also answers later, so all waits
  /// restart.
  public mutating func blocked() {
    batch.isBlocked = true
    acknowledgements.restart(at: time.now)
  }

  /// Records that the socket takes bytes again.
  public mutating func writable() {
    batch.isUnblocked = true
  }

  /// Records how many written bytes the peer's kernel has not acknowledged.
  ///
  /// - Parameters:
  ///   - since: how long ago the last acknowledgement came.
  ///   - roundTrip: how long an acknowledgement takes.
  public mutating func sampled(unacknowledged: Int, since: Duration, roundTrip: Duration) {
    stream.sampled(unacknowledged: unacknowledged, at: time.now)
    var at = time.now
    if unacknowledged == 0, since.milliseconds < at.milliseconds {
      at.milliseconds -= since.milliseconds
    }
    acknowledgements.acknowledged(upTo: stream.acknowledged, at: at, now: time.now)
    if !stream.isAcknowledged { batch.await(roundTrip, linger: shared.linger, at: time.now) }
    checkBarrier()
  }

  /// Returns the step for the batch, when the courier puts no more into it.
  mutating func transmit() -> Courier.Step? {
    if batch.isEmpty, !batch.isBlocked {
      if wantsBarrier { frameBarrier() }
      // The identifiers are used up.
      if batch.isEmpty, window.isEmpty, nextID >= .max - 1 {
        end(.answered)
        state = .closing
        return nil
      }
    }
    // If the courier has more to send, or a barrier ends the batch, waiting gains nothing.
    let isFull =
      supply.obstacle == .batchFull || supply.obstacle == .windowFull || barrier.id != nil
    return batch.step(isFull: isFull, stream, at: time.now)
  }

  // MARK: - Barriers

  /// Whether a barrier may be sent at all.
  var maySendBarrier: Bool {
    guard settings.format != .simple, settings.confirm != .settle else { return false }
    // In a probe a barrier shows whether the gateway closes on any frame. If something was accepted
    // during the search, that is known already.
    return barrier.unanswered < Barrier.unansweredMax
      || poisonSearch.isProbing && !poisonSearch.hasSettledAny
  }

  /// Whether notifications settle by a barrier's answer and not by time.
  ///
  /// A gateway that hangs acknowledges bytes too, so time would settle what it never accepts.
  var settlesByBarrier: Bool { settings.confirm == .barrier && maySendBarrier }

  /// Whether this connection sends only a barrier, to see whether the gateway answers it.
  var sendsBarrierOnly: Bool {
    poisonSearch.isProbing || kept == .unanswered
      || barrier.unanswered >= Barrier.unansweredBeforeBarrierOnly && maySendBarrier
        && (supply.isStopping || shared.isOnce || settings.confirm == .barrier)
  }

  /// Until when no barrier follows an isolated notification.
  ///
  /// If the gateway has refused the notification, a barrier would cause a reset, which may destroy
  /// the answer.
  var isolationEnd: Instant? {
    guard poisonSearch.limit == 1, barrier.id == nil, openCount > 0 else { return nil }
    return stream.writtenAt + Duration(milliseconds: settings.settle.milliseconds / 2)
  }

  private var wantsBarrier: Bool {
    guard barrier.id == nil, maySendBarrier else { return false }
    if sendsBarrierOnly { return true }
    guard openCount > 0, lastWrittenID > 0 else { return false }
    let isFull = supply.obstacle == .windowFull
    let isDue = supply.isAllSent || isFull || settlesByBarrier && isSettleOver
    if poisonSearch.isNarrowed { return isDue && isolationEnd.map { time.now >= $0 } ?? true }
    if supply.isStopping || shared.isOnce { return isDue || supply.isStopping }
    // Only a barrier makes room in a full window at once, unless the gateway says "no error".
    if isFull, !hasSaidNoError { return true }
    guard settings.confirm == .barrier else { return false }
    return isDue && (isFull || nextBarrierAt.map { time.now >= $0 } ?? true)
  }

  /// Whether the oldest notifications have waited for `settle`.
  private var isSettleOver: Bool { acknowledgements.settledAt.map { $0 <= time.now } ?? false }

  /// When the notifications on the wire may get a barrier.
  var nextBarrierAt: Instant? {
    guard settlesByBarrier, barrier.id == nil, openCount > 0 else { return nil }
    return barrier.framedAt.map { $0 + settings.barrierInterval }
  }

  /// Puts a barrier into the batch.
  private mutating func frameBarrier() {
    batch.bytes = Frame.writeRefusable(settings.format, identifier: nextID, to: batch.buffer)
    barrier.id = nextID
    acknowledgements.waitsForAll = true
    barrier.framedAt = time.now
    nextID += 1
  }
}
