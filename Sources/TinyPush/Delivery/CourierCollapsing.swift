/// Replacing notifications with a `collapse-id` by newer ones that wait behind them.
///
/// A newer notification replaces an older one if both have the same ID and the same recipients.
/// Before the older one is sent, the courier searches the rest of its file and the waiting files,
/// as far as ``Survey/budget`` goes. Before it drops the older one, it verifies that the newer one
/// is still there. So the newest notification is always sent.
extension Courier {
  enum Collapse {
    case send
    case replaced
    case wants(Step)
  }

  /// Decides about a notification with a `collapse-id`, or returns the step that this needs.
  @inline(never)
  mutating func collapse(_ notification: Notification, of now: inout Reading) -> Collapse {
    let key = notification.collapseKey
    let offset = now.inputOffset + Int64(notification.object.lowerBound)
    var state = replacing.search(
      for: FilePlace(offset: offset, claim: now.claim, recipient: 0))
    defer { replacing.search = state }
    while true {
      switch state.stage {
      case .known, .found:
        if let entry = replacing.survey.entry(key) {
          if entry.file == claims[now.claim].identity, entry.offset > offset { return .replaced }
          if isToCome(entry, behind: now) {
            replacing.key = key
            return .wants(.verify)
          }
        }
        state.stage = state.hasSearched ? .cancelling : .own
      case .own:
        if replacing.survey.isReading { return .wants(.survey) }
        if replacing.survey.target == .own {
          now.surveyedTo = replacing.survey.isCut ? replacing.survey.offset : .max
        }
        state.stage = .waiting
        // Does anything follow in the same file?
        guard replacing.survey.target == nil, now.surveyedTo < .max, !isLast(notification, now)
        else {
          continue
        }
        state.stage = .own
        replacing.beginOwn(now.claim, at: max(offset, now.surveyedTo), claims)
        return .wants(.survey)
      case .waiting:
        if replacing.survey.isReading { return .wants(.survey) }
        if replacing.survey.budget > 0 {
          if replacing.survey.beginLate() { return .wants(.survey) }
          order.backlog.putInOrder()
          if replacing.survey.beginNext(of: order.backlog) { return .wants(.survey) }
          replacing.survey.passEnded()
        }
        state.hasSearched = true
        state.stage = .found
      case .verified(true): return .replaced
      case .verified(false):
        replacing.survey.remove(key)
        state.stage = state.hasSearched ? .cancelling : .own
      case .cancelling:
        state.stage = .settled
        guard later.mayContain(key) else { continue }
        later.beginCancelling(key, of: now.claim, claims)
        // The notification must survive a power cut before the ones that it replaces are removed.
        recorder.isUnsynced = true
        return .wants(.sync)
      case .settled: return .send
      }
    }
  }

  /// Whether a notification that the survey found in another file is later, and still to be sent.
  private func isToCome(_ entry: Survey.Entry, behind now: Reading) -> Bool {
    let (own, other) = (claims.name(now.claim), replacing.survey.name(of: entry.key))
    guard own.sorts(before: other), !LaterName.source(of: other).equals(LaterName.source(of: own)),
      !claims.contains(inode: entry.file.inode), stuck.held.want(of: entry.file) != .removal
    else { return false }
    // The delivered part of a file that is still there is not sent again.
    if let known = delivered.find(inode: entry.file.inode), !known.endsWithinText,
      entry.offset < known.content.bytes
    {
      return false
    }
    // A notification before the kept progress was settled before a restart.
    return progress.known(of: entry.file).map { $0.offset <= entry.offset && $0.recipient == 0 }
      ?? true
  }

  /// Whether only white space follows the notification in its file.
  private func isLast(_ notification: Notification, _ now: Reading) -> Bool {
    guard now.isWhole else { return false }
    for index in notification.object.upperBound..<now.inputBytes
    where reader.input[index] > .space {
      return false
    }
    return true
  }

  // MARK: - Results of steps

  /// The name of the file in `new/` to search, followed by a NUL.
  @_lifetime(borrow self)
  public func surveyName() -> Span<UInt8> { replacing.survey.fileName() }

  /// Where in the file to read from.
  public var surveyOffset: Int64 { replacing.survey.readOffset }
  /// Where to put the bytes read.
  public var surveyRoom: UnsafeMutableBufferPointer<UInt8> { replacing.survey.room }

  /// Takes more bytes of the searched file; with `isWhole` they end the file.
  public mutating func surveyed(_ identity: FileIdentity, bytes: Int, isWhole: Bool) {
    replacing.survey.filled(
      identity, bytes: bytes, isWhole: isWhole, settings.rules, &reader.findings)
  }

  /// Ends the search of a file that is gone or cannot be read.
  public mutating func couldNotSurvey() { replacing.survey.abandon() }

  /// The name of the file of the newer notification, followed by a NUL.
  @_lifetime(borrow self)
  public func verifiedName() -> Span<UInt8> { replacing.survey.name(of: replacing.key) }
  /// The identity that the file of the newer notification must have.
  public var verifiedIdentity: FileIdentity? { replacing.survey.entry(replacing.key)?.file }

  /// Records whether the file of the newer notification is still there.
  public mutating func verified(_ isThere: Bool) {
    replacing.verified(isThere)
  }
}
