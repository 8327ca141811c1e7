import TinyPush

/// A notification as a person likes to see it: a line of where it goes and how, and below it what it says.
struct Card {
  var arrival: Arrival
  var summary: PayloadSummary
  var palette: Palette

  /// Below the time of day.
  private static let indent: StaticString = "          "

  /// Goes on after the words of where it goes.
  func write(_ payload: Span<UInt8>, now: Int64, in text: inout Text) {
    text.append(palette.dim)
    text.append("  priority ")
    text.append(arrival.priority)
    text.append(", ")
    Self.write(expiration: arrival.expiration, now: now, in: &text)
    text.append(", connection ")
    text.append(arrival.connection)
    if let identifier = arrival.identifier {
      text.append(" no. ")
      text.append(identifier)
    }
    text.append(palette.end)
    text.append("\n")
    if let title = summary.title {
      text.append(Self.indent)
      text.append(palette.strong)
      text.append(jsonString: payload.extracting(title), indent: Self.indent)
      text.append(palette.end)
      text.append("\n")
    }
    if let body = summary.body {
      text.append(Self.indent)
      text.append(summary.title == nil ? palette.strong : "")
      text.append(jsonString: payload.extracting(body), indent: Self.indent)
      text.append(summary.title == nil ? palette.end : "")
      text.append("\n")
    }
    writeRest(payload, in: &text)
  }

  private func writeRest(_ payload: Span<UInt8>, in text: inout Text) {
    text.append(Self.indent)
    text.append(palette.dim)
    if summary.isSilent { text.append("silent, ") }
    write("text of the app's own: ", summary.locKey, payload, in: &text)
    write("badge ", summary.badge, payload, in: &text)
    write("sound ", summary.sound, payload, in: &text)
    write("category ", summary.category, payload, in: &text)
    if summary.isContentAvailable { text.append("content-available, ") }
    if summary.ownKeys > 0 {
      text.append(summary.ownKeys)
      text.append(summary.ownKeys == 1 ? " key of the app's own, " : " keys of the app's own, ")
    }
    text.append(payload.count)
    text.append(payload.count == 1 ? " byte" : " bytes")
    text.append(palette.end)
    text.append("\n")
  }

  private func write(
    _ name: StaticString, _ range: Range<Int>?, _ payload: Span<UInt8>, in text: inout Text
  ) {
    guard let range else { return }
    text.append(name)
    text.append(jsonString: payload.extracting(range), indent: Self.indent)
    text.append(", ")
  }

  /// Its beginning and its end, by which one knows it again.
  static func write(shortToken token: Span<UInt8>, in text: inout Text) {
    guard token.count > 8 else {
      text.append(hex: token)
      return
    }
    text.append(hex: token.extracting(0..<4))
    text.append("..")
    text.append(hex: token.extracting(token.count - 2..<token.count))
  }

  private static func write(expiration: UInt32?, now: Int64, in text: inout Text) {
    guard let expiration else { return text.append("no expiration") }
    guard expiration > 0 else { return text.append("not stored") }
    let left = Int64(expiration) - now
    guard left > 0 else { return text.append("already expired") }
    text.append("kept for ")
    switch left {
    case ..<120:
      text.append(left)
      text.append(" s")
    case ..<7200:
      text.append((left + 30) / 60)
      text.append(" min")
    case ..<172_800:
      text.append((left + 1800) / 3600)
      text.append(" h")
    default:
      text.append((left + 43_200) / 86_400)
      text.append(" days")
    }
  }
}
