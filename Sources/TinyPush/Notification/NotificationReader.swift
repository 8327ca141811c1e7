/// Reads notifications from the text of a spool file, one after the other, and checks each.
///
/// The text may come in pieces: ``Reading/more`` asks for what follows, and the same notification is then read from its
/// start. After one that is refused, reading goes on with the next.
public struct NotificationReader {
  /// The bound on one object's text, white space included.
  public static let objectBytesMax = 65_536

  private var scanner: JSONScanner
  private var payloadLimit: Int
  /// Within text that is not JSON, which has been refused already: the next object is being looked for.
  private(set) var isSkipping = false

  /// - Parameters:
  ///   - index: where in the text to begin.
  ///   - payloadLimit: the bytes a payload may have as it goes out.
  public init(at index: Int = 0, payloadLimit: Int) {
    scanner = JSONScanner(at: index)
    self.payloadLimit = payloadLimit
  }

  /// What came of looking for the next notification.
  public enum Reading {
    case notification(Notification)
    case refused(Refusal, object: Range<Int>)
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

  /// - Parameter isWhole: whether the text is all there is, so that an end within an object is an error.
  public mutating func next(in text: Span<UInt8>, isWhole: Bool) -> Reading {
    if isSkipping {
      skipToNextObject(text)
      isSkipping = scanner.index == text.count
      // A byte is kept, since an object is known by the line end before it.
      if isSkipping { return isWhole ? .end : .more(from: max(text.count - 1, 0)) }
    }
    scanner.skipSpace(text)
    let start = scanner.index
    guard start < text.count else { return isWhole ? .end : .more(from: start) }
    let before = scanner
    var envelope = Envelope(at: start)
    do throws(JSONProblem) {
      try scanner.begin(text)
      guard text[start] == 0x7B else {
        skipToNextObject(text)
        isSkipping = scanner.index == text.count && !isWhole
        return .refused(Refusal(reason: .notAnObject, offset: start), object: start..<scanner.index)
      }
      try envelope.read(text, by: &scanner, payloadLimit: payloadLimit)
    } catch {
      if error == .unexpectedEnd && !isWhole && text.count - start < Self.objectBytesMax {
        scanner = before
        return .more(from: start)
      }
      var refusal = Refusal(reason: .json(error), offset: scanner.index)
      if error == .unexpectedEnd && !isWhole {
        refusal = Refusal(
          reason: .objectTooLarge, offset: start, limit: Self.objectBytesMax)
      }
      skipToNextObject(text)
      isSkipping = scanner.index == text.count && !isWhole
      return .refused(refusal, object: start..<scanner.index)
    }
    guard scanner.index - start <= Self.objectBytesMax else {
      let refusal = Refusal(reason: .objectTooLarge, offset: start, limit: Self.objectBytesMax)
      return .refused(refusal, object: start..<scanner.index)
    }
    envelope.notification.object = start..<scanner.index
    if let refusal = envelope.verdict(payloadLimit: payloadLimit) {
      return .refused(refusal, object: start..<scanner.index)
    }
    return .notification(envelope.notification)
  }

  /// Finds where to go on after text that is not JSON: at the next line that begins with a brace, which is how both
  /// NDJSON and indented JSON begin an object.
  private mutating func skipToNextObject(_ text: Span<UInt8>) {
    while scanner.index < text.count {
      if scanner.index > 0, text[scanner.index] == 0x7B, text[scanner.index - 1] == 0x0A { return }
      let index = scanner.index
      scanner.skipSpace(text)
      if scanner.index == index { scanner.index += 1 }
    }
  }
}

/// The members of a notification's object, as they are read.
private struct Envelope {
  var notification: Notification
  private var refusal: Refusal?
  private var seen: UInt32 = 0
  private var isSilent = false
  private var priorityAt = 0

  private enum Key: UInt32, Equatable {
    case token, tokens, payload, priority, expiration, ttl, topic, pushType, id
  }

