import TinyPush
import TinyPushAgent

/// How a notification arrived at the gateway, and how it is to be delivered.
struct Arrival {
  var connection: Int64
  var identifier: UInt32?
  var priority: UInt8
  /// The expiration in UNIX seconds; 0: must not be stored; nil: not given.
  var expiration: UInt32?
  /// When the notification was accepted: milliseconds since 1970.
  var acceptedMs: Int64
  /// The headers of HTTP/2; nil: the notification came over the binary protocol.
  var push: Push?

  /// Describes an arrival over HTTP/2, where the identifier is the number of the stream.
  init(
    connection: Int64, identifier: UInt32, priority: UInt8, expiration: UInt32?,
    acceptedMs: Int64, push: Push
  ) {
    self.connection = connection
    self.identifier = identifier
    self.priority = priority
    self.expiration = expiration
    self.acceptedMs = acceptedMs
    self.push = push
  }

  /// Describes an arrival over the binary protocol.
  init(_ frame: ReceivedFrame, connection: Int64, nowMs: Int64) {
    self.connection = connection
    identifier = frame.identifier
    priority = frame.priority ?? 10
    expiration = frame.expiration
    acceptedMs = nowMs
  }

  /// Parses the line that ``write(in:)`` wrote.
  init?(_ line: Span<UInt8>) {
    var numbers: InlineArray<5, Int64> = .init(repeating: 0)
    var place = 0
    for index in 0..<5 {
      guard place < line.count else { return nil }
      let isNegative = line[place] == .hyphen
      if isNegative { place += 1 }
      let start = place
      while place < line.count, line[place].isDigit, place - start < 18 {
        numbers[index] = numbers[index] * 10 + Int64(line[place].digitValue)
        place += 1
      }
      guard place > start, place == line.count || line[place] == .space else { return nil }
      if isNegative { numbers[index] = -numbers[index] }
      place += 1
    }
    if place < line.count {
      guard let push = Push.read(line.extracting(place..<line.count)) else { return nil }
      self.push = push
      place = line.count + 1
    }
    guard place == line.count + 1, numbers[1] >= 0, numbers[1] <= 255,
      numbers[2] <= Int64(UInt32.max), numbers[4] <= Int64(UInt32.max)
    else { return nil }
    acceptedMs = numbers[0]
    priority = UInt8(numbers[1])
    expiration = numbers[2] < 0 ? nil : UInt32(numbers[2])
    connection = numbers[3]
    identifier = numbers[4] < 0 ? nil : UInt32(numbers[4])
  }

  /// The collapse ID; empty: none.
  var collapseID: Span<UInt8> {
    @_lifetime(immortal) get {
      guard let push else { return Span() }
      return push.collapseID
    }
  }

  /// Appends a line with the fields, separated by spaces.
  ///
  /// The fields are `acceptedMs`, `priority`, `expiration`, `connection` and `identifier`, with -1
  /// for nil. For HTTP/2 follow the push type or the urgency, the name, and the collapse ID in hexadecimal.
  func write(in text: inout Text) {
    text.append(acceptedMs)
    text.append(" ", priority)
    text.append(" ", expiration.map { Int64($0) } ?? -1)
    text.append(" ", connection)
    text.append(" ", identifier.map { Int64($0) } ?? -1)
    if let push {
      text.append(" ")
      push.write(in: &text)
    }
  }
}

/// The headers of a notification that exist only over HTTP/2.
final class Push {
  /// To whom the notification goes, and how.
  enum Kind {
    case app(PushType)
    case browser(Urgency)

    var name: StaticString {
      switch self {
      case .app(let type): type.name
      case .browser(let urgency): urgency.name
      }
    }
  }

  let kind: Kind
  /// The push type; nil: the notification is a message for a browser.
  var type: PushType? {
    if case .app(let type) = kind { type } else { nil }
  }
  /// The value of `apns-id`, or the name of a message for a browser.
  var id: Span<UInt8> { @_lifetime(immortal) get { CString.span(idString.pointer) } }
  private let idString: CString
  /// The collapse ID, or the topic of a message for a browser; empty: none.
  var collapseID: Span<UInt8> { @_lifetime(immortal) get { CString.span(collapseString.pointer) } }
  private let collapseString: CString

  init(_ kind: Kind, id: Span<UInt8>, collapseID: Span<UInt8>) {
    self.kind = kind
    idString = CString(id)
    collapseString = CString(collapseID)
  }

  /// Parses the words that ``write(in:)`` wrote.
  static func read(_ words: Span<UInt8>) -> Push? {
    var ends: [Int] = []
    for index in words.indices where words[index] == .space { ends.append(index) }
    guard ends.count == 2, let kind = kind(words.extracting(0..<ends[0])) else { return nil }
    let digits = words.extracting(ends[1] + 1..<words.count)
    guard digits.count % 2 == 0 else { return nil }
    var collapseID = Text(capacity: digits.count)
    var index = 0
    while index < digits.count {
      guard let high = DeviceToken.hexValue(digits[index]),
        let low = DeviceToken.hexValue(digits[index + 1])
      else { return nil }
      collapseID.append(byte: high << 4 | low)
      index += 2
    }
    return Push(
      kind, id: words.extracting(ends[0] + 1..<ends[1]), collapseID: collapseID.bytes)
  }

  private static func kind(_ name: Span<UInt8>) -> Kind? {
    if let type = PushType(name: name) { return .app(type) }
    guard let urgency = Urgency(name: name) else { return nil }
    return .browser(urgency)
  }

  func write(in text: inout Text) {
    text.append(kind.name)
    text.append(" ", bytes: id, " ")
    text.append(hex: collapseID)
  }
}

/// A notification that is stored for an offline device.
final class StoredNotification {
  let arrival: Arrival
  var payload: Span<UInt8> {
    @_lifetime(immortal) get { bytes.unsafeSpan(0..<bytes.capacity) }
  }
  private let bytes: FixedBuffer<UInt8>

  init(_ arrival: Arrival, payload: Span<UInt8>) {
    self.arrival = arrival
    bytes = FixedBuffer(capacity: payload.count)
    bytes.store(payload, at: 0)
  }

  /// The most messages that are stored for a browser.
  ///
  /// Inferred: services are known to store a hundred.
  static let countMax = 100

  /// The longest time for which a notification is stored, in seconds.
  ///
  /// Inferred: the documents only say that the time is limited.
  static let secondsMax: Int64 = 28 * 86_400

  /// When the notification is dropped: UNIX seconds.
  var expiresAt: Int64 {
    let latest = arrival.acceptedMs / 1000 + Self.secondsMax
    guard let expiration = arrival.expiration else { return latest }
    return min(Int64(expiration), latest)
  }
}
