import TinyPush

/// A message of a program that was made for another service: a JSON object with a text at its top,
/// or the headers of ntfy.
///
/// | member | header | becomes |
/// |---|---|---|
/// | `message`, `text`, `body` or `msg` | `Message` | the text |
/// | `title` or `subject` | `Title` | the title |
/// | `topic` | | the recipients file |
/// | `priority` | `Priority` | the interruption level |
/// | `tags` | `Tags` | the subtitle |
/// | `click` or `url` | `Click` | the link |
/// | `icon` | `Icon` | the icon |
/// | `image`, `group`, `copy` | | what Bark calls so |
/// | `delay` of ntfy | `Delay`, `At`, `In` | a refusal, since the alert would come too early |
///
/// Other members are not used. Sources: the documentation of ntfy, "Publishing"; the API of Gotify,
/// `createMessage`; the sources of Apprise, `custom_json.py`.
public enum SenderMessage {
  /// The scale of a priority.
  public enum Scale: Sendable {
    /// 1 to 5, or words; 0 is the default.
    case ntfy
    /// A whole number: most programs use 0 to 10.
    case gotify

    /// The interruption level of a priority.
    public enum Level: Sendable {
      case passive, normal, timeSensitive

      /// The name in `aps`; nil: the device's default.
      var name: StaticString? {
        switch self {
        case .passive: "passive"
        case .normal: nil
        case .timeSensitive: "time-sensitive"
        }
      }
    }

    /// Returns the level of a priority; nil: it is none of the scale.
    func level(of priority: Span<UInt8>) -> Level? {
      switch self {
      case .ntfy:
        let words: WordList = "0 1 2 3 4 5 min low default high urgent max"
        var word = Text(capacity: 16)
        for index in priority.indices { word.append(byte: priority[index].lowerCase) }
        switch words.index(of: word.bytes) {
        case 1, 2, 6, 7: return .passive
        case 0, 3, 4, 8, 9: return .normal
        case 5, 10, 11: return .timeSensitive
        default: return nil
        }
      case .gotify:
        let isNegative = priority.begins(with: ("-" as StaticString).span)
        let digits = priority.extracting((isNegative ? 1 : 0)..<priority.count)
        guard let number = digits.wholeNumber else { return nil }
        return isNegative || number < 4 ? .passive : number < 8 ? .normal : .timeSensitive
      }
    }
  }

  /// Returns whether a text is a JSON object with a text at its top, and no notification.
  public static func isMessage(_ text: Span<UInt8>) -> Bool {
    guard Finding.inJSON(text) == nil, !TextMessage.isNotification(text) else { return false }
    var members = JSONMembers(text)
    while let member = members.next(text) {
      if key(text.extracting(member.key)) == .alert, member.content(text).count > 0 {
        return true
      }
    }
    return false
  }

  /// Adds the members of a message to the parameters of its request, which count more.
  ///
  /// - Parameters:
  ///   - scale: the scale of the priority; nil: the priority is not used.
  ///   - list: receives the recipients file that the message names.
  public static func read(
    _ text: Span<UInt8>, _ scale: Scale?, into options: inout MessageOptions, list: inout Text
  ) throws(MessageOptions.Problem) {
    var scale = scale
    let hadPriority = options.draft.has(.priority)
    // Only ntfy's messages have a topic.
    if list.count == 0, scale == nil {
      var members = JSONMembers(text)
      while let member = members.next(text) {
        guard text.extracting(member.key).equals("topic") else { continue }
        list.append(unescaping: text.extracting(member.content(text)))
        scale = .ntfy
      }
    }
    var members = JSONMembers(text)
    while let member = members.next(text) {
      let (name, content) = (text.extracting(member.key), text.extracting(member.content(text)))
      if name.equals("priority") {
        let value = text.extracting(member.value)
        guard scale != nil, !value.equals("null"), !value.equals("\"\"") else { continue }
        try options.set(.priority) { $0.append(bytes: content.count > 0 ? content : value) }
      } else if name.equals("delay"), scale == .ntfy {
        if content.count > 0 { throw .delay }
      } else if name.equals("tags") {
        try readTags(text, at: member.value.lowerBound, into: &options)
      } else if content.count > 0, let key = key(name) {
        try set(key, content, in: &options)
      }
    }
    if let scale, !hadPriority { try options.takePriority(scale) }
  }

  /// Adds a header of ntfy to the parameters of its request, which count more.
  public static func read(
    header name: StaticString, _ value: Span<UInt8>, into options: inout MessageOptions
  ) throws(MessageOptions.Problem) {
    if value.begins(with: ("=?" as StaticString).span) { throw .encoding }
    let names: WordList = "Title Message Priority Tags Click Icon Delay At In"
    let keys: [6 of Draft.Key] = [.title, .alert, .priority, .subtitle, .url, .icon]
    guard let number = names.index(of: name.span), value.count > 0 else { return }
    guard number < keys.count else { throw .delay }
    // Browsers send `Priority: u=3, i` (RFC 9218).
    if number == 2, value.begins(with: ("u=" as StaticString).span) || value.equals("i") { return }
    try options.set(keys[number]) { $0.append(escaping: value) }
  }

  /// Sets a parameter to the content of a string of the message.
  private static func set(
    _ key: Draft.Key, _ content: Span<UInt8>, in options: inout MessageOptions
  ) throws(MessageOptions.Problem) {
    // Escapes of letters would take the room of the text.
    var plain = Text(capacity: content.count)
    plain.append(unescaping: content)
    switch key {
    case .alert: try options.set(key) { $0.append(escaping: Draft.prefix(of: plain.bytes)) }
    case .title: try setShortened(key, plain, in: &options)
    default:
      guard plain.count <= bytesMax else { return }
      try options.set(key) { $0.append(escaping: plain.bytes) }
    }
  }

  private static func setShortened(
    _ key: Draft.Key, _ plain: borrowing Text, in options: inout MessageOptions
  ) throws(MessageOptions.Problem) {
    let short = Draft.prefix(of: plain.unsafeBytes, bytesMax: bytesMax)
    try options.set(key) {
      $0.append(escaping: short)
      if short.count < plain.count { $0.append("…") }
    }
  }

  /// The most bytes of a title or of the tags, and of another member besides the text, which is left
  /// out if it is longer.
  private static let bytesMax = Rules.payloadBytes / 5

  /// Returns what a member of a message is for; nil: nothing, or more than a text.
  private static func key(_ name: Span<UInt8>) -> Draft.Key? {
    let names: WordList = "message text body msg title subject click url icon image group copy"
    switch names.index(of: name) {
    case 0, 1, 2, 3: return .alert
    case 4, 5: return .title
    case 6, 7: return .url
    case nil: return nil
    default: return Draft.Key(name)
    }
  }

  private static func readTags(
    _ text: Span<UInt8>, at start: Int, into options: inout MessageOptions
  ) throws(MessageOptions.Problem) {
    var words = Text(capacity: bytesMax + 4)
    var elements = JSONMembers(text, at: start, isArray: true)
    while let element = elements.next(text) {
      guard text[element.value.lowerBound] == .quote else { continue }
      if words.count > 0 { words.append(", ") }
      words.append(unescaping: text.extracting(element.content(text)))
    }
    if words.count > 0 { try setShortened(.subtitle, words, in: &options) }
  }
}
