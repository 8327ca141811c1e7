/// Reads notifications from the text of a spool file, one after the other, and checks each.
///
/// The text may come in pieces: ``Reading/more`` asks for what follows, and the same notification is then read from its
/// start. After one that is refused, reading goes on with the next.
public struct NotificationReader {
  /// The bound on one object's text, white space included, and without the member `failed`: a line of `failed/` is not too
  /// large for what the agent has added to it.
  public static let objectBytesMax = 65_536

  private var scanner: JSONScanner
  /// Within text that is not JSON, which has been refused already: the next object is being looked for.
  private(set) var isSkipping = false

  /// - Parameter index: where in the text to begin.
  public init(at index: Int = 0) {
    scanner = JSONScanner(at: index)
  }

  /// What came of looking for the next notification.
  public enum Reading {
    case notification(Notification)
    /// Why is the first of the findings that is no warning.
    case refused(Finding, object: Range<Int>)
    /// The text ends within a notification, or before one; `from` is where it must be continued from.
    case more(from: Int)
    /// Nothing but white space is left.
    case end
  }

  /// Where the next notification is looked for.
  public var index: Int { scanner.index }
  /// Line ends passed over so far.
  public var lineEnds: Int { scanner.lineEnds }
  /// Where the present line begins.
  public var lineStart: Int { scanner.lineStart }

  /// The text was moved: what stood where ``Reading/more(from:)`` said now stands at `index`. Lines are counted from there.
  public mutating func resume(at index: Int) {
    scanner = JSONScanner(at: index)
  }

  /// Reads on in the first `count` bytes of a buffer, of whose owner this reader may be a part.
  @inline(__always)
  public mutating func next(
    in buffer: borrowing FixedBuffer<UInt8>, count: Int, isWhole: Bool, _ rules: Rules,
    _ findings: inout Findings
  ) -> Reading {
    next(in: buffer.span(0..<count), isWhole: isWhole, rules, &findings)
  }

  /// - Parameters:
  ///   - isWhole: whether the text is all there is, so that an end within an object is an error.
  ///   - findings: what is to be said of this notification; of the one before it nothing is left there.
  public mutating func next(
    in text: Span<UInt8>, isWhole: Bool, _ rules: Rules, _ findings: inout Findings
  ) -> Reading {
    findings.clear()
    if isSkipping {
      scanner.skipToObject(text)
      isSkipping = scanner.index == text.count
      // A byte is kept, since an object is known by the line end before it.
      if isSkipping { return isWhole ? .end : .more(from: max(text.count - 1, 0)) }
    }
    scanner.skipSpace(text)
    let start = scanner.index
    guard start < text.count else { return isWhole ? .end : .more(from: start) }
    let before = scanner
    var envelope = Envelope(at: start, rules.service)
    do throws(JSONProblem) {
      try scanner.begin(text)
      guard text[start] == .openBrace else {
        return skip(text, isWhole, from: start, Finding(.notAnObject, at: start), &findings)
      }
      try envelope.read(text, by: &scanner, &findings)
    } catch {
      var finding = Finding(.json(error), at: scanner.index)
      if error == .unexpectedEnd && !isWhole {
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

  /// Refuses what is not JSON, or no object, and looks for the next one.
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
