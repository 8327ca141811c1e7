import CMbed
import TinyPush

/// Decrypts a payload as the app Bark does.
///
/// The content is an object with `title`, `subtitle`, `body`, `sound` and `badge`, and other members
/// for the app. Source: the documentation of Bark, "Encryption".
enum SealedPayload {
  /// Returns the payload that the app shows; nil: the payload was encrypted under another key.
  ///
  /// - Parameter summary: the summary of the payload.
  static func open(
    _ payload: Span<UInt8>, _ summary: PayloadSummary, key: Span<UInt8>
  ) -> Text? {
    guard let ciphertext = summary.ciphertext, let iv = summary.iv else { return nil }
    let content = FixedBuffer<UInt8>(capacity: Int(CMBED_SEAL_ROOM))
    var sealed = Text(capacity: ciphertext.count)
    sealed.append(unescaping: payload.extracting(ciphertext))
    var letters = Text(capacity: iv.count)
    letters.append(unescaping: payload.extracting(iv))
    let mode = letters.count == Int(CMBED_SEAL_GCM_IV) ? CMBED_SEAL_GCM : CMBED_SEAL_CBC
    let count = key.withUnsafeBufferPointer { key in
      letters.bytes.withUnsafeBytes { letters in
        sealed.bytes.withUnsafeBytes { sealed in
          cmbed_unseal(
            content.room().baseAddress, mode, key.baseAddress, key.count,
            letters.baseAddress?.assumingMemoryBound(to: CChar.self), letters.count,
            sealed.baseAddress, sealed.count)
        }
      }
    }
    guard count > 0 else { return nil }
    return shown(content, Int(count), payload, summary)
  }

  private static func shown(
    _ content: borrowing FixedBuffer<UInt8>, _ count: Int, _ payload: Span<UInt8>,
    _ summary: PayloadSummary
  ) -> Text? {
    let content = content.span(0..<count)
    var alert = Text(capacity: count + 64)
    var aps = Text(capacity: 2 * count + payload.count + 256)
    var others = Text(capacity: count + 64)
    var hasSound = false
    var hasBody = false
    var scanner = JSONScanner()
    do throws(JSONProblem) {
      guard try scanner.peek(content) == .openBrace else { return nil }
      guard try scanner.openObject(content) else { return nil }
      repeat {
        let key = content.extracting(try scanner.key(content))
        let isString = try scanner.peek(content) == .quote
        let start = scanner.index
        try scanner.skipValue(content)
        let value = content.extracting(start..<scanner.index)
        if key.equals("title") || key.equals("subtitle") || key.equals("body") {
          append(key, value, to: &alert)
          if key.equals("body") { hasBody = true }
        } else if key.equals("badge") {
          append(key, value, to: &aps)
        } else if key.equals("sound"), isString {
          hasSound = true
          var isFile = false
          for index in value.indices where value[index] == .dot { isFile = true }
          aps.append(",\"sound\":", bytes: value.extracting(0..<value.count - 1))
          aps.append(isFile ? "\"" : ".caf\"")
        } else {
          append(key, value, to: &others)
        }
      } while try scanner.nextMember(content)
    } catch {
      return nil
    }
    var text = Text(capacity: alert.count + aps.count + others.count + payload.count + 256)
    text.append("{\"aps\":{\"alert\":{")
    // The app leaves the text as it was sent if the content has none.
    if !hasBody, let body = summary.body {
      alert.append(",\"body\":\"", bytes: payload.extracting(body), "\"")
    }
    if alert.count > 0 { text.append(bytes: alert.bytes.extracting(1..<alert.count)) }
    text.append("}", aps)
    if !hasSound, let sound = summary.sound {
      text.append(",\"sound\":\"", bytes: payload.extracting(sound), "\"")
    }
    if let category = summary.category {
      text.append(",\"category\":\"", bytes: payload.extracting(category), "\"")
    }
    if let level = summary.interruptionLevel {
      text.append(",\"interruption-level\":\"", bytes: payload.extracting(level), "\"")
    }
    text.append("}", others, "}")
    return text
  }

  /// Appends a comma and a member.
  private static func append(_ key: Span<UInt8>, _ value: Span<UInt8>, to text: inout Text) {
    text.append(",\"", bytes: key, "\":")
    text.append(bytes: value)
  }
}
