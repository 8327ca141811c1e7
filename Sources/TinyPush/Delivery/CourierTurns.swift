/// Choosing the file whose turn comes, and making room for it.
extension Courier {
  /// What to do after a part of the intake.
  enum Progression {
    case goOn
    /// The agent must do a step first.
    case wants(Step)
    /// Nothing more can be done in this turn.
    case stop
  }

  /// Offers what was read to the link, and reads more, as long as there is room.
  ///
  /// Returns a step that must be done first.
  @_optimize(speed)
  mutating func intake<L: Link & ~Copyable>(_ link: inout L) -> Step? {
    lanes.obstacles = .init(repeating: nil)
    lanes.roomAt = nil
    outbox.releaseDelayed(at: time.now)
    while true {
      offerWaiting(&link)
      if recorder.isPending { return recordStep() }
      if isStopping { return nil }
      if reader.file == nil {
        if let step = scanStep() { return step }
        guard !reader.isPaused(at: time.now), beginTurn(&link) else { return postponeStep(&link) }
        if reader.file == nil { return .read(.new) }
      }
      if reader.needsInput { return readStep() }
      switch readOn(&link) {
      case .goOn: break
      case .wants(let step): return step
      case .stop: endTurn()
      }
      if recorder.isPending { return recordStep() }
      if later.cancelKey != nil { return cancelStep() }
    }
  }

  // MARK: - Turns

  /// Returns the step that looks for files, or that brings one back from `later/`.
  @inline(never)
  private mutating func scanStep() -> Step? {
    if waiting.update(at: time.now, rescan: settings.rescan) { later.isScanWanted = true }
    if troubles.mustProbe(at: time.now) {
      recorder.probe()
      return recordStep()
    }
    if let at = turns.waitsUntil, at <= time.now { endWaits() }
    if let step = releaseStep() { return step }
    guard let directory = waiting.nextScan(at: time.now) else { return nil }
    if directory == .new { suppression.retry() }
    return .scan(directory)
  }

  /// Begins the turn of a file; returns whether there is one.
  ///
  /// A file in `new/` gets its number when it was taken: until then, the reader has none.
  private mutating func beginTurn<L: Link & ~Copyable>(_ link: inout L) -> Bool {
    link.select(.devices)
    // With several links, nobody knows for which one a file is.
    let isAhead =
      link.lanes == 1 && link.isOpen && outbox.waiting(in: .devices) >= Self.readAhead
    let mayTake = isWaiting && hasRoomForFile && !isAhead
    lanes.isHeldUp = false
    turns.isOfUnread.toggle()
    if turns.isOfUnread || !mayTake, let file = takeUnread(&link) {
      reader.begin(file, files[file].cursor)
      if reader.cursor.text != Outbox.none { resumeRecipients() }
      return true
    }
    guard mayTake else {
      if isWaiting || files.unreadCount > 0 { noteFull(link) }
      return false
    }
    // What was due in `later/` and what is new take turns.
    if waiting.taken.isEmpty || turns.wasReleased && !waiting.new.isEmpty {
      turns.wasReleased = false
      beginNew()
    } else {
      beginTaken()
    }
    return true
  }

  private var isWaiting: Bool { !waiting.taken.isEmpty || !waiting.new.isEmpty }

  private var hasRoomForFile: Bool { files.hasRoom && outbox.hasRoom(for: .small) }

  /// Notes that nothing more can be read before something is settled.
  mutating func noteFull<L: Link & ~Copyable>(_ link: borrowing L) {
    for lane in 0..<link.lanes { lanes.obstacles[lane] = lanes.obstacles[lane] ?? .windowFull }
  }

  /// Returns the next file that was read in part and may go on.
  private mutating func takeUnread<L: Link & ~Copyable>(_ link: inout L) -> FileNumber? {
    let hasRoom = outbox.hasRoom(for: .large)
    // Texts hold the room until all their recipients are read, for which no more room is needed.
    guard hasRoom || outbox.hasRoomForBrowser && outbox.textsBeingRead > 0 else { return nil }
    for _ in 0..<files.unreadCount {
      let file = files.takeUnread()!
      if hasRoom || files[file].cursor.text != Outbox.none, mayReadOn(file, &link) { return file }
      files.putUnread(file)
      // All files wait for the same link.
      if link.lanes == 1, hasRoom { return nil }
    }
    return nil
  }

  /// Whether more of a file that was read in part may be read.
  ///
  /// The link of its last message takes that at once: what waits there goes first. But messages that
  /// the link gave back may wait for ever, and must not hold up the rest of a file. Nor may a few
  /// messages to one of several services, since the rest may be for another one.
  mutating func mayReadOn<L: Link & ~Copyable>(
    _ file: FileNumber, _ link: inout L
  ) -> Bool {
    let lane = files[file].lane
    link.select(lane)
    guard link.isOpen, link.lanes == 1 || !isStuck(lane) else {
      if link.lanes > 1, outbox.waiting(in: lane) < Self.readAhead { return true }
      lanes.isHeldUp = true
      return false
    }
    guard let next = outbox.nextToSend(in: lane) else { return true }
    return (outbox[next].wasSent || link.lanes > 1) && outbox.waiting(in: lane) < Self.readAhead
  }

