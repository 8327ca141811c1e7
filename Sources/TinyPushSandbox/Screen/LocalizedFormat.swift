import TinyPush

/// Inserts the strings of `loc-args` into the format that `loc-key` names.
///
/// Source: Local and Remote Notification Programming Guide, 2015-10, "Localized Formatted Strings".
///
/// | | |
/// |---|---|
/// | `%@` | the next string |
/// | `%n$@` | the n-th string, from 1 on |
/// | `%%` | a percent sign |
///
/// Inferred: a specifier without a string, and any other specifier, is copied unchanged and
/// counted. Strings without a specifier are left out.
struct LocalizedFormat {
  /// The most arguments.
  ///
  /// Inferred: the document names no limit; this is far more than a text needs.
  static let argumentsMax = 64

  /// The ranges of the arguments in the payload, without the quotes of strings.
  private var arguments: InlineArray<64, Range<Int>> = .init(repeating: 0..<0)
  private var count = 0
  /// The number of specifiers for which there was no argument.
  private(set) var missing = 0
  /// The number of unknown specifiers.
  private(set) var strange = 0

  /// Reads the arguments.
  ///
  /// - Parameter list: the range of the array in the payload; nil, or not an array: no arguments.
  init(arguments list: Range<Int>?, of payload: Span<UInt8>) {
    guard let list, payload[list.lowerBound] == .openBracket else { return }
    var scanner = JSONScanner(at: list.lowerBound)
    do throws(JSONProblem) {
      guard try scanner.openArray(payload) else { return }
      repeat {
        guard count < Self.argumentsMax else { return }
        arguments[count] = try scanner.value(payload)
        count += 1
      } while try scanner.nextElement(payload)
    } catch {}
  }

  /// Appends the format, which has no escapes, with the arguments inserted.
  mutating func write(_ format: Span<UInt8>, _ payload: Span<UInt8>, to text: inout Text) {
    var next = 1
    var index = 0
    while index < format.count {
      guard format[index] == .percent else {
        text.append(byte: format[index])
        index += 1
        continue
      }
      let specifier = Specifier(in: format, at: index)
      switch specifier.kind {
      case .percent: text.append("%")
      case .next:
        write(next, else: format.extracting(index..<index + specifier.length), payload, to: &text)
        next += 1
      case .position(let number):
        write(number, else: format.extracting(index..<index + specifier.length), payload, to: &text)
      case .other:
        strange += 1
        text.append("%")
      }
      index += specifier.length
    }
  }

  private mutating func write(
    _ number: Int, else specifier: Span<UInt8>, _ payload: Span<UInt8>, to text: inout Text
  ) {
    guard number >= 1, number <= count else {
      missing += 1
      return text.append(bytes: specifier)
    }
    text.append(unescaping: payload.extracting(arguments[number - 1]))
  }

  private struct Specifier {
    enum Kind {
      case percent, next, other
      case position(Int)
    }

    var kind = Kind.other
    var length = 1

    init(in format: Span<UInt8>, at start: Int) {
      var index = start + 1
      var number = 0
      while index < format.count, format[index].isDigit {
        // The limit prevents an overflow, and stays above the number of every argument.
        number = min(number * 10 + Int(format[index].digitValue), LocalizedFormat.argumentsMax + 1)
        index += 1
      }
      guard index < format.count else { return }
      if index == start + 1 {
        switch format[index] {
        case .percent: kind = .percent
        case .at: kind = .next
        default: return
        }
      } else {
        guard format[index] == .dollar, index + 1 < format.count, format[index + 1] == .at else {
          return
        }
        kind = .position(number)
        index += 1
      }
      length = index + 1 - start
    }
  }
}

extension JSONScanner {
  /// Returns the range of the next value, for a string without its quotes.
  mutating func value(_ text: Span<UInt8>) throws(JSONProblem) -> Range<Int> {
    if try peek(text) == .quote { return try string(text) }
    let start = index
    try skipValue(text)
    return start..<index
  }
}
