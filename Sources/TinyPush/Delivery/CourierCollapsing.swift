/// Notifications with a `collapse-id`: one of the same id and the same recipients that waits behind it in the spool replaces
/// it. Before the first is sent, what waits is looked through, as far as ``Survey/budget`` goes; and before one is passed over, the one that replaces it
/// is seen to be there still. So the last of them is always sent.
extension Courier {
  /// How far it is known of the notification that is being read whether it is replaced.
  struct Collapsing {
    enum Stage {
      /// What was found before may replace it.
      case known
      /// The rest of its own file, and then what waits, is looked through, as far as the budget goes.
      case own, waiting
      /// What was found may replace it.
      case found
      /// The one that replaces it was looked at once more: whether it was there.
      case verified(Bool)
      /// Nothing that waits replaces it: what it replaces itself is removed from `later/`.
      case cancelling
      case settled
    }

    var place: FilePlace
    var stage = Stage.known
    /// All was looked through that is to be.
    var hasLooked = false
  }

  enum Collapse {
    case send
    case replaced
    case wants(Step)
  }

  /// What becomes of a notification with a `collapse-id`, or what must be done to find out.
  mutating func collapse(_ notification: Notification, of now: inout Reading) -> Collapse {
    let key = notification.collapseKey
    let offset = now.inputOffset + Int64(notification.object.lowerBound)
    let place = FilePlace(claim: now.claim, offset: offset, recipient: 0)
    var state = collapsing ?? Collapsing(place: place)
    if state.place != place || collapsing == nil {
      state = Collapsing(place: place)
      survey.start()
    }
    defer { collapsing = state }
    while true {
      switch state.stage {
      case .known, .found:
        if let entry = survey.entry(key) {
          if entry.file == claims[now.claim].identity, entry.offset > offset { return .replaced }
          if isToCome(entry, behind: now) {
            collapsingKey = key
            return .wants(.verify)
          }
        }
        state.stage = state.hasLooked ? .cancelling : .own
      case .own:
        if survey.isReading { return .wants(.survey) }
        if survey.target == .own { now.surveyedTo = survey.isCut ? survey.offset : .max }
        state.stage = .waiting
        // Is anything behind it?
        guard survey.target == nil, now.surveyedTo < .max, !isLast(notification, now) else {
          continue
        }
        state.stage = .own
        survey.begin(claims.name(now.claim), at: max(offset, now.surveyedTo), .own)
        return .wants(.survey)
      case .waiting:
        if survey.isReading { return .wants(.survey) }
        if survey.budget > 0 {
          if survey.beginLate() { return .wants(.survey) }
          backlog.putInOrder()
          if let next = backlog.next(after: survey.through()) {
            survey.beginWaiting(next)
            return .wants(.survey)
          }
          survey.passEnded()
        }
        state.hasLooked = true
        state.stage = .found
      case .verified(true): return .replaced
      case .verified(false):
        survey.remove(key)
        state.stage = state.hasLooked ? .cancelling : .own
      case .cancelling:
        state.stage = .settled
        guard isInLater(key) else { continue }
        cancelKey = key
        cancelName.clear()
        cancelName.append(bytes: claims.name(now.claim))
        // It outlives a power cut before the others go.
        isRecordUnsynced = true
        return .wants(.sync)
      case .settled: return .send
      }
    }
  }

  /// Whether what the survey found in another file comes behind the present one, and is still to be sent.
  private func isToCome(_ entry: Survey.Entry, behind now: Reading) -> Bool {
    let (own, other) = (claims.name(now.claim), survey.name(of: entry.key))
    guard own.sorts(before: other), !LaterName.source(of: other).equals(LaterName.source(of: own)),
      !claims.contains(inode: entry.file.inode), held.want(of: entry.file) != .removal
    else { return false }
    // Before a restart it may have been sent.
    return settledBefore(entry.file).map { $0.offset <= entry.offset && $0.recipient == 0 } ?? true
  }

  /// Whether nothing but white space follows it in its file.
  private func isLast(_ notification: Notification, _ now: Reading) -> Bool {
    guard now.isWhole else { return false }
    for index in notification.object.upperBound..<now.inputBytes where input[index] > 0x20 {
      return false
    }
    return true
  }

  // MARK: - Results of steps

  /// The name of the file in `new/` to look through or to look at, followed by a NUL.
  @_lifetime(borrow self)
  public func surveyName() -> Span<UInt8> { survey.fileName() }

  /// Where to read it from, and to where.
  public var surveyOffset: Int64 { survey.readOffset }
  public var surveyRoom: UnsafeMutableBufferPointer<UInt8> { survey.room }

  /// More of it is there; with `isWhole` it was all.
  public mutating func surveyed(_ identity: FileIdentity, bytes: Int, isWhole: Bool) {
    survey.filled(identity, bytes: bytes, isWhole: isWhole, settings.rules, &findings)
  }

  /// It is gone, or cannot be read.
  public mutating func couldNotSurvey() { survey.abandon() }

  /// The file that is to replace a notification: its name, followed by a NUL, and which file it must be.
  @_lifetime(borrow self)
  public func verifiedName() -> Span<UInt8> { survey.name(of: collapsingKey) }
  public var verifiedIdentity: FileIdentity? { survey.entry(collapsingKey)?.file }

  /// Whether it is there still.
  public mutating func verified(_ isThere: Bool) {
    collapsing?.stage = .verified(isThere)
  }
}
