import CHTTP2
import TinyPush

extension HTTP2Link {
  // MARK: - Taking notifications

  public var isOpen: Bool { state == .up && !batch.isBlocked }

  /// Whether a request may go out now.
  private var isReady: Bool {
    isOpen && !pace.isPaused(at: time.now)
      && (!service.usesProviderToken || authorization.isGood(time.wallSeconds))
  }

  /// Whether there is something to send, and the present token is too old for that.
  var mustRenewToken: Bool {
    service.usesProviderToken && !supply.isAllSent && !authorization.isGood(time.wallSeconds)
      && authorization.askAgainAt.map { $0 <= time.now } ?? true
  }

  /// Requests that may wait for an answer at a time.
  private var limit: Int {
    pace.isTrying ? 1 : min(settings.streams, session?.streamsMax ?? 1)
  }

  public func obstacle(payloadBytes: Int) -> Obstacle? {
    guard isReady else { return .closed }
    guard batch.bytes < Courier.batchBytesMax else { return .batchFull }
    guard requests.currentCount < limit, requests.hasRoom, let window = session?.window else {
      return .windowFull
    }
    // Where not even an empty window takes it, it goes alone, in pieces.
    let fits = payloadBytes <= window || requests.currentCount == 0 && window >= 0
    return fits ? nil : .windowFull
  }

  public mutating func take(_ message: borrowing Message, in text: Span<UInt8>) {
    if batch.isEmpty { batch.since = time.now }
    let place = requests.append(
      Stretch(place: message.place, wasSent: message.wasSent),
      device: message.token.hash, namesTopic: !message.topic.isEmpty)
    if !message.collapseID.isEmpty, isOvertaken(place, message, in: text) { return }
    scratch.write(message, in: text, service, authorization.text, settings)
    let requested: Session.Requested
    if message.payload.isVerbatim(message.rendition) {
      requested = request(place, text.extracting(message.payload.range))
    } else {
      let bytes = message.payload.write(message.rendition, in: text, to: scratch.payload)
      requested = request(place, scratch.payload.span(0..<bytes))
    }
    switch requested {
    case .bytes(let count):
      batch.bytes += count
      if message.wasSent { batch.repeated += 1 }
    case .ended:
      // Nothing of it was sent: a new connection takes it.
      goesAgain(place)
      leave(dialAt: dialAt())
    case .broken: isBroken()
    }
  }

  /// Whether a newer one that replaces it on the device was accepted, or may be soon: then the older one must not follow.
  private mutating func isOvertaken(
    _ place: UInt16, _ message: borrowing Message, in text: Span<UInt8>
  ) -> Bool {
    var hash = Hash()
    hash.add(text.extracting(message.collapseID))
    hash.add(message.token.bytes.span)
    let collapse = max(hash.value, 1)
    requests[place].collapse = collapse
    requests[place].order = message.order
    if overtaken.takes(collapse, message.order) {
      requests.decide(place, .superseded)
      return true
    }
    guard requests.isFollowed(collapse, message.order) else { return false }
    goesAgain(place, notBefore: time.now + Self.followerPatience)
    return true
  }

  /// How long an older one waits for the outcome of a newer one.
  private static let followerPatience = Duration.seconds(1)

  private func request(_ place: UInt16, _ payload: Span<UInt8>) -> Session.Requested {
    session!.request(
      place, UnsafeBufferPointer(start: scratch.headers.room().baseAddress, count: scratch.count),
      payload: payload,
      into: batch.buffer.room(from: batch.bytes))
  }

  // MARK: - Writing

  /// The bytes to write, as one record.
  @_lifetime(borrow self)
  public func batchContents() -> Span<UInt8> {
    batch.buffer.span(0..<min(batch.bytes, Courier.batchBytesMax))
  }

  /// The batch is written; `wireEnd` counts the connection's bytes so far.
  public mutating func wrote(wireEnd: UInt64) {
    let count = min(batch.bytes, Courier.batchBytesMax)
    batch.buffer.move(from: count, to: 0, count: batch.bytes - count)
    traffic.records += 1
    traffic.sent += UInt64(requests.recordWritten(at: time.now))
    traffic.repeated += batch.repeated
    batch.repeated = 0
    batch.bytes -= count
    batch.since = time.now
    batch.flushAt = nil
    batch.isBlocked = false
    if liveness.probe == nil, requests.currentCount > 0 || liveness.pongDue != nil {
      let wasQuiet = liveness.quietSince + Liveness.forgottenAfter < time.now
      let patience = wasQuiet ? Liveness.forgottenPatience : Liveness.probePatience
      liveness.probe = Liveness.Probe(mark: stream.written, due: time.now + patience)
    }
    stream.wrote(upTo: wireEnd, at: time.now)
    liveness.quietSince = time.now
    // What did not fit into the batch follows.
    collect()
  }

  /// The socket takes no more for now: the same batch is written when it does.
  public mutating func blocked() { batch.isBlocked = true }

  /// The socket takes bytes again.
  public mutating func writable() { batch.isUnblocked = true }

  /// What the peer's kernel has not acknowledged of the bytes written.
  public mutating func sampled(unacknowledged: Int, since: Duration, roundTrip: Duration) {
    stream.sampled(unacknowledged: unacknowledged, at: time.now)
    if !stream.isAcknowledged { batch.await(roundTrip, linger: settings.linger, at: time.now) }
    guard let probe = liveness.probe else { return }
    if stream.isAcknowledged {
      liveness.probe = nil
    } else if stream.acknowledged > probe.mark {
      liveness.probe = Liveness.Probe(
        mark: stream.acknowledged, due: time.now + Liveness.probePatience)
    } else if !probe.isExtended {
      // For a packet that was lost. Whatever is acknowledged meanwhile shows that the connection lives.
      liveness.probe = Liveness.Probe(
        mark: stream.acknowledged, due: probe.due + .milliseconds(roundTrip.milliseconds * 3),
        isExtended: true)
    }
  }

  /// Puts nghttp2's own frames into the batch: settings, acknowledgements, a ping.
  mutating func collect() {
    guard let taken = session?.take(batch.buffer.room(from: batch.bytes)) else {
      return isBroken()
    }
    if batch.isEmpty, taken > 0 { batch.since = time.now }
    batch.bytes += taken
  }

  /// What to do for the batch, if anything, now that no more can be put into it.
  mutating func transmit() -> Courier.Step? {
    if batch.isBlocked {
      guard batch.isUnblocked else { return nil }
      return write()
    }
    if batch.isEmpty { return nil }
    // More may come at once: only when there is none does waiting pay.
    if batch.bytes >= Courier.batchBytesMax || supply.obstacle != nil { return write() }
    if stream.isAcknowledged { return write() }
    guard let flushAt = batch.flushAt else { return .sample }
    return time.now >= flushAt ? write() : nil
  }

  /// Everything is read before something is written: to a peer that has closed, a write brings a reset, and that may take
  /// answers away.
  private mutating func write() -> Courier.Step {
    guard stream.isJustRead else { return .listen }
    batch.isUnblocked = false
    return .write
  }
}
