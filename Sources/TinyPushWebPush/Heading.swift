import TinyPush

/// A text that has no title, divided into a title and the rest.
///
/// The title is the first line. Of a line that is longer than a telephone shows, it is the words that
/// fit.
struct Heading {
  private static let columnsMax = 40

  /// The content of the title; empty if the whole text is empty.
  private(set) var title: Range<Int>
  /// Whether the title ends within its line.
  private(set) var isCut = false
  /// The content of the rest; empty: there is none.
  private(set) var rest = 0..<0

  init(of whole: Range<Int>, in text: Span<UInt8>) {
    title = whole
    let start = Self.skipSpace(from: whole.lowerBound, of: whole, in: text)
    // White space alone stays as it is.
    guard start < whole.upperBound else { return }
    var end = start
    var columns = 0
    var space: Int?
    while end < whole.upperBound {
      let unit = JSONUnit(in: text, at: end)
      guard unit.scalar != 0x0A, unit.scalar != 0x0D else { break }
      columns += unit.isExtending ? 0 : unit.scalar < 0x2E80 ? 1 : 2
      if unit.scalar == 0x20 { space = end }
      guard columns <= Self.columnsMax else {
        isCut = true
        end = space ?? JSONUnit.cut(start..<whole.upperBound, to: end - start, in: text) ?? end
        break
      }
      end += unit.length
    }
    title = start..<end
    let next = Self.skipSpace(from: end, of: whole, in: text)
    if next < whole.upperBound { rest = next..<whole.upperBound } else { isCut = false }
  }

  /// Returns where something else than spaces and line ends begins.
  @inline(never)
  private static func skipSpace(
    from start: Int, of whole: Range<Int>, in text: Span<UInt8>
  ) -> Int {
    var index = start
    while index < whole.upperBound {
      let unit = JSONUnit(in: text, at: index)
      guard unit.scalar == 0x20 || unit.scalar == 0x0A || unit.scalar == 0x0D else { break }
      index += unit.length
    }
    return index
  }
}