  init(at start: Int) {
    notification = Notification(
      object: start..<start, payload: start..<start, payloadBytes: 0, firstToken: start,
      recipients: 0, priority: 10, lifetime: .configured)
  }

  /// Reads the object; the scanner stands on its brace. What is valid JSON and yet wrong is kept for ``verdict``, so that
  /// the object's end is always found.
  mutating func read(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, payloadLimit: Int
  ) throws(JSONProblem) {
    guard try scanner.openObject(text) else { return }
    repeat {
      let range = try scanner.key(text)
      let keyAt = range.lowerBound - 1
      guard let key = Self.key(text.extracting(range)) else {
        refuse(.unknownKey, at: keyAt)
        try scanner.skipValue(text)
        continue
      }
      if isSeen(key) { refuse(.duplicateKey, at: keyAt) }
      seen |= 1 << key.rawValue
      let first = try scanner.peek(text)
      let at = scanner.index
      switch key {
      case .token:
        if isSeen(.tokens) { refuse(.tokenTwice, at: keyAt) }
        try readToken(text, by: &scanner)
      case .tokens:
        if isSeen(.token) { refuse(.tokenTwice, at: keyAt) }
        guard first == 0x5B else {
          refuse(.tokensNotArray, at: at)
          try scanner.skipValue(text)
          continue
        }
        guard try scanner.openArray(text) else {
          refuse(.tokensEmpty, at: at)
          continue
        }
        repeat { try readToken(text, by: &scanner) } while try scanner.nextElement(text)
      case .payload: try readPayload(text, by: &scanner)
      case .priority:
        priorityAt = at
        let number = try wholeNumber(text, by: &scanner)
        guard let number, number == 10 || number == 5 else {
          refuse(.priority, at: at)
          continue
        }
        notification.priority = UInt8(number)
      case .expiration:
        if isSeen(.ttl) { refuse(.expirationAndTtl, at: keyAt) }
        guard let number = try wholeNumber(text, by: &scanner), number <= UInt64(UInt32.max) else {
          refuse(.expiration, at: at)
          continue
        }
        notification.lifetime = .until(UInt32(number))
      case .ttl:
        if isSeen(.expiration) { refuse(.expirationAndTtl, at: keyAt) }
        guard let number = try wholeNumber(text, by: &scanner), number <= UInt64(UInt32.max) else {
          refuse(.ttl, at: at)
          continue
        }
        notification.lifetime = .ttl(UInt32(number))
      case .topic, .pushType, .id:
        if first != 0x22 { refuse(.notString, at: at) }
        try scanner.skipValue(text)
      }
    } while try scanner.nextMember(text)
  }

  /// What is wrong with it, if anything is, once it is read to its end.
  func verdict(payloadLimit: Int) -> Refusal? {
    if let refusal { return refusal }
    let start = notification.object.lowerBound
    if !isSeen(.payload) { return Refusal(reason: .missingPayload, offset: start) }
    if !isSeen(.token) && !isSeen(.tokens) { return Refusal(reason: .missingToken, offset: start) }
    if notification.payloadBytes > payloadLimit {
      return Refusal(
        reason: .payloadTooLarge, offset: notification.payload.lowerBound,
        found: notification.payloadBytes, limit: payloadLimit)
    }
    if isSilent && isSeen(.priority) && notification.priority == 10 {
      return Refusal(reason: .prioritySilent, offset: priorityAt)
    }
    return nil
  }

  private mutating func readToken(_ text: Span<UInt8>, by scanner: inout JSONScanner)
    throws(JSONProblem)
  {
    guard try scanner.peek(text) == 0x22 else {
      refuse(.tokenNotString, at: scanner.index)
      try scanner.skipValue(text)
      return
    }
    let digits = try scanner.string(text)
    if digits.count != DeviceToken.digitCount {
      refuse(.tokenSize, at: digits.lowerBound, found: digits.count)
    }
    for index in digits where DeviceToken.hexValue(text[index]) == nil {
      refuse(.tokenNotHex, at: index)
    }
    if notification.recipients == 0 { notification.firstToken = digits.lowerBound }
    notification.recipients += 1
  }

