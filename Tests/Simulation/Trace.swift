/// The events of a run: a hash that compares two runs, and lines if somebody wants to read them.
struct Trace {
  /// Whether lines are kept.
  ///
  /// They take time, so only the replay of a seed keeps them.
  var isKept = false
  private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  private(set) var lines: [String] = []

  /// Adds an entry to the hash (FNV-1a over its word and numbers) and to the lines.
  mutating func note(_ word: String, at milliseconds: UInt64, _ numbers: Int...) {
    mix(milliseconds)
    for byte in word.utf8 { mix(UInt64(byte)) }
    for number in numbers { mix(UInt64(bitPattern: Int64(number))) }
    guard isKept else { return }
    let text = numbers.map(String.init).joined(separator: " ")
    lines.append("\(milliseconds) ms  \(word) \(text)")
  }

  /// Adds a line for readers only.
  mutating func say(_ text: @autoclosure () -> String) {
    if isKept { lines.append(text()) }
  }

  private mutating func mix(_ number: UInt64) {
    hash = (hash ^ number) &* 0x100_0000_01B3
    hash ^= hash >> 29
  }
}
