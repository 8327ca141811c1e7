import CLinux
import TinyPush
import TinyPushAgent
import TinyPushBinary

/// Processes a text many times, so that the benchmark can measure the cost.
///
///     passes HOW COUNT < TEXT      prints the CPU nanoseconds of all passes, and a result
///
/// The text is at most 8 MB of JSON objects separated by white space.
@main
struct Passes {
  static func main() {
    guard clinux_argument_count() == 3, let words = clinux_arguments(), let how = words[1],
      let count = words[2].map({ atol($0) })
    else { leave() }
    let (spent, found) = measure(
      CString.span(how), count, FixedBuffer(capacity: 8 << 20), FixedBuffer(capacity: 8 << 20))
    var line = Text()
    line.append(spent)
    line.append(" ")
    line.append(found)
    line.append("\n")
    line.write(to: STDOUT_FILENO)
  }

  private static func measure(
    _ how: Span<UInt8>, _ count: Int, _ text: borrowing FixedBuffer<UInt8>,
    _ target: borrowing FixedBuffer<UInt8>
  ) -> (UInt64, Int) {
    var bytes = 0
    while true {
      let taken = read(STDIN_FILENO, text.room(from: bytes).baseAddress, text.capacity - bytes)
      guard taken > 0 else { break }
      bytes += taken
    }
    var found = 0
    let start = nanoseconds()
    for _ in 0..<count { found += pass(how, text.span(0..<bytes), target) }
    return (nanoseconds() - start, found)
  }

  private static func leave() -> Never {
    var usage = Text()
    usage.append("usage: passes copy|find|scan|read|frame COUNT < TEXT\n")
    usage.write(to: STDERR_FILENO)
    exit(ExitStatus.usage.rawValue)
  }

  private static func pass(
    _ how: Span<UInt8>, _ text: Span<UInt8>, _ target: borrowing FixedBuffer<UInt8>
  ) -> Int {
    if how.equals("copy") { return copy(text, to: target) }
    if how.equals("find") { return find(text) }
    if how.equals("scan") { return scan(text) }
    if how.equals("read") { return readNotifications(text) }
    if how.equals("frame") { return frame(text, to: target) }
    leave()
  }

  private static func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  // MARK: - Passes

  /// Copies the text with memcpy, as any program that keeps it must.
  private static func copy(_ text: Span<UInt8>, to target: borrowing FixedBuffer<UInt8>) -> Int {
    target.store(text, at: 0)
    return Int(target[text.count / 2])
  }

  /// Searches the text with memchr, as any program that looks for something must.
  private static func find(_ text: Span<UInt8>) -> Int {
    text.withUnsafeBytes { memchr($0.baseAddress!, 0, $0.count) == nil ? 1 : 0 }
  }

  /// Scans the text.
  ///
  /// Returns the number of values.
  private static func scan(_ text: Span<UInt8>) -> Int {
    var scanner = JSONScanner()
    var values = 0
    scanner.skipSpace(text)
    while scanner.index < text.count {
      do throws(JSONProblem) { try scanner.skipValue(text) } catch { return -1 }
      scanner.skipSpace(text)
      values += 1
    }
    return values
  }

  /// Reads and checks each notification.
  ///
  /// Returns the bytes of all payloads.
  private static func readNotifications(_ text: Span<UInt8>) -> Int {
    var reader = NotificationReader()
    let rules = Rules(payloadLimit: 4096)
    var findings = Findings()
    var payloads = 0
    while case .notification(let one) = reader.next(
      in: text, isWhole: true, rules, &findings)
    {
      payloads += one.payload.bytes
    }
    return payloads
  }

  /// Reads, checks and frames each notification.
  ///
  /// Returns the bytes of all frames.
  private static func frame(
    _ text: Span<UInt8>, to target: borrowing FixedBuffer<UInt8>
  ) -> Int {
    var reader = NotificationReader()
    let rules = Rules(payloadLimit: 4096)
    var findings = Findings()
    var place = 0
    var frames = 0
    while case .notification(let one) = reader.next(
      in: text, isWhole: true, rules, &findings)
    {
      guard let token = DeviceToken(hex: text.extracting(one.firstToken)) else { return -1 }
      if place + 8192 > target.capacity { place = 0 }
      let end = Frame(identifier: 1, expiration: 0, priority: one.priority).write(
        .items, token: token.bytes, payload: text.extracting(one.payload.range),
        payloadBytes: one.payload.bytes, to: target, at: place)
      frames += end - place
      place = end
    }
    return frames
  }
}
