import TinyPush

/// The place where a message is written, and where it must end.
struct Writer: BitwiseCopyable {
  /// The room in which at least one character and an ellipsis fit.
  static let roomMin = 16

  var end: Int
  let limit: Int

  mutating func put(_ bytes: Span<UInt8>, _ buffer: borrowing FixedBuffer<UInt8>) {
    buffer.store(bytes, at: end)
    end += bytes.count
  }

  /// Writes a member whose value is a string, and a comma, unless the string is empty.
  @inline(never)
  mutating func putString(
    _ start: StaticString, _ content: Span<UInt8>, _ buffer: borrowing FixedBuffer<UInt8>
  ) {
    guard content.count > 0 else { return }
    put(start.span, buffer)
    put(content, buffer)
    put(("\"," as StaticString).span, buffer)
  }

  /// Writes the content of a string, shortened with an ellipsis if it is longer than `room`.
  @inline(never)
  mutating func putText(
    _ content: Range<Int>, _ text: Span<UInt8>, within room: Int,
    _ buffer: borrowing FixedBuffer<UInt8>
  ) {
    guard content.count > room else { return put(text.extracting(content), buffer) }
    let rest = room - Rendition.ellipsis.utf8CodeUnitCount
    var end = content.lowerBound
    if let cut = JSONUnit.cut(content, to: rest, in: text) {
      end = cut
    } else {
      // A letter with more marks than fit loses some.
      while true {
        let next = end + JSONUnit(in: text, at: end).length
        guard next - content.lowerBound <= rest else { break }
        end = next
      }
    }
    put(text.extracting(content.lowerBound..<end), buffer)
    put(Rendition.ellipsis.span, buffer)
  }
}
