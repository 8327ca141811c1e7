/// A change of one recipient in a recipients file.
///
/// People also edit these files, so all other lines are kept unchanged.
public struct RecipientChange: ~Copyable {
  /// The effect of a change on the file.
  public enum Outcome: UInt8 {
    /// The file already has the recipient, and the clock is not set, so that the time of the
    /// registration is unknown.
    case unchanged
    case added
    /// The recipient has another language or comment.
    case updated
    /// The file already has the recipient, which is registered again.
    case registered
    case removed
    /// The file does not have the recipient to remove.
    case absent
    /// Several subscriptions begin with the digits of the one to remove, so that none is.
    case ambiguous

    /// The words that commands and answers have for it.
    public var words: StaticString {
      switch self {
      case .unchanged: "unchanged"
      case .added: "added"
      case .updated: "updated"
      case .registered: "registered again"
      case .removed: "removed"
      case .absent, .ambiguous: "not there"
      }
    }
  }

  /// The language or the comment after the token.
  public enum Detail: ~Copyable {
    case kept
    /// A new value; empty: none.
    case set(Text)
  }

  /// The fewest bytes by which a subscription is found: those that lists and logs show.
  public static let digitBytesMin = 4

  private let token: DeviceToken
  /// The subscription as one word; empty: a device token.
  private let word: Text
  private let isRemoval: Bool
  private let language: Detail
  private let comment: Detail
  /// When the recipient registered, in UNIX seconds; 0: unknown.
  public var registered: UInt32
  /// The effect so far; final after ``finish(_:)``.
  public private(set) var outcome: Outcome
  private var isFound = false
  /// The first subscription that was found by digits.
  private var removed: DeviceToken?

  /// Adds a recipient, or registers a known one again and changes its language or comment.
  ///
  /// - Parameters:
  ///   - word: a subscription as one word; empty: a device token.
  ///   - registered: the present time in UNIX seconds; 0: unknown.
  public init(
    add token: DeviceToken, word: consuming Text = Text(capacity: 0), registered: UInt32,
    language: consuming Detail, comment: consuming Detail
  ) {
    self.token = token
    self.word = word
    self.registered = registered
    self.language = language
    self.comment = comment
    isRemoval = false
    outcome = .unchanged
  }

  /// Removes a recipient: a device by its token, a subscription by what stands for it, of which the
  /// first digits are enough.
  public init(remove token: DeviceToken) {
    self.token = token
    word = Text(capacity: 0)
    registered = 0
    language = .kept
    comment = .kept
    isRemoval = true
    outcome = .absent
  }

  deinit {}

  /// Appends the changed or unchanged form of a line, which includes its end.
  public mutating func take(_ line: Span<UInt8>, to text: inout Text) {
    let content = line.extracting(0..<max(line.count - 1, 0))
    guard case .recipient(let recipient) = RecipientsFile.read(content, for: .http2),
      isMeant(recipient), content.count <= RecipientsFile.lineBytesMax
    else { return text.append(bytes: line) }
    if isRemoval {
      let isSame = removed.map { $0 == recipient.token } ?? true
      removed = recipient.token
      if outcome != .ambiguous { outcome = isSame ? .removed : .ambiguous }
      return
    }
    // Keep only the first line of the recipient.
    guard !isFound else {
      outcome = .updated
      return
    }
    isFound = true
    let known = RecipientsFile.language(in: content)
    let remark = RecipientsFile.comment(in: content)
    let written = content.extracting(recipient.subscription)
    let hasSameKeys = word.count == 0 || written.equals(word.bytes)
    if !(language.isSame(as: known) && comment.isSame(as: remark) && hasSameKeys) {
      outcome = .updated
    } else if registered > 0 {
      outcome = .registered
    } else {
      return text.append(bytes: line)
    }
    write(language: known, max(registered, recipient.registered), comment: remark, to: &text)
  }

  private borrowing func isMeant(_ recipient: RecipientsFile.Recipient) -> Bool {
    if recipient.token == token { return true }
    guard isRemoval, token.count >= Self.digitBytesMin, token.count < recipient.token.count else {
      return false
    }
    return !recipient.subscription.isEmpty && recipient.token.bytes.begins(with: token.bytes)
  }

  /// Appends the recipient if the file does not have it.
  public mutating func finish(_ text: inout Text) {
    guard !isRemoval, !isFound else { return }
    outcome = .added
    let none = ("" as StaticString).span
    write(language: none, registered, comment: none, to: &text)
  }

  private borrowing func write(
    language known: Span<UInt8>, _ registered: UInt32, comment remark: Span<UInt8>,
    to text: inout Text
  ) {
    if word.count > 0 { text.append(word) } else { text.append(hex: token.bytes) }
    language.append(or: known, after: " lang=", to: &text)
    if registered > 0 { text.append(" registered=", registered) }
    comment.append(or: remark, after: " # ", to: &text)
    text.append("\n")
  }
}

extension RecipientChange.Detail {
  fileprivate borrowing func isSame(as known: Span<UInt8>) -> Bool {
    switch self {
    case .kept: return true
    case .set(let text):
      guard text.count == known.count else { return false }
      let bytes = text.bytes
      for index in bytes.indices where bytes[index] != known[index] { return false }
      return true
    }
  }

  fileprivate borrowing func append(
    or known: Span<UInt8>, after mark: StaticString, to text: inout Text
  ) {
    switch self {
    case .kept:
      guard known.count > 0 else { return }
      text.append(mark)
      text.append(bytes: known)
    case .set(let value):
      guard value.count > 0 else { return }
      text.append(mark)
      text.append(value)
    }
  }
}
