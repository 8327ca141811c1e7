/// The edit distance between words, to suggest a known word for a misspelled one.
public enum Nearest {
  /// Returns the most edits that still count as a slip: a third of the word's length, at least one.
  public static func distanceMax(_ word: Span<UInt8>) -> Int { max(word.count / 3, 1) }

  /// Returns the number of the word that is most similar to a misspelled one; nil if none is close.
  @inline(never)
  public static func index(
    to word: Span<UInt8>, among count: Int, _ known: (Int) -> StaticString
  ) -> Int? {
    var best: Int?
    var bestDistance = distanceMax(word) + 1
    for index in 0..<count {
      let edits = distance(word, known(index).span)
      if edits < bestDistance { (best, bestDistance) = (index, edits) }
    }
    return best
  }

  /// Returns the number of edits that turn one word into the other.
  ///
  /// An edit inserts, removes or changes a byte, or swaps two neighbours (optimal string
  /// alignment).
  @inline(never)
  public static func distance(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
    var before: InlineArray<33, Int> = .init(repeating: 0)
    var above: InlineArray<33, Int> = .init(repeating: 0)
    var row: InlineArray<33, Int> = .init(repeating: 0)
    guard left.count < 64, right.count < 33 else { return Int.max }
    for column in 0...right.count { row[column] = column }
    for line in 0..<left.count {
      before = above
      above = row
      row[0] = line + 1
      for column in 0..<right.count {
        let isSame = left[line] == right[column]
        var edits = min(above[column] + (isSame ? 0 : 1), above[column + 1] + 1, row[column] + 1)
        if line > 0, column > 0, left[line] == right[column - 1], left[line - 1] == right[column] {
          edits = min(edits, before[column - 1] + 1)
        }
        row[column + 1] = edits
      }
    }
    return row[right.count]
  }
}
