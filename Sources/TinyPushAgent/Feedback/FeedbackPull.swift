import CLinux
import CMbed
import TinyPush
import TinyPushBinary

/// Asks the feedback service which devices are gone, and merges them into the suppression list.
///
/// Reading deletes the list at the service. So received entries are on disk before more are read,
/// and stay there until this or a later pull merges them. This works with and without an agent.
public struct FeedbackPull: ~Copyable {
  private let pinned = Pinned()
  /// Takes a device's token, when the app was found gone, and the result of the merge.
  public typealias Learn = (Span<UInt8>, UInt32, SuppressionMerge.Outcome) -> Void

  /// The numbers of a pull.
  public struct Sums {
    /// The number of bytes from the service.
    public var bytes: UInt64 = 0
    /// The number of tuples from the service.
    public var received: UInt64 = 0
    /// The number of devices that were merged, including those that an earlier pull received.
    public var devices: UInt64 = 0
    /// The number of devices that were not suppressed before.
    public var new: UInt64 = 0
    /// The number of devices that were registered later.
    public var registered: UInt64 = 0
    /// The number of tuples with an empty token.
    public var empty: UInt64 = 0
    /// The number of tuples with a future time, for which the current time was used.
    public var future: UInt64 = 0
    /// The number of suppressed tokens after the merge.
    public var suppressed: UInt64 = 0
    /// Whether anything was merged; otherwise ``suppressed`` is unknown.
    public var isMerged = false
  }

  /// The most bytes that are read; the list of a million devices is smaller.
  private static let bytesMax: UInt64 = 64 << 20
  /// The most time for a pull, as a multiple of the longest silence.
  private static let patience: UInt64 = 60
  /// The most bytes that are received before they are synced.
  private static let unsyncedMax = ReceivedFile.pieceBytes

  /// The path of the list's directory for messages.
  private let path: CString
  private let store: SuppressionDirectory
  /// The numbers of this pull.
  public private(set) var sums = Sums()
  /// What is wrong and what to do.
  public private(set) var problem = Text(capacity: 1024)
  /// A warning about something else.
  public private(set) var warning = Text(capacity: 1024)
  private var progress = ProgressBar(isWanted: true)

  /// Opens the directory of the suppression list.
  ///
  /// - Parameter message: on failure, what is wrong, where, and what to do.
  public init(_ config: borrowing Config, message: inout Text) throws(ExitStatus) {
    store = try SuppressionDirectory(config.state.pointer, message: &message)
    path = CString(config.state.span)
  }

  @inline(never)
  deinit {}

  private var directory: Int32 { store.directory.number }

  /// Pulls once, and calls `body` with each device.
  ///
  /// The devices are in the order of their tokens within each 262,144.
  public mutating func run(
    _ config: borrowing Config, _ body: Learn
  ) -> ExitStatus {
    guard config.courier.rules.pushProtocol == .binary else { return .ok }
    var error: Int32 = 0
    guard var received = ReceivedFile(in: directory, error: &error) else {
      if error == EWOULDBLOCK {
        problem.append("another pull has not ended: try again when it has")
        return .tryLater
      }
      return failToKeep(error, "; nothing was read from the feedback service")
    }
    // Entries of an earlier pull come first, because they may leave no room for more.
    var status = merge(received, body)
    guard status == .ok else { return status }
    status = receive(&received, config)
    progress.clear()
    let merged = merge(received, body)
    return merged == .ok ? status : merged
  }

  // MARK: - Receiving

  private mutating func receive(
    _ received: inout ReceivedFile, _ config: borrowing Config
  ) -> ExitStatus {
    var error = received.reserve()
    guard error == 0 else {
      return failToKeep(error, "; nothing was read from the feedback service")
    }
    var address = Text(capacity: 300)
    config.feedbackAddress(in: &address)
    var connection = TLSConnection(
      address: address.bytes, port: Config.feedbackPort, config)
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    defer { close(epoll) }
    guard connection.connect(epoll: epoll, config: config) else {
      return fail(&connection, address)
    }
    var reader = FeedbackReader()
    var unsynced = 0
    let end =
      Clock.now() + .milliseconds(config.feedbackTimeout.milliseconds * Self.patience)
    var status = ExitStatus.ok
    receiving: while true {
      error = received.reserve()
      guard error == 0 else { break }
      let result = connection.read(received.room)
      switch result {
      case 1...:
        error = received.append(Int(result))
        guard error == 0 else { break receiving }
        take(received.room, Int(result), &reader)
        unsynced += Int(result)
        if unsynced >= Self.unsyncedMax {
          error = received.sync()
          unsynced = 0
        }
        if error == 0, sums.bytes >= Self.bytesMax {
          status = giveUp(address, "has sent 64 MB and does not end")
        }
      case Int32(CMBED_WANT_READ):
        // Synced before more is read.
        error = received.sync()
        unsynced = 0
        if error == 0,
          !(connection.hasMore
            ? Clock.now() < end
            : wait(epoll, until: end, silence: config.feedbackTimeout))
        {
          status = giveUp(address, "does not close the connection")
        }
      case Int32(CMBED_CLOSED):
        if reader.isCut { status = giveUp(address, "closed within an entry") }
        if status == .ok { break receiving }
      default:
        status = sums.bytes == 0 ? fail(&connection, address) : broke(&connection, address)
      }
      if error != 0 || status != .ok { break }
    }
    connection.hangUp(epoll: epoll, closeNotify: true)
    if error == 0 { error = received.sync() }
    guard error == 0 else { return failToKeep(error, "; the entries read before that are kept") }
    return status
  }

