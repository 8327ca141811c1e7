/// Notifications with a `collapse-id`: one of the same id and the same recipients that waits behind it in the spool replaces
/// it. Before the first is sent, what waits is looked through, as far as ``Survey/budget`` goes; and before one is passed over, the one that replaces it
/// is seen to be there still. So the last of them is always sent.
extension Courier {
  enum Collapse {
    case send
    case replaced
    case wants(Step)
  }

  /// What becomes of a notification with a `collapse-id`, or what must be done to find out.
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
        // Is anything behind it?
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
        // It outlives a power cut before the others go.
        recorder.isUnsynced = true
        return .wants(.sync)
      case .settled: return .send
      }
    }
  }

  /// Whether what the survey found in another file comes behind the present one, and is still to be sent.
  private func isToCome(_ entry: Survey.Entry, behind now: Reading) -> Bool {
    let (own, other) = (claims.name(now.claim), replacing.survey.name(of: entry.key))
    guard own.sorts(before: other), !LaterName.source(of: other).equals(LaterName.source(of: own)),
      !claims.contains(inode: entry.file.inode), stuck.held.want(of: entry.file) != .removal
    else { return false }
    // What was delivered of a file that is still there does not come again.
    if let known = delivered.find(inode: entry.file.inode), !known.endsWithinText,
      entry.offset < known.content.bytes
    {
      return false
    }
    // Before a restart it may have been sent.
    return progress.known(of: entry.file).map { $0.offset <= entry.offset && $0.recipient == 0 }
      ?? true
  }

  /// Whether nothing but white space follows it in its file.
  private func isLast(_ notification: Notification, _ now: Reading) -> Bool {
    guard now.isWhole else { return false }
    for index in notification.object.upperBound..<now.inputBytes
    where reader.input[index] > .space {
      return false
    }
    return true
  }

  // MARK: - Results of steps

  /// The name of the file in `new/` to look through or to look at, followed by a NUL.
  @_lifetime(borrow self)
  public func surveyName() -> Span<UInt8> { replacing.survey.fileName() }

  /// Where to read it from, and to where.
  public var surveyOffset: Int64 { replacing.survey.readOffset }
  public var surveyRoom: UnsafeMutableBufferPointer<UInt8> { replacing.survey.room }

  /// More of it is there; with `isWhole` it was all.
  public mutating func surveyed(_ identity: FileIdentity, bytes: Int, isWhole: Bool) {
    replacing.survey.filled(
      identity, bytes: bytes, isWhole: isWhole, settings.rules, &reader.findings)
  }

  /// It is gone, or cannot be read.
  public mutating func couldNotSurvey() { replacing.survey.abandon() }

  /// The file that is to replace a notification: its name, followed by a NUL, and which file it must be.
  @_lifetime(borrow self)
  public func verifiedName() -> Span<UInt8> { replacing.survey.name(of: replacing.key) }
  public var verifiedIdentity: FileIdentity? { replacing.survey.entry(replacing.key)?.file }

  /// Whether it is there still.
  public mutating func verified(_ isThere: Bool) {
    replacing.verified(isThere)
  }
}
