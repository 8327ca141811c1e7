/// What is being read: the file, its text, and the recipients files that it names.
struct Reader: ~Copyable {
  let input = FixedBuffer<UInt8>(capacity: 2 * NotificationReader.objectBytesMax)
  var reading: Reading?
  /// A file that was being read for the first time when its connection ended: it goes on behind what goes again.
  var interrupted: Reading?
  /// The shell is to close the file that it has open.
  var mustClose = false
  /// Bytes of files in `new/`, in all.
  var bytesRead: UInt64 = 0
  var roster = Roster()
  var rosterVersions = RosterVersions()
  /// What is found in the notification that is being read.
  var findings = Findings()
  /// Nothing is opened before.
  var pausedUntil: Instant?

  private static let pause = Duration.seconds(2)

  init() {}

  var isIdle: Bool { reading == nil && interrupted == nil }

  /// The machine is short of something.
  mutating func pause(at now: Instant) { pausedUntil = now + Self.pause }

  func isPaused(at now: Instant) -> Bool { pausedUntil.map { now < $0 } ?? false }

  /// The file is not read any more.
  mutating func release(_ now: Reading) {
    if now.access == .open { mustClose = true }
    reading = nil
  }

  /// Lets go of so many bytes at the front of the input.
  func discard(_ count: Int, of now: inout Reading) {
    input.move(from: count, to: 0, count: now.inputBytes - count)
    now.inputOffset += Int64(count)
    now.inputBytes -= count
  }

  /// Takes what was read into the room behind the input.
  @inline(never)
  mutating func take(_ bytes: Int) {
    bytesRead &+= UInt64(bytes)
    let start = reading!.inputBytes
    reading!.inputBytes += bytes
    guard reading!.isFirst else { return }
    // After an interruption some of it is read once more.
    let known = Int(clamping: reading!.content.bytes - reading!.inputOffset - Int64(start))
    guard known >= 0, known < bytes else { return }
    reading!.content.add(input.looseSpan(start + known..<start + bytes))
  }

  /// The last byte of the input that is not white space.
  func lastInputByte() -> UInt8 {
    var end = reading!.inputBytes
    while end > 0, input[end - 1] <= .space { end -= 1 }
    return end > 0 ? input[end - 1] : 0
  }

  /// Passes over what was settled before the agent started; its lines count.
  @inline(never)
  func pass(_ now: inout Reading) {
    let settled = Int(min(Int64(now.inputBytes), now.passUntil - now.inputOffset))
    now.lines.count(upTo: settled, in: input.span(0..<now.inputBytes))
    now.lines.counted = 0
    discard(settled, of: &now)
    guard now.inputBytes == 0 else { return }
    // Whoever cuts a file short under our hands takes what was cut off.
    if now.isWhole { now.passUntil = now.inputOffset } else { now.needsInput = true }
  }

  /// Stops reading in the middle, so that it can go on later from where it is. Returns what is left.
  @inline(never)
  mutating func interrupt() -> Reading? {
    guard var now = reading else { return nil }
    release(now)
    // While an object is looked for, a byte is kept: the reader knows the object by the line end before it.
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
