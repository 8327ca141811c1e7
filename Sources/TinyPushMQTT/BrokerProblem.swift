import TinyPush

/// Why a connection to a broker cannot be used any longer.
public enum BrokerProblem: Error, Equatable {
  /// The broker refused the connection; a reason code of CONNACK (section 3.2.2.2).
  case refused(UInt8)
  /// The broker ended the connection; a reason code of DISCONNECT (section 3.14.2.1).
  case disconnected(UInt8)
  /// The broker refused a subscription; a reason code of SUBACK (section 3.9.3).
  case notSubscribed(UInt8)
  /// The broker offers no QoS 1, and so no acknowledgements.
  case lacksAcknowledgements
  /// The broker broke the protocol.
  case malformed(Fault)
  /// The broker did not answer in time.
  case silent

  /// Ways to break the protocol.
  public enum Fault: Equatable, Sendable {
    case packetKind(UInt8)
    case packetBytes(Int)
    case length
    case content(UInt8)
    case outOfTurn(UInt8)
    case tooManyOpen
    case quality
    case alias
  }

  /// The reason code that a DISCONNECT to the broker names; nil: nothing is sent.
  var answer: UInt8? {
    switch self {
    case .malformed(.packetBytes): 0x95
    case .malformed(.tooManyOpen): 0x93
    case .malformed(.outOfTurn): 0x82
    case .malformed(.quality): 0x9B
    case .malformed(.alias): 0x94
    case .malformed: 0x81
    case .silent: 0x8D
    case .notSubscribed, .lacksAcknowledgements: 0x00
    case .refused, .disconnected: nil
    }
  }

  /// Whether the broker speaks another version of the protocol.
  public var isOfVersion: Bool {
    switch self {
    case .refused(let code): (0x01...0x05).contains(code) || code == 0x84
    default: false
    }
  }

  /// Whether only a change of the configuration can help.
  public var isConfiguration: Bool {
    switch self {
    case .refused(let code):
      // MQTT 3.1.1, not supported, client identifier, user or password, authorization, banned,
      // authentication method, QoS, retain.
      switch code {
      case 0x01...0x05, 0x84, 0x85, 0x86, 0x87, 0x8A, 0x8C, 0x9A, 0x9B: true
      default: false
      }
    case .notSubscribed, .lacksAcknowledgements: true
    case .disconnected(let code): code == 0x87
    case .malformed, .silent: false
    }
  }

  /// Appends the problem in words, with what to do.
  @inline(never)
  public func append(to text: inout Text) {
    switch self {
    case .refused(let code):
      text.append("the broker refused the connection: ")
      Self.append(code, to: &text)
    case .disconnected(let code):
      text.append("the broker ended the connection: ")
      Self.append(code, to: &text)
    case .notSubscribed(let code):
      text.append("the broker refused a subscription: ")
      Self.append(code, to: &text)
    case .lacksAcknowledgements:
      text.append(
        "the broker does not offer QoS 1: without acknowledgements messages would be lost")
    case .malformed(let fault):
      text.append("unexpected bytes from the broker: ")
      switch fault {
      case .packetKind(let byte): text.append("a packet that begins with byte ", byte)
      case .packetBytes(let bytes): text.append("a packet of ", bytes, " bytes")
      case .length: text.append("a packet whose length is wrong")
      case .content(let kind): text.append("a malformed packet of kind ", kind)
      case .outOfTurn(let kind): text.append("a packet of kind ", kind, " out of turn")
      case .tooManyOpen: text.append("more messages at a time than were allowed")
      case .quality: text.append("a message with QoS 2, for which no subscription asks")
      case .alias: text.append("a topic alias, which was not offered")
      }
    case .silent: text.append("the broker did not answer in time")
    }
  }

  /// Appends a reason code (section 2.4) in words.
  @inline(never)
  public static func append(_ code: UInt8, to text: inout Text) {
    let words: StaticString
    switch code {
    case 0x82: words = "protocol error"
    case 0x83: words = "error of the broker's own"
    // A broker of MQTT 3.1.1 answers with a return code of its own.
    case 0x01...0x05, 0x84: words = "it does not speak this version of MQTT"
    case 0x85: words = "it does not accept the client ID: set client-id"
    case 0x86: words = "it does not accept the user name or the password: correct user and password"
    case 0x87:
      words =
        "not authorized: correct user and password, or allow this client to subscribe and publish"
    case 0x88: words = "it is not available"
    case 0x89: words = "it is busy"
    case 0x8A: words = "it has banned this client"
    case 0x8B: words = "it is shutting down"
    case 0x8D: words = "it heard nothing from this client in time"
    case 0x8E:
      words =
        "another client uses the same client ID: set client-id, which must differ on each machine"
    case 0x8F: words = "it does not accept the topic filter: correct subscribe"
    case 0x93: words = "too many unanswered messages"
    case 0x95: words = "a packet is too large"
    case 0x97: words = "a quota is exceeded"
    case 0x98: words = "an administrator ended it"
    case 0x9A: words = "it does not offer retained messages: remove fleet"
    case 0x9C, 0x9D: words = "it names another server: correct broker"
    case 0x9E: words = "it does not offer shared subscriptions: remove $share/GROUP/ from subscribe"
    case 0x9F: words = "connections come too fast"
    case 0xA2: words = "it does not offer wildcards: remove + and # from subscribe"
    default: words = ""
    }
    if words.utf8CodeUnitCount > 0 {
      text.append(words)
    } else {
      text.append("reason code ", code)
    }
  }
}
