import TinyPush

/// A notification on a lock screen, drawn on a terminal.
///
/// ```
/// ╭─ cellar on kitchen ───────────────────────── 14:05:59, 3 min late ─╮
/// │ Water                                                              │
/// │ 40 cm in the cellar, and the pump is off.                          │
/// ╰─ badge 3 ─ sound drip.caf ─ category PUMP ─────────────────────────╯
/// ```
///
/// A silent notification has no title and no text, and a frame of dashed lines.
struct Card {
  /// The width of the card.
  private let columns: Int
  let palette: Palette

  /// The widest card; a wider terminal does not make it wider.
  private static let columnsMax = 80
  private static let columnsMin = 40
  static let columnsWithoutTerminal = 72
  /// The most lines of a title.
  ///
  /// Inferred: a lock screen shows the rest only when the notification is opened.
  private static let titleLinesMax = 2
  private static let textLinesMax = 12

  /// Creates a card for a terminal with this width; 0: the output is not a terminal.
  init(columns: Int, palette: Palette) {
    self.columns =
      columns > 0
      ? min(max(columns, Self.columnsMin), Self.columnsMax) : Self.columnsWithoutTerminal
    self.palette = palette
  }

  /// Appends the card of a notification.
  ///
  /// - Parameters:
  ///   - topic: the app's topic, whose last part is shown as the app's name.
  ///   - badge: the number on the app's icon; 0: none.
  ///   - device: the device's name; empty: it has none.
  ///   - time: the time of day at which the device got the notification.
  ///   - lateSeconds: how long the service had stored the notification.
  ///   - push: the push type, if the notification came over HTTP/2.
  ///   - replacing: what the notification replaces on the device.
  func write(
    _ presentation: borrowing Presentation, of topic: Span<UInt8>, badge: UInt64,
    on device: Span<UInt8>,
    at time: Span<UInt8>,
    lateSeconds: Int64, push: PushType? = nil,
    replacing: LockScreens.Replacing = .nothing, to text: inout Text
  ) {
    writeHead(presentation, topic, device, time, lateSeconds, to: &text)
    if let title = presentation.title {
      write(
        presentation.bytes(title), linesMax: Self.titleLinesMax, in: palette.strong, to: &text)
    }
    if let subtitle = presentation.subtitle {
      write(
        presentation.bytes(subtitle), linesMax: Self.titleLinesMax, in: palette.strong, to: &text)
    }
    if let body = presentation.text {
      write(presentation.bytes(body), linesMax: Self.textLinesMax, in: "", to: &text)
    }
    writeAppTexts(presentation, to: &text)
    writeFoot(presentation, badge, push, replacing, to: &text)
    writeNotes(presentation, to: &text)
  }

  // MARK: - The frame

  private func line(_ presentation: borrowing Presentation) -> StaticString {
    presentation.isSilent ? "╌" : "─"
  }

  @inline(never)
  private func writeHead(
    _ presentation: borrowing Presentation, _ topic: Span<UInt8>, _ device: Span<UInt8>,
    _ time: Span<UInt8>,
    _ lateSeconds: Int64, to text: inout Text
  ) {
    var late = Text(capacity: 64)
    late.append(bytes: time)
    late.append(", ")
    late.append(lateSeconds: lateSeconds)
    // Of the columns, 8 are for the corners, and a line and a space on both sides of each text.
    var room = columns - 8 - late.count
    text.append(palette.dim)
    text.append("╭", line(presentation))
    text.append(" ", palette.end)
    text.append(palette.strong)
    room -= text.append(visible: Self.name(topic), columns: room - 1)
    text.append(palette.end)
    text.append(palette.dim)
    if device.count > 0, room > 5 {
      text.append(" on ")
      room -= 4 + text.append(visible: device, columns: room - 5)
    }
    text.append(" ")
    write(line(presentation), count: room, to: &text)
    text.append(" ", bytes: late.bytes)
    text.append(" ", line(presentation))
    text.append("╮", palette.end, "\n")
  }

  /// Returns an app's name: the last part of its topic.
  @_lifetime(copy topic)
  private static func name(_ topic: Span<UInt8>) -> Span<UInt8> {
    var start = topic.count
    while start > 0, topic[start - 1] != .dot { start -= 1 }
    return topic.extracting(start...)
  }

