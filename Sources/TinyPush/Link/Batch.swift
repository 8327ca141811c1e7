/// The frames that are to be written as one TLS record.
package struct Batch: ~Copyable {
  package let buffer: FixedBuffer<UInt8>
  package var bytes = 0
  /// Notifications in it that were on the wire before.
  package var repeated: UInt64 = 0
  package var since = Instant(milliseconds: 0)
  /// When it is written, where that is not at once.
  package var flushAt: Instant?
  /// The socket takes no more; and it does again.
  package var isBlocked = false
  package var isUnblocked = false

  /// - Parameter capacity: room for a record, and for what is framed beyond that and goes with the next.
  package init(capacity: Int) { buffer = FixedBuffer(capacity: capacity) }

  package var isEmpty: Bool { bytes == 0 }

  package mutating func clear() {
    bytes = 0
    repeated = 0
    flushAt = nil
    isBlocked = false
    isUnblocked = false
  }

  /// Some of what was sent is not acknowledged: the batch waits until it most likely is, and no longer than `linger`.
  package mutating func await(_ roundTrip: Duration, linger: Duration, at now: Instant) {
    guard !isEmpty, flushAt == nil else { return }
    let wait = roundTrip < linger ? roundTrip : linger
    let due = now + (wait.milliseconds > 0 ? wait : .milliseconds(1))
    let last = since + linger
    flushAt = due < last ? due : last
  }
}

/// The bytes of the connection, and what is known of their way.
package struct ByteStream {
  /// Bytes written, and of those, bytes that the peer's kernel acknowledged.
  package var written: UInt64 = 0
  package var acknowledged: UInt64 = 0
  package var writtenAt = Instant(milliseconds: 0)
  /// When the acknowledgements were last asked for, and last moved on.
  package var sampledAt = Instant(milliseconds: 0)
  package var movedAt = Instant(milliseconds: 0)
  /// Until when everything that the gateway said has been read.
  package var heardAt = Instant(milliseconds: 0)
  /// Everything has been read since the last step; and it had been when the present one began.
  package var wasRead = false
  package var isJustRead = false

  package init() {}

  /// A step begins.
  package mutating func begin() {
    isJustRead = wasRead
    wasRead = false
  }

  package mutating func heard(until instant: Instant) {
    heardAt = instant
    wasRead = true
  }

  package mutating func wrote(upTo end: UInt64, at now: Instant) {
    writtenAt = now
    if acknowledged == written { movedAt = now }
    written = end
  }

  package mutating func sampled(unacknowledged: Int, at now: Instant) {
    let end = written - UInt64(min(unacknowledged, Int(clamping: written)))
    if end > acknowledged || end == written { movedAt = now }
    acknowledged = end
    sampledAt = now
  }

  package var isAcknowledged: Bool { acknowledged == written }

  /// Whether the peer has stopped taking what it is sent, so that it may not have looked at what it took before.
  package func isStalled(for patience: Duration, at now: Instant) -> Bool {
    acknowledged < written && movedAt + patience < now
  }
}
