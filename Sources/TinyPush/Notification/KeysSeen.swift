/// The keys of one object, as they are read, to find duplicates.
struct KeysSeen {
  /// The most unknown keys in an object.
  ///
  /// Inferred: far more than the service's tables have.
  private static let unknownMax = 64
  /// The index of the object's opening brace.
  private let start: Int
  private(set) var known: UInt32 = 0
  private var unknownCount = 0
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
      insertUnknown(range, in: text, &findings)
    }
  }

  /// Checks an unknown key against all keys before it.
  ///
  /// Unknown keys are rare, so they are not stored: the object is read again up to this key.
  @inline(never)
  private mutating func insertUnknown(
    _ range: Range<Int>, in text: Span<UInt8>, _ findings: inout Findings
  ) {
    unknownCount += 1
    guard unknownCount <= Self.unknownMax else {
      findings.add(Finding(.apsTooMany, at: range.lowerBound - 1, limit: Self.unknownMax))
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