  private mutating func readPayload(_ text: Span<UInt8>, by scanner: inout JSONScanner)
    throws(JSONProblem)
  {
    let start = scanner.index
    let spaceBytes = scanner.spaceBytes
    guard text[start] == 0x7B else {
      refuse(.payloadNotObject, at: start)
      try scanner.skipValue(text)
      return
    }
    var hasAps = false
    if try scanner.openObject(text) {
      repeat {
        let range = try scanner.key(text)
        guard text.extracting(range).equals("aps") else {
          try scanner.skipValue(text)
          continue
        }
        if hasAps { refuse(.duplicateKey, at: range.lowerBound - 1) }
        hasAps = true
        guard try scanner.peek(text) == 0x7B else {
          refuse(.apsNotObject, at: scanner.index)
          try scanner.skipValue(text)
          continue
        }
        try readAps(text, by: &scanner)
      } while try scanner.nextMember(text)
    }
    if !hasAps { refuse(.missingAps, at: start) }
    notification.payload = start..<scanner.index
    notification.payloadBytes = scanner.index - start - (scanner.spaceBytes - spaceBytes)
  }

  private mutating func readAps(_ text: Span<UInt8>, by scanner: inout JSONScanner)
    throws(JSONProblem)
  {
    let start = scanner.index
    guard try scanner.openObject(text) else {
      refuse(.apsIsEmpty, at: start)
      return
    }
    var hasContentAvailable = false
    var isFeltByTheUser = false
    repeat {
      let range = try scanner.key(text)
      let key = text.extracting(range)
      let first = try scanner.peek(text)
      let at = scanner.index
      try scanner.skipValue(text)
      if key.equals("alert") {
        isFeltByTheUser = true
        if first != 0x22 && first != 0x7B { refuse(.alert, at: at) }
      } else if key.equals("badge") {
        isFeltByTheUser = true
        if first != 0x2D && (first < 0x30 || first > 0x39) { refuse(.badge, at: at) }
      } else if key.equals("sound") {
        isFeltByTheUser = true
        if first != 0x22 { refuse(.sound, at: at) }
      } else if key.equals("category") {
        if first != 0x22 { refuse(.category, at: at) }
      } else if key.equals("content-available") {
        hasContentAvailable = true
        if !text.extracting(at..<scanner.index).equals("1") { refuse(.contentAvailable, at: at) }
      }
    } while try scanner.nextMember(text)
    isSilent = hasContentAvailable && !isFeltByTheUser
    if isSilent && !isSeen(.priority) { notification.priority = 5 }
  }

  private func wholeNumber(
    _ text: Span<UInt8>, by scanner: inout JSONScanner
  ) throws(JSONProblem) -> UInt64? {
    let first = text[scanner.index]
    guard first == 0x2D || first >= 0x30 && first <= 0x39 else {
      try scanner.skipValue(text)
      return nil
    }
    return try scanner.wholeNumber(text)
  }

  private func isSeen(_ key: Key) -> Bool { seen & (1 << key.rawValue) != 0 }

  /// The first refusal counts.
  private mutating func refuse(_ reason: Refusal.Reason, at offset: Int, found: Int = 0) {
    if refusal == nil { refusal = Refusal(reason: reason, offset: offset, found: found) }
  }

  @inline(__always)
  private static func key(_ key: Span<UInt8>) -> Key? {
    switch key.count {
    case 2: key.equals("id") ? .id : nil
    case 3: key.equals("ttl") ? .ttl : nil
    case 5: key.equals("token") ? .token : key.equals("topic") ? .topic : nil
    case 6: key.equals("tokens") ? .tokens : nil
    case 7: key.equals("payload") ? .payload : nil
    case 8: key.equals("priority") ? .priority : nil
    case 9: key.equals("push-type") ? .pushType : nil
    case 10: key.equals("expiration") ? .expiration : nil
    default: nil
    }
  }
}
