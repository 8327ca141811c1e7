extension BinaryLink {
  /// What is known of the notifications in the window and was not told yet, counted from the front.
  struct PendingOutcomes {
    /// The first so many are accepted.
    var accepted: UInt32 = 0
    var isProved = false
    /// The next one is rejected.
    var rejection: Rejection?
    /// The rest goes back to the courier, or is dropped.
    var rest: Rest?

    /// Those of which something is known, but for the rest.
    var decided: UInt32 { accepted + (rejection == nil ? 0 : 1) }
  }

  /// To whom the last notifications went, by their identifiers.
  struct Recipients: ~Copyable {
    static let capacity: UInt32 = 512
    let tokens: FixedBuffer<UInt64>
    /// Identifiers that an answer has proved, and that were not told yet.
    private var proved: Range<UInt32> = 0..<0
    private var newest: UInt32 = 0

    init(capacity: UInt32) { tokens = FixedBuffer(capacity: Int(capacity)) }

    mutating func record(_ token: UInt64, _ id: UInt32) {
      tokens[Int(id % Self.capacity)] = token
      newest = id
    }

    mutating func prove(_ ids: Range<UInt32>) {
      // Those long before the newest one are forgotten.
      let first = max(ids.lowerBound, newest >= Self.capacity ? newest - Self.capacity + 1 : 0)
      proved = first..<max(first, ids.upperBound)
    }

    mutating func take() -> UInt64? {
      guard let id = proved.first else { return nil }
      proved = id + 1..<proved.upperBound
      return tokens[Int(id % Self.capacity)]
    }
  }

  /// What becomes of the notifications that a connection leaves behind.
  struct Rest {
    /// So many of them, from the front, were given to the socket.
    var attempted: UInt32
    /// Nobody knows whether those arrived.
    var isUncertain: Bool
    /// Why those go again.
    var cause: RetryCause
  }

  /// Notifications that stay in the window when their connection ends, and wait for what a barrier shows that goes alone on
  /// the next one.
  enum Kept {
    case nothing
    /// They arrived, and the gateway did not answer the barrier behind them.
    case unanswered
    /// Connections ended each time that this one was sent alone.
    case isolated
  }

  /// The frame that the gateway must refuse, and what is known of how it takes such frames.
  struct Barrier {
    /// Of the one that is on its way, or in the batch.
    var id: UInt32?
    var framedAt: Instant?
    /// Barriers in a row with which the connection ended, and no answer came. That may have had other causes: after two, one
    /// goes alone; and when two of those got no answer either, no more are sent, and only time settles.
    var unanswered = 0
    /// One has been answered: it is not the barriers at which connections end.
    var isReliable = false

    static let unansweredBeforeBarrierOnly = 2
    static let unansweredMax = 4
  }
}