  @inline(never)
  private func writeFoot(
    _ presentation: borrowing Presentation, _ badge: UInt64, _ push: PushType?,
    _ replacing: LockScreens.Replacing, to text: inout Text
  ) {
    text.append(palette.dim)
    text.append("╰", line(presentation))
    var foot = Foot(room: columns - 3, line: line(presentation))
    if case .nothing = replacing {
    } else {
      foot.write("replaces an earlier one", to: &text)
    }
    switch push {
    case nil, .alert, .background: break
    case let push?: foot.write(push.name, to: &text)
    }
    if presentation.isSilent {
      foot.write("silent: the app is woken", to: &text)
    } else if presentation.wakesApp {
      foot.write("the app is woken", to: &text)
    }
    if presentation.wasSealed { foot.write("encrypted", to: &text) }
    if let event = presentation.event { foot.write(presentation.bytes(event), to: &text) }
    if let level = presentation.interruptionLevel {
      foot.write(presentation.bytes(level), to: &text)
    }
    if badge > 0 {
      var words = Text(capacity: 32)
      words.append("badge ", badge)
      foot.write(words.bytes, to: &text)
    } else if presentation.badge != nil {
      foot.write("no badge", to: &text)
    }
    switch presentation.sound {
    case .none: break
    case .systemDefault:
      foot.write(presentation.isCritical ? "critical default sound" : "default sound", to: &text)
    case .file(let name):
      foot.write(
        presentation.isCritical ? "critical sound " : "sound ", presentation.bytes(name), to: &text)
    }
    if let category = presentation.category {
      foot.write("category ", presentation.bytes(category), to: &text)
    }
    write(line(presentation), count: foot.room, to: &text)
    text.append("╯", palette.end, "\n")
  }

  /// The lower line of the frame, into which words are written.
  private struct Foot {
    /// The columns that are left.
    private(set) var room: Int
    let line: StaticString

    init(room: Int, line: StaticString) {
      (self.room, self.line) = (room, line)
    }

    mutating func write(
      _ words: StaticString, _ name: Span<UInt8> = Span(), to text: inout Text
    ) {
      let head = words.utf8CodeUnitCount
      // Each text has a space before it, and a space and a line behind it.
      guard room >= head + (name.count > 0 ? 1 : 0) + 3 else { return }
      text.append(" ", words)
      let columns = text.append(visible: name, columns: room - head - 3)
      text.append(" ", line)
      room -= head + columns + 3
    }

    mutating func write(_ words: Span<UInt8>, to text: inout Text) {
      write("", words, to: &text)
    }
  }

  private func write(_ piece: StaticString, count: Int, to text: inout Text) {
    for _ in 0..<max(count, 0) { text.append(piece) }
  }

  // MARK: - Content

  /// The columns for a text, without the frame and a space on both sides.
  private var roomInside: Int { columns - 4 }

  @inline(never)
  private func openLine(to text: inout Text) {
    text.append(palette.dim)
    text.append("│", palette.end, " ")
  }

  /// Ends a line whose content takes this number of columns.
  private func closeLine(taken: Int, to text: inout Text) {
    for _ in 0..<max(columns - 3 - taken, 0) { text.append(" ") }
    text.append(palette.dim)
    text.append("│", palette.end, "\n")
  }

  private func write(
    _ words: Span<UInt8>, linesMax: Int, in style: StaticString, to text: inout Text
  ) {
    var wrapper = LineWrapper(columns: roomInside)
    for number in 1...linesMax {
      guard let (range, taken) = wrapper.next(words) else { return }
      let isCut = number == linesMax && wrapper.index < words.count
      openLine(to: &text)
      text.append(style)
      text.append(shown: words.extracting(range))
      if isCut { text.append("…") }
      text.append(style.utf8CodeUnitCount > 0 ? palette.end : "")
      closeLine(taken: taken + (isCut ? 1 : 0), to: &text)
    }
  }

  /// Writes a line for each text beside `aps` that an app such as Bark shows.
  private func writeAppTexts(_ presentation: borrowing Presentation, to text: inout Text) {
    var line = Text(capacity: Presentation.bytesMax)
    for key in AppKey.allCases {
      guard let place = presentation.text(key) else { continue }
      line.clear()
      line.append(bytes: key.name)
      line.append(" ", bytes: presentation.bytes(place))
      write(line.bytes, linesMax: Self.titleLinesMax, in: palette.dim, to: &text)
    }
  }

  private func writeNotes(_ presentation: borrowing Presentation, to text: inout Text) {
    let notes = presentation.notes.bytes
    var start = 0
    for index in notes.indices where notes[index] == .lineFeed {
      text.append("  ", palette.bad)
      text.append(bytes: notes.extracting(start..<index))
      text.append(palette.end)
      text.append("\n")
      start = index + 1
    }
  }
}

extension Text {
  /// Appends `now`, or `3 min late`.
  mutating func append(lateSeconds late: Int64) {
    guard late > 0 else { return append("now") }
    append(seconds: late)
    append(" late")
  }

  /// Appends a duration, rounded, in seconds, minutes, hours or days.
  mutating func append(seconds: Int64) {
    switch seconds {
    case ..<120:
      append(seconds)
      append(" s")
    case ..<7200:
      append((seconds + 30) / 60)
      append(" min")
    case ..<172_800:
      append((seconds + 1800) / 3600)
      append(" h")
    default:
      append((seconds + 43_200) / 86_400)
      append(" days")
    }
  }
}
