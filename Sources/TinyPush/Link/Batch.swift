/// The frames that are written as one TLS record.
package struct Batch: ~Copyable {
  /// The bytes of the frames.
  package let buffer: FixedBuffer<UInt8>
  /// The number of bytes in ``buffer``.
  package var bytes = 0
  /// The notifications in the batch that are sent again.
  package var repeated: UInt64 = 0
  /// When the first frame was put into the batch.
  package var since = Instant(milliseconds: 0)
  /// When to write the batch; nil: not decided.
  package var flushAt: Instant?
  /// Whether the socket took no more bytes.
  package var isBlocked = false
  /// Whether a blocked socket takes bytes again.
  package var isUnblocked = false

  /// Creates an empty batch.
  ///
  /// - Parameter capacity: the room for a record, and for frames beyond it that go with the next
  ///   one.
  package init(capacity: Int) { buffer = FixedBuffer(capacity: capacity) }

  /// Whether the batch holds no bytes.
  package var isEmpty: Bool { bytes == 0 }

  /// Empties the batch when the connection ends.
  package mutating func clear() {
    bytes = 0
    repeated = 0
    flushAt = nil
    isBlocked = false
    isUnblocked = false
  }

  /// Returns the step that writes the batch, or the one that comes before; nil: the batch waits.
  ///
  /// Everything is read first: writing to a peer that has closed makes it send a reset, which may
  /// destroy an answer before it is read.
  ///
  /// - Parameter isFull: whether waiting for more gains nothing.
  package mutating func step(
    isFull: Bool, _ stream: ByteStream, at now: Instant
  ) -> Courier.Step? {
    if isBlocked {
      guard isUnblocked else { return nil }
    } else {
      if isEmpty { return nil }
      if !isFull, !stream.isAcknowledged {
        guard let flushAt else { return .sample }
        guard now >= flushAt else { return nil }
      }
    }
    guard stream.isJustRead else { return .listen }
    isUnblocked = false
    return .write
  }

  /// Notes that the first bytes of the batch were written.
  package mutating func wrote(_ count: Int) {
    buffer.move(from: count, to: 0, count: bytes - count)
    bytes -= count
    repeated = 0
    flushAt = nil
    isBlocked = false
  }

  /// Delays the write until the bytes before it are probably acknowledged.
  ///
  /// The delay is one round trip, but not longer than `linger`.
  package mutating func await(_ roundTrip: Duration, linger: Duration, at now: Instant) {
    guard !isEmpty, flushAt == nil else { return }
    let wait = roundTrip < linger ? roundTrip : linger
    let due = now + (wait.milliseconds > 0 ? wait : .milliseconds(1))
    let last = since + linger
    flushAt = due < last ? due : last
  }
}

/// The progress of the connection's bytes.
package struct ByteStream {
  /// The bytes written.
  package var written: UInt64 = 0
  /// The bytes that the peer's kernel acknowledged.
  package var acknowledged: UInt64 = 0
  /// When bytes were last written.
  package var writtenAt = Instant(milliseconds: 0)
  /// When the acknowledgements were last asked for.
  package var sampledAt = Instant(milliseconds: 0)
  /// When the acknowledgements last increased.
  package var movedAt = Instant(milliseconds: 0)
  /// The instant up to which everything from the gateway was read.
  package var heardAt = Instant(milliseconds: 0)
  /// Whether everything was read since the last step began.
  package var wasRead = false
  /// Whether everything had been read when the present step began.
  package var isJustRead = false

  /// Creates the state of a connection without bytes.
  package init() {}

  /// Begins a step.
  package mutating func begin() {
    isJustRead = wasRead
    wasRead = false
  }

  /// Records that everything from the gateway was read until an instant.
  package mutating func heard(until instant: Instant) {
    heardAt = instant
    wasRead = true
  }

  /// Records a write that ended at a place of the stream.
  package mutating func wrote(upTo end: UInt64, at now: Instant) {
    writtenAt = now
    if acknowledged == written { movedAt = now }
    written = end
  }

  /// Records how many bytes the peer's kernel has not acknowledged.
  package mutating func sampled(unacknowledged: Int, at now: Instant) {
    let end = written - UInt64(min(unacknowledged, Int(clamping: written)))
    if end > acknowledged || end == written { movedAt = now }
    acknowledged = end
    sampledAt = now
  }

  /// Whether all bytes are acknowledged.
  package var isAcknowledged: Bool { acknowledged == written }

  /// Returns whether the peer has acknowledged nothing for as long as `patience`.
  ///
  /// Such a peer may not have processed earlier bytes either.
  package func isStalled(for patience: Duration, at now: Instant) -> Bool {
    acknowledged < written && movedAt + patience < now
  }
}