  // MARK: - Making room

  /// The most files in `later/` with which parts of files are put there: 128 MB of most disks.
  static let laterFilesMax = 32_768

  /// Whether a lane has messages and settles none, or far too few.
  func isStuck(_ lane: Lane) -> Bool {
    outbox.count(of: lane) > 0 && lanes.paces[lane.index].stuckAt <= time.now
  }

  /// Returns the step that makes room by putting a message of a stuck lane into `later/`.
  ///
  /// What could then be read may be for another lane. If there is one lane only, what waits until the
  /// service takes more for its device makes room for other devices.
  @inline(never)
  private mutating func postponeStep<L: Link & ~Copyable>(_ link: inout L) -> Step? {
    let isHeld = link.isOpen && outbox.nextToSend(in: .devices) == nil
    guard link.lanes > 1 || isHeld && !settings.isOnce,
      !recorder.isPending, lacksRoom(link)
    else { return nil }
    var most = 0
    var victim: MessageNumber?
    for number in 0..<link.lanes {
      let lane = Lane(number)
      let count = outbox.count(of: lane)
      guard isStuck(lane) else {
        if count > 0 { lanes.roomAt.include(lanes.paces[number].stuckAt) }
        continue
      }
      if count > most, let message = outbox.lastWaiting(in: lane) {
        (victim, most) = (message, count)
      }
    }
    guard let victim else { return nil }
    lanes.paces[outbox[victim].lane.index].giveUp()
    outbox.touch(outbox[victim].text)
    decide(victim, .postponed)
    return settlement(isPatient: true)
  }

  /// Whether something cannot be read before a message leaves the outbox.
  private func lacksRoom<L: Link & ~Copyable>(_ link: borrowing L) -> Bool {
    if isWaiting, !hasRoomForFile { return true }
    // Many lines of a large file would be as many files in `later/`.
    return files.unreadCount > 0 && (lanes.isHeldUp || !outbox.hasRoom(for: .large))
      && later.count < Self.laterFilesMax
  }

  private mutating func beginNew() {
    waiting.new.putInOrder()
    name.set { waiting.new.appendSmallest(to: &$0) }
    turns.isNewWhole = waiting.new.smallestCameWhole || SpoolName.isFromSend(name.bytes())
    waiting.new.removeSmallest()
  }

  /// Begins to read a file in `taken/`.
  private mutating func beginTaken() {
    waiting.taken.putInOrder()
    let known = TakenName(waiting.taken.smallest())!
    name.set { waiting.appendTakenSource(to: &$0) }
    waiting.taken.removeSmallest()
    turns.wasReleased = known.isReleased
    let arrivalNs =
      known.isReleased ? LaterName.arrivalNs(in: name.bytes()) : known.arrivalNs
    let number = files.append(
      name, arrivalNs: known.arrivalNs,
      Origin(arrivalNs: arrivalNs, hasWaited: known.isReleased),
      cameAt: cameAt(known.arrivalNs), offset: known.offset,
      mayGrow: !known.isReleased && !SpoolName.isFromSend(name.bytes()),
      movesToFailed: known.movesToFailed)
    reader.begin(number, files[number].cursor)
  }

  /// The most messages that wait for the link while more files are taken.
  private static let readAhead = 64

  func cameAt(_ arrivalNs: Int64) -> Int64 {
    arrivals.arrival(changeTimeNs: arrivalNs, time) ?? Int64(time.now.milliseconds)
  }

  /// Whether a file was not changed for a time, as far as the clock tells.
  public func isUnchanged(since changeTimeNs: Int64, for duration: Duration) -> Bool {
    guard let at = arrivals.arrival(changeTimeNs: changeTimeNs, time) else { return false }
    return Int64(time.now.milliseconds) - at >= Int64(duration.milliseconds)
  }

  /// Ends the turn of a file that was read in part.
  mutating func endTurn() {
    guard let file = reader.file else { return }
    files[file].cursor = reader.cursorToKeep()
    reader.end()
    files.putUnread(file)
  }

  /// Lets a file wait, and end its turn.
  mutating func wait(until instant: Instant) {
    guard let file = reader.file else { return }
    if reader.cursor.waitsSince == nil { reader.cursor.waitsSince = time.now }
    files[file].cursor = reader.cursorToKeep()
    reader.close()
    files[file].isWaiting = true
    turns.waitsUntil.include(instant)
  }

  /// Ends the waits of all files: each that must wait longer begins another wait.
  mutating func endWaits() {
    turns.waitsUntil = nil
    files.endWaits()
  }
}
