import CLinux
import Fuzz
import TinyPush
import TinyPushAgent

/// Searches for inputs that violate a property or crash where there is no libFuzzer.
///
/// On boards an `Int` may have 32 bits.
///
///     fuzzboard PROPERTY ROUNDS FILE...
///
/// Checks each file as it is, and ROUNDS times with random changes, the same in each run. Prints a
/// violation and the input in hex, and exits with 1.
@main
struct FuzzBoard {
  static func main() {
    let count = Int(clinux_argument_count())
    guard count > 3, let words = clinux_arguments(), let name = words[1],
      let property = property(CString.span(name)), let rounds = words[2].map({ atol($0) })
    else {
      leave(
        "usage: fuzzboard notification|wire|suppression|mqtt|http|mail|webpush|numbers|config ROUNDS FILE...\n"
      )
    }
    var random = Random()
    for index in 3..<count {
      guard let path = words[index], let input = contents(of: path), !input.isEmpty else {
        leave("fuzzboard: a file is unreadable or empty\n")
      }
      examine(input, property)
      for _ in 0..<rounds { examine(changed(input, &random), property) }
    }
  }

  private static func property(_ name: Span<UInt8>) -> Property? {
    if name.equals("notification") { return .notification }
    if name.equals("wire") { return .wire }
    if name.equals("suppression") { return .suppression }
    if name.equals("mqtt") { return .mqtt }
    if name.equals("http") { return .http }
    if name.equals("mail") { return .mail }
    if name.equals("webpush") { return .webpush }
    if name.equals("numbers") { return .numbers }
    if name.equals("config") { return .config }
    return nil
  }

  private static func leave(_ words: StaticString) -> Never {
    var text = Text()
    text.append(words)
    text.write(to: STDERR_FILENO)
    exit(ExitStatus.usage.rawValue)
  }

  private static func contents(of path: UnsafePointer<CChar>) -> [UInt8]? {
    let file = clinux_open(AT_FDCWD, path, O_RDONLY, 0)
    guard file >= 0 else { return nil }
    defer { close(file) }
    let buffer = FixedBuffer<UInt8>(capacity: 65_536)
    let count = read(file, buffer.room().baseAddress, buffer.capacity)
    guard count >= 0 else { return nil }
    return (0..<count).map { buffer[$0] }
  }

  /// Prints a violation and the input, and exits with 1, if the property does not hold.
  private static func examine(_ input: [UInt8], _ property: Property) {
    guard var violation = property.violation(input) else { return }
    var text = Text(capacity: 16_384)
    violation.withUTF8 { text.append(bytes: Span(_unsafeElements: $0)) }
    text.append("\n")
    text.append(hex: input.span)
    text.append("\n")
    text.write(to: STDOUT_FILENO)
    exit(1)
  }

  private static func changed(_ input: [UInt8], _ random: inout Random) -> [UInt8] {
    var changed = input
    for _ in 0...random.below(4) {
      let place = random.below(changed.count)
      switch random.below(5) {
      case 0: changed[place] ^= 1 << UInt8(random.below(8))
      case 1: changed[place] = UInt8(random.below(256))
      case 2: changed[place] = random.below(2) == 0 ? 0xFF : 0x7F
      case 3: changed.insert(UInt8(random.below(256)), at: place)
      default: if changed.count > 2 { changed.remove(at: place) }
      }
    }
    return changed
  }
}

/// xorshift64, from the same seed in each run.
private struct Random {
  private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

  mutating func below(_ bound: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int((state >> 33) % UInt64(bound))
  }
}
