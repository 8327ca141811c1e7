import TinyPush

/// The mistakes in a file of rules, each with its line.
public struct Mistakes: ~Copyable {
  private static let countMax = 32

  private var texts = Text(capacity: 16 * 1024)
  private var ends = InlineArray<32, Int>(repeating: 0)
  private var lines = InlineArray<32, Int32>(repeating: 0)
  /// The number of mistakes.
  public private(set) var count = 0

  /// Creates an empty list.
  public init() {}

  /// Adds a mistake; there is room for the first 32.
  ///
  /// - Parameter line: the line; 0: the whole file.
  public mutating func add(_ text: borrowing Text, line: Int32) {
    guard count < Self.countMax else { return }
    texts.append(text)
    ends[count] = texts.count
    lines[count] = line
    count += 1
  }

  /// The line of a mistake; 0: the whole file.
  public func line(_ index: Int) -> Int32 { lines[index] }

  /// What is wrong, and what to do.
  @_lifetime(borrow self)
  public func text(_ index: Int) -> Span<UInt8> {
    texts.bytes.extracting((index == 0 ? 0 : ends[index - 1])..<ends[index])
  }

  /// Appends a mistake with its place: `FILE:LINE: TEXT`.
  public func append(_ index: Int, file: Span<UInt8>, to message: inout Text) {
    message.append(printable: file)
    if lines[index] > 0 { message.append(":", lines[index]) }
    message.append(": ", bytes: text(index))
  }
}
