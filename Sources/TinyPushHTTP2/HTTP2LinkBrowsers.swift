import TinyPush
import TinyPushWebPush

/// Where the parts of a message to a browser are in the room for a payload.
enum BrowserRoom {
  /// Where the text of the message begins, behind the payload that it is made from.
  static let text = 8192
  /// Where the encrypted message begins.
  static let body = text + 4096
  static let end = body + MessageSeal.bytesMax
}

/// Requests to the push services of browsers.
///
/// Source: RFC 8030, section 5; RFC 8291; RFC 8292.
extension HTTP2Link {
  /// Frames the request of a message to a browser; returns nil if the message has an outcome.
  @inline(never)
  mutating func request(
    _ place: UInt16, _ message: borrowing Message, in text: Span<UInt8>,
    to word: Span<UInt8>
  ) -> Session.Requested? {
    do throws(Subscription.Problem) {
      let subscription = try Subscription(word)
      guard let count = writeMessage(message, in: text) else {
        requests.decide(place, .rejected(Rejection(.nothingToShow)))
        return nil
      }
      let room = scratch.payload.room()
      let written = service.messageSeal!.seal(
        UnsafeBufferPointer(start: room.baseAddress! + BrowserRoom.text, count: count),
        for: subscription, in: word, to: room.baseAddress! + BrowserRoom.body)
      guard let written else {
        goesAgain(place, notBefore: time.now + Self.sealPatience)
        return nil
      }
      guard written > 0 else {
        requests.decide(place, .rejected(Rejection(.badBrowserKey)))
        return nil
      }
      scratch.writeForBrowser(
        message, in: text, bytes: written, path: word.extracting(subscription.path), service,
        authorization.text, wall: time.wallSeconds)
      return request(
        place, scratch.payload.unsafeSpan(BrowserRoom.body..<BrowserRoom.body + written))
    } catch {
      // The subscription was checked when it was read.
      requests.decide(place, .dropped)
      return nil
    }
  }

  /// Writes the text that the browser shows; returns nil if it would show nothing.
  private func writeMessage(_ message: borrowing Message, in text: Span<UInt8>) -> Int? {
    let end = message.payload.write(message.rendition, in: text, to: scratch.payload)
    let payload = scratch.payload.unsafeSpan(0..<end)
    let content = WebMessage(payload)
    guard content.problem == nil else { return nil }
    var tag = Text(capacity: WebMessage.tagBytesMax)
    if !message.collapseID.isEmpty {
      tag.append(bytes: text.extracting(message.collapseID))
    } else if settings.repeats == .replace {
      tag.append(hex: message.fingerprint.low)
    }
    return content.write(
      payload, page: service.page.bytes, tag: tag.bytes, to: scratch.payload, at: BrowserRoom.text)
  }
}

extension HeaderText {
  /// Four weeks, in seconds: no service keeps a message longer.
  private static let ttlMax: Int64 = 2_419_200

  /// Writes the headers of a request to the push service of a browser.
  ///
  /// - Parameter bytes: the length of the encrypted message. Some services refuse one of unknown
  ///   length (411).
  @inline(never)
  mutating func writeForBrowser(
    _ message: borrowing Message, in source: Span<UInt8>, bytes: Int, path: Span<UInt8>,
    _ service: borrowing HTTP2Link.Service, _ token: borrowing Text, wall: Int64?
  ) {
    count = 0
    textEnd = 0
    literal(":method", "POST")
    literal(":scheme", "https")
    put(":authority", service.authority.bytes, isIndexed: true)
    put(":path", path.count > 0 ? path : ("/" as StaticString).span, isIndexed: false)
    put("authorization", token.bytes, isIndexed: false)
    literal("content-encoding", "aes128gcm")
    literal("content-type", "application/octet-stream")
    put("content-length", UInt32(bytes))
    put("ttl", ttl(of: message, wall: wall))
    literal(
      "urgency", message.priority == 10 ? "high" : message.priority == 5 ? "normal" : "low")
    // The service keeps the newest of a topic for a device that is offline, and perhaps only the
    // newest of a few topics.
    guard !message.collapseID.isEmpty else { return }
    let start = textEnd
    append(spelled: source.extracting(message.collapseID))
    let topic = Topic(text.unsafeSpan(start..<textEnd))
    textEnd = start
    append(topic.text)
    end("topic", from: start)
  }

  /// Returns for how many seconds the service keeps a message; 0: it does not.
  private func ttl(of message: borrowing Message, wall: Int64?) -> UInt32 {
    guard message.expiration > 0 else { return 0 }
    guard let wall, message.expiration < .max else { return UInt32(Self.ttlMax) }
    return UInt32(clamping: min(max(Int64(message.expiration) - wall, 0), Self.ttlMax))
  }
}
