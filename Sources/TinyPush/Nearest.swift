/// Finds the known word that somebody most likely meant.
public enum Nearest {
  /// The one of `known` with the least edit distance (Levenshtein) to `word`, where that is close enough to be a slip:
  /// at most a third of the word, and at least one edit.
  public static func match(
    _ word: Span<UInt8>, among known: Span<StaticString>
  ) -> StaticString? {
    var best: StaticString?
    var bestDistance = max(word.count / 3, 1) + 1
    for index in known.indices {
      let edits = distance(word, known[index].span)
      if edits < bestDistance {
        bestDistance = edits
        best = known[index]
      }
    }
    return best
  }

  static func distance(
    _ left: Span<UInt8>, _ right: Span<UInt8>
  ) -> Int {
    var row: InlineArray<33, Int> = .init(repeating: 0)
    guard left.count < 64, right.count < 33 else { return Int.max }
    for column in 0...right.count { row[column] = column }
    for line in 0..<left.count {
      var diagonal = row[0]
      row[0] = line + 1
      for column in 0..<right.count {
        let above = row[column + 1]
        let replaced = diagonal + (left[line] == right[column] ? 0 : 1)
        let moved = (above < row[column] ? above : row[column]) + 1
        row[column + 1] = replaced < moved ? replaced : moved
        diagonal = above
      }
    }
    return row[right.count]
  }
}
