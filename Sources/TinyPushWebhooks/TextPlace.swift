import TinyPush

/// The line and the column of a place in a text, both from 1.
public struct TextPlace: Equatable {
  /// The line.
  public var line = 1
  /// The column, in characters.
  public var column = 1

  /// Counts the lines and characters up to an index.
  public init(_ index: Int, in text: Span<UInt8>) {
    var place = 0
    while place < min(index, text.count) {
      if text[place] == .lineFeed {
        line += 1
        column = 1
      } else if text[place] & 0xC0 != 0x80 {
        column += 1
      }
      place += 1
    }
  }

  /// Returns the number of characters in a part of a text.
  public static func characters(_ range: Range<Int>, in text: Span<UInt8>) -> Int {
    var count = 0
    for index in range where text[index] & 0xC0 != 0x80 { count += 1 }
    return count
  }
}
