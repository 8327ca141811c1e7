/// How taken files leave, and how the name of a large one tells how far it is settled.
extension Courier {
  /// When to rename large files.
  struct Renaming {
    /// When to look at the large files; nil: nothing was settled since.
    private(set) var dueAt: Instant?
    /// The file that is being renamed, and how far it is settled.
    var present: (file: FileNumber, offset: Int64)?

    private static let interval = Duration.seconds(5)
    private static let retry = Duration.seconds(30)

    /// Notes that a message of a large file was settled.
    mutating func settled(at now: Instant) { dueAt = dueAt ?? now + Self.interval }

    /// Notes that all large files have their names.
    mutating func ended() { dueAt = nil }

    /// Notes that a file could not be renamed.
    mutating func failed(at now: Instant) { dueAt = now + Self.retry }
  }

  // MARK: - Leaving

  /// Returns the step that lets the next settled file leave, if any.
  @inline(never)
  mutating func leavingStep(isPatient: Bool) -> Step? {
    while let file = files.nextSettled {
      let state = files[file]
      guard state.fate != .isGone else {
        files.removeSettled()
        continue
      }
      guard !recorder.isUnsynced else { return isPatient ? nil : .sync }
      if state.fate == .unrecorded {
        let first = min(state.unrecordedFrom, state.cursor.offset)
        if let step = rename(file, settledTo: first) { return step }
        troubles.putOff(state.arrivalNs, at: time.now)
      } else if state.fate == .leaves, state.hasChanged, !isStopping {
        files.reopenSettled()
        continue
      } else if state.fate == .leaves, state.mayGrow {
        // What a program appends is delivered, until the program closes the file.
        if let step = rename(file, settledTo: state.cursor.offset) { return step }
        waiting.lingers(at: time.now)
      } else {
        name.set { files.appendTakenName(file, to: &$0) }
        return .remove
      }
      files.removeSettled()
    }
    return nil
  }

  /// The name that the settled file had in `new/`, followed by a NUL.
  @_lifetime(borrow self)
  public func settledName() -> Span<UInt8> { files.name(files.nextSettled!) }

  /// How many bytes the settled file had when its reading ended.
  public var settledBytes: Int64 { files[files.nextSettled!].cursor.offset }

  /// Whether the settled file cannot be read, so that it moves to `failed/`, however long it is.
  public var isSettledUnreadable: Bool { files[files.nextSettled!].fate == .isUnreadable }

  /// Whether the settled file is moved to `failed/` instead of removed.
  public var isSettledSetAside: Bool { files[files.nextSettled!].movesToFailed }

  /// Whether the sender of the settled file waits for its end.
  public var isSettledAwaited: Bool { files[files.nextSettled!].isAwaited }

  /// Handles the result of removing the settled file.
  public mutating func removed(_ result: RemovalResult) {
    switch result {
    case .removed:
      files.removeSettled()
      troubles.removed(&reports)
    case .grown: files.reopenSettled()
    case .failed:
      files.setSettledAside()
      troubles.couldNotRemove(at: time.now, &reports)
    }
  }

  // MARK: - Stragglers

  /// Returns the step that puts a waiting message into `later/` when notifications behind it in its
  /// file are settled: otherwise the next agent would send those again.
  ///
  /// That happens at a stop, and to a message that keeps a large file from getting a new name.
  @inline(never)
  mutating func stragglerStep(isEnding: Bool) -> Step? {
    guard isEnding || renaming.dueAt.map({ $0 <= time.now }) ?? false else { return nil }
    // While the clock is not set, nothing in later/ is due.
    while time.wallSeconds != nil, isEnding || later.count < Self.laterFilesMax,
      let message = straggler(isEnding: isEnding)
    {
      outbox.touch(outbox[message].text)
      decide(message, .postponed)
      // A notification that a newer one replaces needs no step.
      if let step = settlement(isPatient: false) { return step }
    }
    return nil
  }

  private func straggler(isEnding: Bool) -> MessageNumber? {
    outbox.firstWaiting { entry, text in
      let file = files[text.file]
      guard !text.isBeingRead, file.fate == .leaves, text.offset <= file.settledEnd else {
        return false
      }
      return isEnding
        || file.settledEnd - text.offset >= TakenFile.largeMin
          && (entry.until > time.now + Self.stragglerWait || isStuck(entry.lane))
    }
  }

  /// A message that must wait for longer does not stay in its large file.
  private static let stragglerWait = Duration.seconds(60)

  // MARK: - Names of large files

  /// Returns the step that renames a large file, every few seconds and at a stop.
  @inline(never)
  mutating func renameStep(isEnding: Bool) -> Step? {
    guard let due = renaming.dueAt, due <= time.now || isEnding else { return nil }
    var large: FileNumber?
    var offset: Int64 = 0
    files.forEach { file in
      let state = files[file]
      guard large == nil, state.size >= TakenFile.largeMin, state.fate != .isGone, !state.isStuck
      else { return }
      offset = firstUnsettled(of: file)
      if offset > files[file].settledTo { large = file }
    }
    guard let large else {
      renaming.ended()
      return nil
    }
    guard !recorder.isUnsynced else { return .sync }
    return rename(large, settledTo: offset)
  }

  /// Returns the offset of the first notification of a file that is not settled.
  private func firstUnsettled(of file: FileNumber) -> Int64 {
    var first = reader.loaded == file ? reader.cursorToKeep().offset : files[file].cursor.offset
    if files[file].isRead { first = files[file].cursor.offset }
    outbox.forEachText { _, text in if text.file == file { first = min(first, text.offset) } }
    return min(first, files[file].unrecordedFrom)
  }

  /// Returns the step that gives a file the name for an offset; nil: it has that name.
  private mutating func rename(_ file: FileNumber, settledTo offset: Int64) -> Step? {
    let state = files[file]
    guard state.settledTo != offset || state.isMarked != state.movesToFailed else { return nil }
    name.set { files.appendTakenName(file, to: &$0) }
    target.set { files.appendTakenName(file, offset: offset, to: &$0) }
    renaming.present = (file, offset)
    return .rename
  }

  /// Handles the result of renaming a file in `taken/`.
  public mutating func renamed(_ isRenamed: Bool) {
    guard let (file, offset) = renaming.present else { return }
    renaming.present = nil
    if isRenamed {
      files[file].settledTo = offset
      files[file].isMarked = files[file].movesToFailed
    } else if files.nextSettled == file {
      files.setSettledAside()
      troubles.couldNotRemove(at: time.now, &reports)
    } else if isStopping {
      // The next agent repeats what was settled since the name was given.
      renaming.ended()
    } else {
      renaming.failed(at: time.now)
    }
  }
}
