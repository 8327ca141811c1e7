/// The file that is being read: its text, and the recipients files that it names.
struct Reader: ~Copyable {
  let input = FixedBuffer<UInt8>(capacity: 2 * NotificationReader.objectBytesMax)
  var reading: Reading?
  /// A file whose first reading was interrupted when the connection ended.
  ///
  /// It goes on after the returned notifications.
  var interrupted: Reading?
  /// Whether the agent must close the file that it has open.
  var mustClose = false
  /// The bytes that were read of files in `new/`.
  var bytesRead: UInt64 = 0
  var roster = Roster()
  var rosterVersions = RosterVersions()
  /// The problems of the notification that is being read.
  var findings = Findings()
  /// The instant before which no file is opened.
  var pausedUntil: Instant?

  private static let pause = Duration.seconds(2)

  init() {}

  var isIdle: Bool { reading == nil && interrupted == nil }

  /// Pauses reading, since the machine is short of a resource.
  mutating func pause(at now: Instant) { pausedUntil = now + Self.pause }

  func isPaused(at now: Instant) -> Bool { pausedUntil.map { now < $0 } ?? false }

  /// Ends the reading of a file.
  mutating func release(_ now: Reading) {
    if now.access == .open { mustClose = true }
    reading = nil
  }

  /// Discards bytes at the front of the input.
  func discard(_ count: Int, of now: inout Reading) {
    input.move(from: count, to: 0, count: now.inputBytes - count)
    now.inputOffset += Int64(count)
    now.inputBytes -= count
  }

  /// Adds the bytes that the agent has read to the input.
  @inline(never)
  mutating func take(_ bytes: Int) {
    bytesRead &+= UInt64(bytes)
    let start = reading!.inputBytes
    reading!.inputBytes += bytes
    guard reading!.isFirst else { return }
    // After an interruption, some bytes are read a second time: they are hashed once.
    let known = Int(clamping: reading!.content.bytes - reading!.inputOffset - Int64(start))
    guard known >= 0, known < bytes else { return }
    reading!.content.add(input.looseSpan(start + known..<start + bytes))
  }

  /// Returns the last byte of the input that is not white space.
  func lastInputByte() -> UInt8 {
    var end = reading!.inputBytes
    while end > 0, input[end - 1] <= .space { end -= 1 }
    return end > 0 ? input[end - 1] : 0
  }

  /// Skips the part of the file that was settled before, and counts its lines.
  @inline(never)
  func pass(_ now: inout Reading) {
    let settled = Int(min(Int64(now.inputBytes), now.passUntil - now.inputOffset))
    now.lines.count(upTo: settled, in: input.span(0..<now.inputBytes))
    now.lines.counted = 0
    discard(settled, of: &now)
    guard now.inputBytes == 0 else { return }
    // If the file was truncated meanwhile, the removed part is lost.
    if now.isWhole { now.passUntil = now.inputOffset } else { now.needsInput = true }
  }

  /// Interrupts the reading, and returns it so that it can go on later.
  @inline(never)
  mutating func interrupt() -> Reading? {
    guard var now = reading else { return nil }
    release(now)
    // While the reader searches for an object, one byte is kept: it recognizes the object by the
    // line end before it.
    let kept = now.reader.isSkipping && now.reader.index > 0 ? 1 : 0
    let passed = now.access == .closed || now.needsInput ? 0 : now.reader.index - kept
    now.lines.pass(passed, in: input.span(0..<now.inputBytes), now.reader)
    now.inputOffset += Int64(passed)
    now.inputBytes = 0
    now.access = .closed
    now.needsInput = false
    now.reader.resume(at: 0)
    return now
  }
}
