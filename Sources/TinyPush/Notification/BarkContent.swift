/// What Bark decrypts: the texts of a payload in an object of its own.
///
/// ```json
/// {"title":"Cellar","body":"Tank low","sound":"bell","badge":1,"group":"tanks","url":"http://…"}
/// ```
///
/// Source: the documentation of Bark, "Encryption", and the source of the app.
extension Payload {
  /// Writes the content and returns the number of bytes: at most that of the rendition, and
  /// ``Bark/contentBytes`` more.
  ///
  /// - Parameter text: the text of the notification.
  @inline(never)
  func writeContent(
    _ rendition: Rendition, in text: Span<UInt8>, to buffer: borrowing FixedBuffer<UInt8>,
    at start: Int
  ) -> Int {
    var content = BarkContent(at: start)
    content.write(rendition, in: text, to: buffer)
    content.write(self, in: text, to: buffer)
    return content.close(buffer) - start
  }

  /// Writes the payload around an encrypted content, and returns the number of bytes.
  ///
  /// A device that cannot decrypt the content shows a word instead.
  @inline(never)
  package func writeSealed(
    _ rendition: Rendition, in text: Span<UInt8>, by seal: Bark.Seal,
    to buffer: borrowing FixedBuffer<UInt8>
  ) -> Int? {
    // The content stands behind the room for the payload.
    let room = Rules.payloadBytes
    let count = writeContent(rendition, in: text, to: buffer, at: room)
    var end = 0
    func put(_ bytes: Span<UInt8>) {
      buffer.store(bytes, at: end)
      end += bytes.count
    }
    put(Bark.sealedStart.span)
    if isSoundDefault { put((",\"sound\":\"default\"" as StaticString).span) }
    if !level.isEmpty {
      put((",\"interruption-level\":" as StaticString).span)
      put(text.extracting(level))
    }
    put(("},\"iv\":\"" as StaticString).span)
    let ivStart = end
    end += seal.ivCount
    put(("\",\"ciphertext\":\"" as StaticString).span)
    guard count > 0, end < room,
      let sealed = seal.seal(
        UnsafeBufferPointer(start: buffer.room(from: room).baseAddress, count: count),
        UnsafeMutableBufferPointer(rebasing: buffer.room(from: end)[..<(room - end)]),
        UnsafeMutableBufferPointer(rebasing: buffer.room(from: ivStart)[..<seal.ivCount]))
    else { return nil }
    end += sealed
    put(("\"}" as StaticString).span)
    return end
  }
}

/// The object that Bark decrypts, as it is written.
private struct BarkContent {
  private var end: Int
  private var hasMembers = false
  private var hasGroup = false

  init(at start: Int) { end = start }

  /// Writes the alert.
  mutating func write(
    _ rendition: Rendition, in text: Span<UInt8>, to buffer: borrowing FixedBuffer<UInt8>
  ) {
    let range = rendition.alert.range
    let texts = range.isEmpty ? AlertTexts() : AlertTexts(text, range)
    put("title", texts.title, rendition, text, buffer)
    put("subtitle", texts.subtitle, rendition, text, buffer)
    put("body", texts.body, rendition, text, buffer)
    guard texts.body.isEmpty else { return }
    // Without a body, the word in its place would be shown.
    putKey(("body" as StaticString).span, buffer)
    putBytes(("\"\"" as StaticString).span, buffer)
  }

  /// Writes everything but the alert.
  mutating func write(
    _ payload: Payload, in text: Span<UInt8>, to buffer: borrowing FixedBuffer<UInt8>
  ) {
    var thread: Range<Int>?
    var members = JSONMembers(text, at: payload.range.lowerBound)
    while let member = members.next(text) {
      let key = text.extracting(member.key)
      guard !PayloadReader.isAps(key) else {
        writeAps(member.value, &thread, in: text, to: buffer)
        continue
      }
      // What `aps` has must not be replaced.
      let ofAps: WordList = "title subtitle body sound badge"
      guard ofAps.index(of: key) == nil else { continue }
      if key.equals("group") { hasGroup = true }
      putKey(key, buffer)
      putJSON(member.value, text, buffer)
    }
    if let thread, !hasGroup {
      putKey(("group" as StaticString).span, buffer)
      putJSON(thread, text, buffer)
    }
  }

  private mutating func writeAps(
    _ aps: Range<Int>, _ thread: inout Range<Int>?, in text: Span<UInt8>,
    to buffer: borrowing FixedBuffer<UInt8>
  ) {
    var members = JSONMembers(text, at: aps.lowerBound)
    while let member = members.next(text) {
      switch PayloadKey(spelled: text.extracting(member.key), isInAlert: false) {
      case .badge:
        putKey(("badge" as StaticString).span, buffer)
        putJSON(member.value, text, buffer)
      case .sound:
        let name = Self.soundName(member.value, in: text)
        guard !name.isEmpty, !text.extracting(name).equals("\"default\"") else { continue }
        putKey(("sound" as StaticString).span, buffer)
        putJSON(name, text, buffer)
      case .threadID: thread = member.value
      default: break
      }
    }
  }

  /// Returns the string with the name of a sound, which may stand in an object; empty: there is none.
  private static func soundName(_ value: Range<Int>, in text: Span<UInt8>) -> Range<Int> {
    guard text[value.lowerBound] == .openBrace else { return value }
    var members = JSONMembers(text, at: value.lowerBound)
    while let member = members.next(text) {
      if text.extracting(member.key).equals("name") { return member.value }
    }
    return 0..<0
  }

  /// Writes a text of the alert, cut where the rendition cuts it; nothing if there is none.
  private mutating func put(
    _ key: StaticString, _ value: Range<Int>, _ rendition: Rendition, _ text: Span<UInt8>,
    _ buffer: borrowing FixedBuffer<UInt8>
  ) {
    guard !value.isEmpty else { return }
    putKey(key.span, buffer)
    guard let cut = rendition.cut, cut > value.lowerBound, cut < value.upperBound else {
      return putJSON(value, text, buffer)
    }
    putBytes(text.extracting(value.lowerBound..<cut), buffer)
    putBytes(Rendition.ellipsis.span, buffer)
    putBytes(text.extracting(rendition.alert.text.upperBound..<value.upperBound), buffer)
  }

  private mutating func putKey(_ key: Span<UInt8>, _ buffer: borrowing FixedBuffer<UInt8>) {
    putBytes((hasMembers ? ",\"" : "{\"" as StaticString).span, buffer)
    putBytes(key, buffer)
    putBytes(("\":" as StaticString).span, buffer)
    hasMembers = true
  }

  private mutating func putJSON(
    _ value: Range<Int>, _ text: Span<UInt8>, _ buffer: borrowing FixedBuffer<UInt8>
  ) {
    end = buffer.store(json: text.extracting(value), at: end)
  }

  private mutating func putBytes(_ bytes: Span<UInt8>, _ buffer: borrowing FixedBuffer<UInt8>) {
    buffer.store(bytes, at: end)
    end += bytes.count
  }

  /// Ends the object, and returns the place after it.
  mutating func close(_ buffer: borrowing FixedBuffer<UInt8>) -> Int {
    putBytes((hasMembers ? "}" : "{}" as StaticString).span, buffer)
    return end
  }
}
