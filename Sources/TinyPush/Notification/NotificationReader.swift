/// Reads and checks the notifications of a spool file, one at a time.
///
/// The text may come in pieces: ``Reading/more(from:)`` asks for the next piece, and the reader
/// then reads the same notification again from its start. After a refused notification, reading
/// continues with the next.
public struct NotificationReader: BitwiseCopyable {
  /// The most bytes of one object, with white space, without the member `failed`.
  ///
  /// So a line of `failed/` is not too large because of the member that the agent added.
  public static let objectBytesMax = 65_536

  private var scanner: JSONScanner
  /// Whether the reader is searching for the next object after text that is not JSON.
  ///
  /// That text has been refused already.
  private(set) var isSkipping = false
  /// The line ends before the notification that was read last.
  package private(set) var lineEndsBefore: Int64 = 0

  /// Begins at an index of the text.
  ///
  /// - Parameter lineEnds: the line ends before that place.
  public init(at index: Int = 0, lineEnds: Int64 = 0) {
    scanner = JSONScanner(at: index, lineEnds: lineEnds)
  }

  /// The result of a search for the next notification.
  public enum Reading {
    case notification(Notification)
    /// The notification is refused for this finding, the first that is not a warning.
    case refused(Finding, object: Range<Int>)
    /// The text ends inside or before a notification; the next piece must begin at `from`.
    case more(from: Int)
    /// Only white space is left.
    case end
  }

  /// The index where the search for the next notification begins.
  public var index: Int { scanner.index }
  /// The number of line ends skipped so far.
  public var lineEnds: Int64 { scanner.lineEnds }

  /// Continues after the caller has moved the text.
  ///
  /// The byte at the index of ``Reading/more(from:)`` is now at `index`.
  public mutating func resume(at index: Int) {
    // The byte that is kept during the search was passed before.
    scanner.index = isSkipping ? index + 1 : index
  }

  /// Goes back to the notification that was read last, which begins at `index`.
  mutating func rewind(to index: Int) {
    scanner = JSONScanner(at: index, lineEnds: lineEndsBefore)
  }

  /// Continues in the first `count` bytes of a buffer, whose owner may also own this reader.
  @inline(__always)
  @_optimize(speed)
  public mutating func next(
    in buffer: borrowing FixedBuffer<UInt8>, count: Int, isWhole: Bool, _ rules: Rules,
    _ findings: inout Findings
  ) -> Reading {
    next(in: buffer.span(0..<count), isWhole: isWhole, rules, &findings)
  }

  /// Reads the next notification.
  ///
  /// - Parameters:
  ///   - isWhole: Whether the text is complete, so that an end inside an object is an error.
  ///   - findings: receives the findings of this notification; earlier findings are removed.
  @_optimize(speed)
  public mutating func next(
    in text: Span<UInt8>, isWhole: Bool, _ rules: Rules, _ findings: inout Findings
  ) -> Reading {
    findings.clear()
    if isSkipping {
      scanner.skipToObject(text)
      isSkipping = scanner.index == text.count
      // Keep the last byte: a line end there marks the start of the next object.
      if isSkipping { return isWhole ? .end : .more(from: max(text.count - 1, 0)) }
    }
    lineEndsBefore = scanner.lineEnds
    scanner.skipSpace(text)
    let start = scanner.index
    guard start < text.count else { return isWhole ? .end : .more(from: start) }
    lineEndsBefore = scanner.lineEnds
    let before = scanner
    var envelope = Envelope(at: start, rules.pushProtocol)
    do throws(JSONProblem) {
      try scanner.begin(text)
      guard text[start] == .openBrace else {
        return skip(text, isWhole, from: start, Finding(.notAnObject, at: start), &findings)
      }
      try envelope.read(text, by: &scanner, &findings)
    } catch {
      var finding = Finding(.json(error), at: scanner.index)
      var isCut = error == .unexpectedEnd
      if error.isUnexpected {
        let character = Typography.character(at: scanner.index, in: text)
        isCut = character == nil
        finding.found = character ?? 0
      }
      if isCut && !isWhole {
        if text.count - start - envelope.failedBytes < Self.objectBytesMax {
          scanner = before
          return .more(from: start)
        }
        finding = Finding(.objectTooLarge, at: start, limit: Self.objectBytesMax)
      }
      return skip(text, isWhole, from: start, finding, &findings)
    }
    if scanner.index - start - envelope.failedBytes > Self.objectBytesMax {
      findings.clear()
      findings.add(Finding(.objectTooLarge, at: start, limit: Self.objectBytesMax))
    } else {
      envelope.finish(text, rules, &findings)
    }
    if let refusal = findings.refusal { return .refused(refusal, object: start..<scanner.index) }
    return .notification(envelope.notification)
  }

  /// Refuses text that is not a JSON object, and searches for the next object.
  private mutating func skip(
    _ text: Span<UInt8>, _ isWhole: Bool, from start: Int, _ finding: Finding,
    _ findings: inout Findings
  ) -> Reading {
    findings.decide(finding)
    scanner.skipToObject(text)
    isSkipping = scanner.index == text.count && !isWhole
    return .refused(finding, object: start..<scanner.index)
  }
}
