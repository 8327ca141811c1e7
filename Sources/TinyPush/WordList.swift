/// A table of words: a literal with a space between each two. It takes no room but that of the letters.
public struct WordList: ExpressibleByStringLiteral {
  /// A literal ends with a NUL.
  private let start: UnsafePointer<UInt8>

  @inline(__always)
  public init(stringLiteral text: StaticString) { start = text.utf8Start }

  /// The word at a place, which is the next one's from then on; nil at the end.
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

  /// The word of a number, which there must be.
  @inline(never)
  public subscript(number: Int) -> Span<UInt8> {
    @_lifetime(immortal) get {
      var place = 0
      for _ in 0..<number { _ = next(&place) }
      return next(&place)!
    }
  }

  /// The number of a word.
  @inline(never)
  public func index(of word: Span<UInt8>) -> Int? {
    var place = 0
    var index = 0
    while let known = next(&place) {
      if known.equals(word) { return index }
      index += 1
    }
    return nil
  }

  /// The number of the word that somebody most likely meant: the one with the least edit distance, where that is close enough to
  /// be a slip.
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
