/// What happened in a run, as a number to compare two runs by, and when somebody wants to read it, as lines.
struct Trace {
  /// Lines are only made on replaying a seed: they are what takes time.
  var isKept = false
  private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  private(set) var lines: [String] = []

  /// FNV-1a over the words and the numbers of each entry.
  mutating func note(_ word: StaticString, at milliseconds: UInt64, _ numbers: Int...) {
    mix(milliseconds)
    word.withUTF8Buffer { for byte in $0 { mix(UInt64(byte)) } }
    for number in numbers { mix(UInt64(bitPattern: Int64(number))) }
    guard isKept else { return }
    let text = numbers.map(String.init).joined(separator: " ")
    lines.append("\(milliseconds) ms  \(word) \(text)")
  }

  /// For whoever reads the lines.
  mutating func say(_ text: @autoclosure () -> String) {
    if isKept { lines.append(text()) }
  }

  private mutating func mix(_ number: UInt64) {
    hash = (hash ^ number) &* 0x100_0000_01B3
    hash ^= hash >> 29
  }
}
