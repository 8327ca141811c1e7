/// The keys of one object as they come, to find the one that comes twice.
struct KeysSeen {
  /// Inferred: far more than any table has, and a bound nonetheless.
  private static let strangersMax = 64
  /// Where the object's brace is.
  private let start: Int
  private(set) var known: UInt32 = 0
  private var strangers = 0
  private(set) var count = 0

  init(ofObjectAt start: Int) {
    self.start = start
  }

  func contains(_ key: PayloadKey) -> Bool { known & key.bit != 0 }

  @inline(__always)
  mutating func insert(
    _ key: PayloadKey?, _ range: Range<Int>, in text: Span<UInt8>, _ findings: inout Findings
  ) {
    count += 1
    if let key {
      if contains(key) { findings.add(Finding(.duplicateKey, at: range.lowerBound - 1)) }
      known |= key.bit
    } else {
      insertStranger(range, in: text, &findings)
    }
  }

  /// Nothing is kept of these, which are rare: the object is read again up to the present one.
  @inline(never)
  private mutating func insertStranger(
    _ range: Range<Int>, in text: Span<UInt8>, _ findings: inout Findings
  ) {
    strangers += 1
    guard strangers <= Self.strangersMax else {
      findings.add(Finding(.apsTooMany, at: range.lowerBound - 1, limit: Self.strangersMax))
      return
    }
    let key = Hash(spelled: text.extracting(range))
    var scanner = JSONScanner(at: start)
    do throws(JSONProblem) {
      _ = try scanner.openObject(text)
      while true {
        let before = try scanner.key(text)
        guard before.lowerBound < range.lowerBound else { return }
        if Hash(spelled: text.extracting(before)).value == key.value {
          findings.add(Finding(.duplicateKey, at: range.lowerBound - 1))
          return
        }
        try scanner.skipValue(text)
        _ = try scanner.nextMember(text)
      }
    } catch {}
  }
}
