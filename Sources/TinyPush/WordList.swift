/// A table of words in one literal, separated by spaces.
///
/// The table takes no memory apart from the literal.
public struct WordList: ExpressibleByStringLiteral {
  /// The first byte of the literal, which ends with a NUL.
  private let start: UnsafePointer<UInt8>

  /// Makes a list of the words in a literal.
  @inline(__always)
  public init(stringLiteral text: StaticString) { start = text.utf8Start }

  /// Returns the word at `place` and moves `place` to the next word; nil at the end.
  @inline(never)
  @_lifetime(immortal)
  private func next(_ place: inout Int) -> Span<UInt8>? {
    let first = place
    guard start[first] != 0 else { return nil }
    while start[place] > .space { place += 1 }
    let word = Span(_unsafeStart: start + first, count: place - first)
    if start[place] != 0 { place += 1 }
    return _overrideLifetime(word, copying: ())
  }

  /// The word at a number, which must exist.
  @inline(never)
  public subscript(number: Int) -> Span<UInt8> {
    @_lifetime(immortal) get {
      var place = 0
      for _ in 0..<number { _ = next(&place) }
      return next(&place)!
    }
  }

  /// Returns the number of a word; nil if the list does not have it.
  @inline(never)
  public func index(of word: Span<UInt8>) -> Int? { index { $0.equals(word) } }

  /// Returns the number of the first word that satisfies the condition; nil if none does.
  @inline(never)
  public func index(where isOne: (Span<UInt8>) -> Bool) -> Int? {
    var place = 0
    var index = 0
    while let known = next(&place) {
      if isOne(known) { return index }
      index += 1
    }
    return nil
  }

  /// Returns the number of the word that is most similar to a misspelled one; nil if none is close.
  @inline(never)
  public func nearest(to word: Span<UInt8>) -> Int? {
    var place = 0
    var index = 0
    var best: Int?
    var bestDistance = Nearest.distanceMax(word) + 1
    while let known = next(&place) {
      let edits = Nearest.distance(word, known)
      if edits < bestDistance { (best, bestDistance) = (index, edits) }
      index += 1
    }
    return best
  }
}
