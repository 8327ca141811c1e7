import CHTTP2
import TinyPush

extension HTTP2Link {
  // MARK: - Taking notifications

  /// Whether requests can be put into the batch.
  public var isOpen: Bool { state == .up && !batch.isBlocked }

  /// Whether a request may be sent now.
  private var isReady: Bool {
    isOpen && !pace.isPaused(at: time.now)
      && (!service.usesProviderToken || authorization.isGood(time.wallSeconds))
  }

  /// Whether notifications wait and the provider token is too old for them.
  var mustRenewToken: Bool {
    service.usesProviderToken && !supply.isAllSent && !authorization.isGood(time.wallSeconds)
      && authorization.askAgainAt.map { $0 <= time.now } ?? true
  }

  /// The most requests that may wait for answers at a time.
  private var limit: Int {
    min(pace.limit, settings.streams, session?.streamsMax ?? 1)
  }

  /// Returns why a notification with a payload of this size cannot be taken now; nil if it can.
  public func obstacle(payloadBytes: Int) -> Obstacle? {
    guard isReady else { return .closed }
    guard batch.bytes < Courier.batchBytesMax else { return .batchFull }
    guard requests.currentCount < limit, requests.hasRoom, let window = session?.window else {
      return .windowFull
    }
    // A payload larger than the window of an idle connection is sent in pieces, by itself. An encrypted
    // payload may be as large as any.
    let isSealed = service.seal != nil || service.isOfBrowsers
    let bytes = isSealed ? max(payloadBytes, Rules.payloadBytes) : payloadBytes
    let fits = bytes <= window || requests.currentCount == 0 && window >= 0
    return fits ? nil : .windowFull
  }

  /// Takes a notification and frames its request; ``obstacle(payloadBytes:)`` must be nil.
  @_optimize(speed)
  public mutating func take(
    _ message: borrowing Message, in text: Span<UInt8>, to subscription: Span<UInt8>
  ) {
    if batch.isEmpty { batch.since = time.now }
    let hasSuffix = message.pushType.topicSuffix.utf8CodeUnitCount > 0
    let place = requests.append(
      message.number, wasSent: message.wasSent,
      fingerprint: message.fingerprint.low, device: message.identity.hash,
      namesTopic: message.topic.isEmpty ? hasSuffix : true)
    if message.order > 0, !message.collapseID.isEmpty, isStale(place, message, in: text) { return }
    if waits.endsConnections(message.fingerprint.low), isTooEarly(place) { return }
    let requested: Session.Requested
    if service.isOfBrowsers {
      guard let framed = request(place, message, in: text, to: subscription) else { return }
      return finish(framed, place, message)
    }
    scratch.write(message, in: text, service, authorization.text, settings)
    if message.payload.isSealed {
      guard let seal = service.seal,
        let bytes = message.payload.writeSealed(
          message.rendition, in: text, by: seal, to: scratch.payload)
      else { return goesAgain(place, notBefore: time.now + Self.sealPatience) }
      requested = request(place, scratch.payload.span(0..<bytes))
    } else if message.payload.isVerbatim(message.rendition) {
      requested = request(place, text.extracting(message.payload.range))
    } else {
      let bytes = message.payload.write(message.rendition, in: text, to: scratch.payload)
      requested = request(place, scratch.payload.span(0..<bytes))
    }
    finish(requested, place, message)
  }

  /// Handles the result of framing a request.
  private mutating func finish(
    _ requested: Session.Requested, _ place: UInt16, _ message: borrowing Message
  ) {
    switch requested {
    case .bytes(let count):
      batch.bytes += count
      if message.wasSent { batch.repeated += 1 }
    case .ended:
      // Nothing of the request was sent: a new connection takes it.
      goesAgain(place)
      leave(dialAt: dialAt())
    case .broken: isBroken()
    }
  }

