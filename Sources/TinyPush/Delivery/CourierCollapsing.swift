/// Notifications with a `collapse-id`: one of the same id and the same recipients that waits behind it in the spool replaces
/// it. Before the first is sent, what waits is looked through; and before one is passed over, the one that replaces it
/// is seen to be there still. So the last of them is always sent.
extension Courier {
  /// How far it is known of the notification that is being read whether it is replaced.
  struct Collapsing {
    enum Stage {
      /// The rest of its own file, and then what waits, is looked through.
      case own, waiting
      /// The one that replaces it is looked at once more; and whether it was there.
      case verifying
      case verified(Bool)
      /// Nothing that waits replaces it: what it replaces itself is removed from `later/`.
      case cancelling
      case settled
    }

    var place: FilePlace
    var stage = Stage.own
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
      survey.abandon()
      isSurveyingWaiting = false
    }
    defer { collapsing = state }
    while true {
      switch state.stage {
      case .own:
        if survey.isReading { return .wants(.survey) }
        state.stage = .waiting
        // Is anything behind it?
        guard !now.isSurveyed, !isLast(notification, now) else { continue }
        now.isSurveyed = true
        survey.begin(claims.name(now.claim), at: offset)
        return .wants(.survey)
      case .waiting:
        if survey.isReading { return .wants(.survey) }
        if isSurveyingWaiting {
          survey.passed()
          isSurveyingWaiting = false
        }
        backlog.putInOrder()
        guard let next = backlog.next(after: survey.through()) else {
          state.stage = .verifying
          continue
        }
        survey.begin(next)
        isSurveyingWaiting = true
        return .wants(.survey)
      case .verifying:
        guard let entry = survey.entry(key) else {
          state.stage = .cancelling
          continue
        }
        if entry.file == claims[now.claim].identity, entry.offset > offset { return .replaced }
        guard isToCome(entry, behind: now) else {
          survey.remove(key)
          state.stage = .cancelling
          continue
        }
        collapsingKey = key
        return .wants(.verify)
      case .verified(true): return .replaced
      case .verified(false):
        survey.remove(key)
        state.stage = .cancelling
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
