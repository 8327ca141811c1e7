import TinyPush

extension BinaryLink {
  /// The known outcomes of notifications in the window, which the courier has not taken yet.
  struct PendingOutcomes {
    /// How many notifications at the front of the window are accepted.
    var accepted: UInt32 = 0
    var isProved = false
    /// The rejection of the next notification.
    var rejection: Rejection?
    /// What becomes of the rest, which is returned or dropped.
    var rest: Rest?

    /// The number of notifications with a known outcome, without the rest.
    var decided: UInt32 { accepted + (rejection == nil ? 0 : 1) }
  }

  /// The recipients and payload sizes of the last notifications, by identifier.
  struct Recent: ~Copyable {
    static let capacity: UInt32 = 512
    private let tokens: FixedBuffer<UInt64>
    private let sizes: FixedBuffer<UInt16>
    /// The identifiers that an answer has proved, and that the courier has not taken yet.
    private var proved: Range<UInt32> = 0..<0
    private var newest: UInt32 = 0

    init(capacity: UInt32) {
      tokens = FixedBuffer(capacity: Int(capacity))
      sizes = FixedBuffer(capacity: Int(capacity))
    }

    func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
      body(tokens.bytes)
      body(sizes.bytes)
    }

    mutating func record(_ token: UInt64, payloadBytes: Int, _ id: UInt32) {
      tokens[Int(id % Self.capacity)] = token
      sizes[Int(id % Self.capacity)] = UInt16(clamping: payloadBytes)
      newest = id
    }

    /// Returns the size of a notification's payload; nil: it was overwritten.
    func payloadBytes(of id: UInt32) -> Int? {
      newest - min(id, newest) < Self.capacity ? Int(sizes[Int(id % Self.capacity)]) : nil
    }

    mutating func prove(_ ids: Range<UInt32>) {
      // Identifiers far below the newest one were overwritten.
      let first = max(ids.lowerBound, newest >= Self.capacity ? newest - Self.capacity + 1 : 0)
      proved = first..<max(first, ids.upperBound)
    }

    mutating func take() -> UInt64? {
      guard let id = proved.first else { return nil }
      proved = id + 1..<proved.upperBound
      return tokens[Int(id % Self.capacity)]
    }
  }

  /// Notifications that are refused without being sent, since the gateway refused a payload that is
  /// no larger.
  struct Oversized: ~Copyable {
    static let capacity = 32
    /// Every gateway takes payloads of this size: a refusal of a smaller one teaches nothing.
    private static let bytesOfAll = 256

    /// The size of the smallest payload that the gateway refused for its size.
    private(set) var limit = Int.max
    /// The notifications whose outcome the courier has not taken yet.
    var queue: Window

    init(capacity: Int) { queue = Window(capacity: capacity) }

    /// Records that the gateway refused a payload of this size for its size.
    mutating func learn(_ payloadBytes: Int) {
      if payloadBytes > Self.bytesOfAll { limit = min(limit, payloadBytes) }
    }
  }

  /// What becomes of the notifications that a connection left in the window.
  struct Rest {
    /// How many notifications at the front were passed to the socket.
    var attempted: UInt32
    /// Whether those may or may not have arrived.
    var isUncertain: Bool
    /// Why those are sent again.
    var cause: RetryCause
    /// Whether others go before them.
    var letsOthersGo = false
  }

  /// Why notifications stay in the window after their connection ended.
  ///
  /// The next connection sends only a barrier, whose answer decides about them.
  enum Kept {
    case nothing
    /// They arrived, and the gateway did not answer the barrier after them.
    case unanswered
    /// Connections died each time that this notification was the only one in flight.
    case isolated
  }

  /// The frame that the gateway must refuse, and how it answered such frames so far.
  struct Barrier {
    /// The identifier of the barrier in the batch or on the wire.
    var id: UInt32?
    var framedAt: Instant?
    /// How many barriers in a row had no answer before the connection ended.
    ///
    /// There may be other causes. So after two, a barrier is sent alone. After two more, no
    /// barriers are sent, and only time settles.
    var unanswered = 0
    /// Whether a barrier was answered, so that barriers are not what ends connections.
    var isReliable = false

    static let unansweredBeforeBarrierOnly = 2
    static let unansweredMax = 4
  }
}