  private mutating func take(
    _ room: UnsafeMutableBufferPointer<UInt8>, _ count: Int, _ reader: inout FeedbackReader
  ) {
    sums.bytes += UInt64(count)
    let bytes = Span(_unsafeStart: UnsafePointer(room.baseAddress!), count: count)
    var place = 0
    while reader.next(in: bytes, at: &place) { sums.received += 1 }
    progress.show(received: sums.received)
  }

  /// Waits for the connection; returns false if the service was silent for too long.
  private func wait(_ epoll: Int32, until end: Instant, silence: Duration) -> Bool {
    let silenceEnd = Clock.now() + silence
    while true {
      let until = end < silenceEnd ? end : silenceEnd
      guard Clock.now() < until else { return false }
      var event = epoll_event()
      let left = Int32(clamping: Clock.now().until(until).milliseconds)
      if epoll_wait(epoll, &event, 1, max(left, 1)) > 0 { return Clock.now() < end }
    }
  }

  // MARK: - Merging

  /// Merges the received entries, if there are any.
  private mutating func merge(
    _ received: borrowing ReceivedFile, _ body: Learn
  ) -> ExitStatus {
    var merge = SuppressionMerge(directory)
    let count = take(received, into: &merge, body)
    guard count != 0 else { return .ok }
    finish(&merge, body)
    if merge.wasDamaged {
      warning.append("the suppression list in ", printable: CString.span(path.pointer))
      warning.append(SuppressionDirectory.setAside)
    }
    let error = count < 0 ? Int32(-count) : merge.error
    guard error == 0 else {
      return failToKeep(
        error, "; the received entries are kept there, and the next pull merges them")
    }
    sums.suppressed = merge.total
    sums.isMerged = true
    received.clear()
    return .ok
  }

  /// Merges the collected changes, unless a merge failed.
  private mutating func finish(_ merge: inout SuppressionMerge, _ body: Learn) {
    guard merge.error == 0 else { return }
    _ = merge.finish(isWhole: true) { token, time, outcome in
      count(outcome)
      body(token, time, outcome)
    }
  }

  /// Adds the received entries to a merge; returns the number of their bytes, or -errno.
  private mutating func take(
    _ received: borrowing ReceivedFile, into merge: inout SuppressionMerge, _ body: Learn
  ) -> Int {
    var reader = FeedbackReader()
    let now = Clock.time().wallSeconds.map { UInt32(clamping: $0) }
    return received.read { bytes in
      var place = 0
      while merge.error == 0, reader.next(in: bytes, at: &place) {
        var time = reader.timestamp
        if let now, time > now {
          // A future time would override every registration until then.
          time = now
          sums.future += 1
        }
        if reader.token.count == 0 {
          sums.empty += 1
        } else {
          let token = TokenIdentity(of: reader.token)
          if merge.isFull { finish(&merge, body) }
          guard merge.error == 0 else { return }
          merge.add(SuppressionRecord(token: token, time: time, reason: .feedback))
        }
      }
    }
  }

  private mutating func count(_ outcome: SuppressionMerge.Outcome) {
    sums.devices += 1
    switch outcome {
    case .new: sums.new += 1
    case .registered, .returned: sums.registered += 1
    case .known, .forgotten: break
    }
  }

  // MARK: - Words

  @inline(never)
  private mutating func failToKeep(_ error: Int32, _ more: StaticString) -> ExitStatus {
    problem.clear()
    let status = SuppressionDirectory.explain(error, path.pointer, in: &problem)
    problem.append(more)
    return status
  }

  @inline(never)
  private mutating func fail(
    _ connection: inout TLSConnection, _ address: borrowing Text
  ) -> ExitStatus {
    problem.clear()
    problem.append("no feedback from ", printable: address.bytes, ": ")
    problem.append(bytes: connection.problem.bytes)
    return connection.isOurFault ? .config : .unavailable
  }

  private mutating func broke(
    _ connection: inout TLSConnection, _ address: borrowing Text
  ) -> ExitStatus {
    _ = fail(&connection, address)
    problem.append("; the entries received before that are kept")
    return .tryLater
  }

  @inline(never)
  private mutating func giveUp(_ address: borrowing Text, _ why: StaticString) -> ExitStatus {
    problem.clear()
    problem.append("the feedback service at ", printable: address.bytes, " ")
    problem.append(why)
    problem.append(": the received entries are kept, and the next pull asks for the rest")
    return .tryLater
  }
}
