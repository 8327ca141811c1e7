import CLinux
import TinyPush

/// Changes of the suppression list that somebody asks for, and what is in it. Works beside an agent, which takes them up by
/// itself.
public struct TokenChanges: ~Copyable {
  private let store: SuppressionDirectory
  private var merge: SuppressionMerge
  private var known: SuppressedTokens

  /// - Parameter message: on failure, what is wrong, where, and what to do.
  public init(_ path: UnsafePointer<CChar>, message: inout Text) throws(ExitStatus) {
    store = try SuppressionDirectory(path, message: &message)
    merge = SuppressionMerge(store.directory.number)
    known = SuppressedTokens(path)
  }

  @inline(never)
  deinit {}

  public mutating func add(_ record: SuppressionRecord) { merge.add(record) }

  /// The time of a change that is made at `now`, in UNIX seconds, such that it holds against all that is known of the same
  /// second. Changes of that second before may have been given a time to come.
  ///
  /// - Parameter isRegistration: of the same second, a registration holds against the others.
  public mutating func time(
    of token: DeviceToken, isRegistration: Bool, now: UInt32
  ) -> UInt32 {
    guard let known = known.find(token), known.time >= now, known.time - now < 60 else {
      return now
    }
    return isRegistration ? known.time : known.time + 1
  }

  /// `false` when there are too many for once.
  public mutating func forget(_ token: DeviceToken) -> Bool { merge.forget(token) }

  /// Makes the changes. `body` is told what came of each, in the order of the tokens.
  ///
  /// - Returns: 0, or the errno for which nothing has changed.
  public mutating func finish(
    _ body: (SuppressionRecord, SuppressionMerge.Outcome) -> Void
  ) -> Int32 {
    let lock = Descriptor.lock(store.directory.number, isPatient: true)
    guard lock != nil else { return clinux_errno() }
    _ = merge.finish(isWhole: false, body)
    extendLifetime(lock)
    return merge.error
  }

  /// Whether the list was damaged, and is made anew.
  public var wasDamaged: Bool { merge.wasDamaged }
}

extension SuppressionDirectory {
  /// What the list came to.
  public enum Listing {
    case whole
    /// Something in it cannot be read.
    case damaged
    case failed(Int32)
  }

  /// Everything that is known: tokens of the usual size in their order, and then the others.
  public func list(
    _ body: (Span<UInt8>, SuppressionRecord.Reason, UInt32) -> Void
  ) -> Listing {
    var error: Int32 = 0
    guard let (recent, list) = sources(error: &error) else { return .failed(error) }
    var queue = MergeQueue(sources: 2)
    if let record = recent?.nextRecord() { queue.add(record, from: 0) }
    if let record = list?.nextRecord() { queue.add(record, from: 1) }
    while let first = queue.head {
      var known = first.record
      while let head = queue.head, head.record.token == first.record.token {
        if head.record.outweighs(known) { known = head.record }
        queue.replaceHead(head.source == 0 ? recent?.nextRecord() : list?.nextRecord())
      }
      body(known.token.bytes.span, known.reason, known.time)
    }
    list?.readOthers(body)
    return recent?.isDamaged == true || list?.isDamaged == true ? .damaged : .whole
  }

  /// Says why nothing can be kept there.
  public static func explain(
    errno: Int32, _ path: UnsafePointer<CChar>, in text: inout Text
  ) -> ExitStatus {
    explain(errno, path, in: &text)
    return errno == EACCES || errno == EPERM ? .noPermission : .inputOutput
  }
}