  /// Whether a newer notification with the same `collapse-id` makes this one stale.
  ///
  /// An older notification must not replace a newer one on the device. If the newer one was
  /// accepted, this one is superseded. If the newer one has no answer yet, this one is returned.
  private mutating func isStale(
    _ place: UInt16, _ message: borrowing Message, in text: Span<UInt8>
  ) -> Bool {
    var hash = Hash()
    hash.add(text.extracting(message.collapseID))
    hash.add(message.identity.bytes)
    let collapse = max(hash.value, 1)
    requests[place].collapse = collapse
    requests[place].order = message.order
    if newest.isNewer(than: message.order, collapse) {
      requests.decide(place, .superseded)
      return true
    }
    guard requests.isFollowed(collapse, message.order) else { return false }
    goesAgain(place, notBefore: time.now + Self.followerPatience)
    return true
  }

  /// Returns a notification that ends connections, if others can go before it.
  ///
  /// It goes after something else was accepted on the connection, and goes alone, so that no other
  /// request is lost with it.
  private mutating func isTooEarly(_ place: UInt16) -> Bool {
    if !hasProgressed, waits.passOver(requests[place].fingerprint) {
      goesAgain(place, notBefore: time.now + Self.followerPatience)
      return true
    }
    pace.sendOneAtATime()
    guard requests.currentCount > 1 else { return false }
    goesAgain(place)
    return true
  }

  /// How long a notification waits that could not be encrypted.
  static let sealPatience = Duration.seconds(10)

  /// How long an older notification waits for the outcome of a newer one.
  ///
  /// And how long one that ends connections lets others go before it.
  private static let followerPatience = Duration.seconds(1)

  func request(_ place: UInt16, _ payload: Span<UInt8>) -> Session.Requested {
    session!.request(
      place, UnsafeBufferPointer(start: scratch.headers.room().baseAddress, count: scratch.count),
      payload: payload,
      into: batch.buffer.room(from: batch.bytes))
  }

  // MARK: - Writing

  /// The bytes to write, as one TLS record; valid until the batch changes.
  @_lifetime(immortal)
  public func batchContents() -> Span<UInt8> {
    batch.buffer.unsafeSpan(0..<min(batch.bytes, Courier.batchBytesMax))
  }

  /// Notes that the batch is written; `wireEnd` is the number of bytes written on this connection.
  public mutating func wrote(wireEnd: UInt64) {
    let count = min(batch.bytes, Courier.batchBytesMax)
    traffic.records += 1
    traffic.sent += UInt64(requests.recordWritten(isWhole: batch.bytes == count, at: time.now))
    traffic.repeated += batch.repeated
    batch.wrote(count)
    batch.since = time.now
    if liveness.probe == nil, requests.currentCount > 0 || liveness.pongDue != nil {
      let wasQuiet = liveness.quietSince + Liveness.forgottenAfter < time.now
      let patience = wasQuiet ? Liveness.forgottenPatience : Liveness.probePatience
      liveness.probe = Liveness.Probe(mark: stream.written, due: time.now + patience)
    }
    stream.wrote(upTo: wireEnd, at: time.now)
    liveness.quietSince = time.now
    // The frames that did not fit into the batch follow.
    collect()
  }

  /// Notes that the socket takes no more: the same batch is written when the socket is writable.
  public mutating func blocked() { batch.isBlocked = true }

  /// Notes that the socket takes bytes again.
  public mutating func writable() { batch.isUnblocked = true }

  /// Notes how many of the written bytes the peer's kernel has not acknowledged.
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
      // Time for a lost packet. Any acknowledgement meanwhile shows that the connection lives.
      liveness.probe = Liveness.Probe(
        mark: stream.acknowledged, due: probe.due + .milliseconds(roundTrip.milliseconds * 3),
        isExtended: true)
    }
  }

  /// Puts nghttp2's own frames into the batch: settings, acknowledgements, pings.
  mutating func collect() {
    guard let taken = session?.take(batch.buffer.room(from: batch.bytes)) else {
      return isBroken()
    }
    if batch.isEmpty, taken > 0 { batch.since = time.now }
    batch.bytes += taken
  }

  /// Returns the step for the batch, if any, once the courier can put no more into it.
  mutating func transmit() -> Courier.Step? {
    // Waiting for more only pays when the batch has room and the courier has nothing to add.
    let isFull = batch.bytes >= Courier.batchBytesMax || supply.obstacle != nil
    return batch.step(isFull: isFull, stream, at: time.now)
  }
}
