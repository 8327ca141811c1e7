/// Choosing the file whose turn comes, and reading it.
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
    obstacles = .init(repeating: nil)
    roomAt = nil
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
    if let at = nextWaitAt, at <= time.now { endWaits() }
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
    isHeldUp = false
    isTurnOfUnread.toggle()
    if isTurnOfUnread || !mayTake, let file = takeUnread(&link) {
      reader.begin(file, files[file].cursor)
      if reader.cursor.text != Outbox.none { resumeRecipients() }
      return true
    }
    guard mayTake else {
      if isWaiting || files.unreadCount > 0 { isFull(link) }
      return false
    }
    // What was due in `later/` and what is new take turns.
    if waiting.taken.isEmpty || wasReleased && !waiting.new.isEmpty {
      wasReleased = false
      beginNew()
    } else {
      beginTaken()
    }
    return true
  }

  private var isWaiting: Bool { !waiting.taken.isEmpty || !waiting.new.isEmpty }

  private var hasRoomForFile: Bool { files.hasRoom && outbox.hasRoom(for: .small) }

  /// Notes that nothing more can be read before something is settled.
  private mutating func isFull<L: Link & ~Copyable>(_ link: borrowing L) {
    for lane in 0..<link.lanes { obstacles[lane] = obstacles[lane] ?? .windowFull }
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
  private mutating func mayReadOn<L: Link & ~Copyable>(
    _ file: FileNumber, _ link: inout L
  ) -> Bool {
    let lane = files[file].lane
    link.select(lane)
    guard link.isOpen, link.lanes == 1 || !isStuck(lane) else {
      if link.lanes > 1, outbox.waiting(in: lane) < Self.readAhead { return true }
      isHeldUp = true
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
    outbox.count(of: lane) > 0 && paces[lane.index].stuckAt <= time.now
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
        if count > 0 { roomAt.include(paces[number].stuckAt) }
        continue
      }
      if count > most, let message = outbox.lastWaiting(in: lane) {
        (victim, most) = (message, count)
      }
    }
    guard let victim else { return nil }
    paces[outbox[victim].lane.index].giveUp()
    outbox.touch(outbox[victim].text)
    decide(victim, .postponed)
    return settlement(isPatient: true)
  }

  /// Whether something cannot be read before a message leaves the outbox.
  private func lacksRoom<L: Link & ~Copyable>(_ link: borrowing L) -> Bool {
    if isWaiting, !hasRoomForFile { return true }
    // Many lines of a large file would be as many files in `later/`.
    return files.unreadCount > 0 && (isHeldUp || !outbox.hasRoom(for: .large))
      && later.count < Self.laterFilesMax
  }

  private mutating func beginNew() {
    waiting.new.putInOrder()
    name.set { waiting.new.appendSmallest(to: &$0) }
    isNewWhole = waiting.new.smallestCameWhole || SpoolName.isFromSend(name.bytes())
    waiting.new.removeSmallest()
  }

  /// Begins to read a file in `taken/`.
  private mutating func beginTaken() {
    waiting.taken.putInOrder()
    let known = TakenName(waiting.taken.smallest())!
    name.set { waiting.appendTakenSource(to: &$0) }
    waiting.taken.removeSmallest()
    wasReleased = known.isReleased
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

  private func cameAt(_ arrivalNs: Int64) -> Int64 {
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
    nextWaitAt.include(instant)
  }

  /// Ends the waits of all files: each that must wait longer begins another wait.
  mutating func endWaits() {
    nextWaitAt = nil
    files.endWaits()
  }

  // MARK: - Steps

  private mutating func readStep() -> Step {
    files[reader.file!].hasChanged = false
    name.set { files.appendTakenName(reader.file!, to: &$0) }
    return .read(.taken)
  }

  /// Where in the file to read from.
  public var readOffset: Int64 { reader.file == nil ? 0 : reader.readOffset }

  /// Where to put the bytes read.
  public mutating func readRoom() -> UnsafeMutableBufferPointer<UInt8> {
    if reader.file == nil { reader.close() }
    return reader.input.room(from: reader.file == nil ? 0 : reader.count)
  }

  /// Whether a program may still have the file open, if the agent cannot find out.
  public var mayFileGrow: Bool { reader.file.map { files[$0].mayGrow } ?? !isNewWhole }

  /// Whether the file in `new/` was renamed there, so that no program writes to it.
  public var isNewFileWhole: Bool { isNewWhole }

  /// Handles the result of reading a file.
  public mutating func read(_ result: ReadResult) {
    switch result {
    case .text(let bytes, let isWhole, let facts):
      if reader.file == nil { taken(facts) }
      let file = reader.file!
      if facts.size > files[file].size {
        reader.cursor.waitsSince = nil
        // What was appended came later than the file, even if the clock was set back since.
        files[file].cameAt = max(files[file].cameAt, cameAt(facts.modifiedNs))
        if !files[file].isReleased, facts.modifiedNs > files[file].origin.arrivalNs {
          files[file].origin = Origin(arrivalNs: facts.modifiedNs, hasWaited: false)
        }
      }
      files[file].size = facts.size
      if isWhole { files[file].mayGrow = facts.mayGrow }
      reader.take(bytes, isWhole: isWhole)
    case .failed(.shortage):
      // No file can be opened now: all wait.
      reader.pause(at: time.now)
      if reader.file == nil { waiting.isNewWanted = true } else { endTurn() }
    case .failed(let failure):
      if let file = reader.file { couldNotRead(file, failure) } else { couldNotTake(failure) }
    }
  }

  private mutating func taken(_ facts: FileFacts) {
    waiting.succeeded()
    troubles.took(&reports)
    let number = files.append(
      name, arrivalNs: facts.arrivalNs, Origin(arrivalNs: facts.arrivalNs, hasWaited: false),
      cameAt: cameAt(facts.arrivalNs), mayGrow: facts.mayGrow)
    reader.begin(number, files[number].cursor)
  }

  /// Handles a file in `new/` that could not be moved to `taken/`, or cannot be read.
  private mutating func couldNotTake(_ failure: OpenFailure) {
    switch failure {
    case .vanished, .notRegular, .shortage: return
    case .unreadable: return waiting.retrySoon(at: time.now)
    case .busy: break
    case .notTaken(let error): troubles.couldNotTake(error, &reports)
    }
    waiting.putOff(at: time.now)
  }

  /// Whether a file in `new/` that cannot be read is taken: its writer is not about to change its
  /// permissions.
  public func takesUnreadable(changeTimeNs: Int64) -> Bool {
    guard let at = arrivals.arrival(changeTimeNs: changeTimeNs, time) else { return true }
    return Int64(time.now.milliseconds) - at >= Int64(Self.patience.milliseconds)
  }

  /// How long a file may be unreadable, or end within a notification, until that is a mistake.
  private static let patience = Duration.seconds(10)
  static let waitForRest = Duration.seconds(2)

  /// Handles a file in `taken/` that can no longer be read.
  private mutating func couldNotRead(_ file: FileNumber, _ failure: OpenFailure) {
    switch failure {
    case .vanished:
      // Somebody has removed the file from the agent's own directory.
      reports.add(.fileChanged)
      files.decide(file, .isGone)
      finish(file)
    case .unreadable, .notRegular: recordUnreadable(file, failure)
    case .busy:
      let since = reader.cursor.waitsSince ?? time.now
      guard since + Self.leasePatience > time.now else { return recordUnreadable(file, failure) }
      wait(until: time.now + Self.waitForRest)
    case .shortage, .notTaken: endTurn()
    }
  }

  // MARK: - Reading

  /// Reads on in the file whose turn it is, and offers its notifications.
  @_optimize(speed)
  private mutating func readOn<L: Link & ~Copyable>(_ link: inout L) -> Progression {
    let file = reader.file!
    if files[file].isDropped {
      if reader.cursor.text != Outbox.none { endRecipients() }
      finish(file)
      return .goOn
    }
    guard reader.cursor.text == Outbox.none else { return readRecipients(of: file, &link) }
    guard isFirstPart || reader.turn < FileReader.turnMax || !isOthersTurn else { return .stop }
    guard isFirstPart || mayReadOn(file, &link) else { return .stop }
    let share = isFirstPart ? Outbox.Share.small : .large
    switch reader.next(settings.rules) {
    case .notification(let notification):
      guard outbox.hasRoom(for: share) else {
        isFull(link)
        reader.cursor.reader.rewind(to: notification.object.lowerBound)
        return .stop
      }
      return take(notification, of: file, &link)
    case .refused(let finding, let object): return refuse(finding, object, of: file)
    case .more(let from):
      reader.turn += 1
      reader.discard(upTo: from)
      reader.needsInput = true
      if reader.cursor.offset - reader.cursor.objectEnd >= Self.garbageBytesMax {
        recordGarbage(file)
      }
      return .goOn
    case .end:
      if reader.cursor.isAtStart { return refuse(Finding(.notAnObject, at: 0), 0..<0, of: file) }
      finish(file)
      return .goOn
    }
  }

  /// Whether another file can be read now.
  var isOthersTurn: Bool {
    files.unreadCount > 0 || !waiting.new.isEmpty || !waiting.taken.isEmpty
  }

  /// The part of a file that is read as soon as it is taken, even without a connection, in bytes.
  private static let firstPart: Int64 = 32_768

  /// Whether this part of a file is read at once; its recipients files may take more turns.
  private var isFirstPart: Bool {
    reader.cursor.offset + Int64(reader.cursor.reader.index) < Self.firstPart
  }
  /// The most bytes without an object that a notification file may have.
  private static let garbageBytesMax: Int64 = 1 << 20

  /// Takes a notification: puts its text into the outbox, and begins to read its recipients.
  @inline(never)
  @_optimize(speed)
  private mutating func take<L: Link & ~Copyable>(
    _ notification: Notification, of file: FileNumber, _ link: inout L
  ) -> Progression {
    let object = notification.object
    let offset = reader.cursor.offset + Int64(object.lowerBound)
    let identity = identity(of: file, at: offset)
    let entry = Outbox.TextEntry(
      file: file, origin: files[file].origin, offset: offset, lineNumber: reader.cursor.line,
      identity: identity, collapseKey: notification.collapseKey, tokens: notification.tokens)
    guard let text = outbox.add(object, of: reader.input, entry) else {
      // The memory is in pieces that other texts will free.
      reader.cursor.reader.rewind(to: object.lowerBound)
      return .stop
    }
    pass(object)
    reader.cursor.text = text
    reader.cursor.recipient = 0
    reader.cursor.recipientEnd = 0
    reader.cursor.list = 0
    reader.cursor.listPlace = RecipientsReader.Place()
    reader.notification = notification
    reader.notification.move(by: object.lowerBound)
    if notification.collapseKey != 0, replace(reader.notification, text) {
      endRecipients()
    }
    return .goOn
  }

  /// Notes that an object, right or wrong, was passed.
  private mutating func pass(_ object: Range<Int>) {
    reader.cursor.isAtStart = false
    reader.cursor.waitsSince = nil
    reader.cursor.objectEnd = reader.cursor.offset + Int64(object.upperBound)
  }

  /// Returns the identity of a notification, which is the same at each reading of its file.
  private func identity(of file: FileNumber, at offset: Int64) -> UInt64 {
    if files[file].isReleased, let identity = LaterName.identity(in: files.name(file)) {
      return identity
    }
    var hash = files[file].hash
    hash.add(UInt64(bitPattern: offset))
    return hash.value
  }

  /// Handles text that is no notification, or a notification that may not be sent.
  private mutating func refuse(
    _ finding: Finding, _ object: Range<Int>, of file: FileNumber
  ) -> Progression {
    let isUnfinished =
      reader.isWhole && finding.reason == .json(.unexpectedEnd) || object.isEmpty
    if isUnfinished, files[file].mayGrow, !isPatienceOver {
      reader.cursor.reader.rewind(to: object.lowerBound)
      wait(until: time.now + Self.waitForRest)
      return .goOn
    }
    reader.turn += 1
    if finding.isOfObject { pass(object) }
    reader.cursor.isAtStart = false
    record(finding, object: object, of: file)
    return .goOn
  }

  /// Whether a file that ends within a notification has not grown for long enough, or such files leave
  /// no room for others.
  private var isPatienceOver: Bool {
    reader.cursor.waitsSince.map { $0 + Self.patience <= time.now } ?? false
      || !files.hasRoom && files.doManyWait
  }

  /// Ends the reading of a file: everything in it was read.
  mutating func finish(_ file: FileNumber) {
    if reader.loaded == file {
      var cursor = reader.cursorToKeep()
      if reader.isWhole { cursor.offset = reader.cursor.offset + Int64(reader.count) }
      files[file].cursor = cursor
      reader.close()
    }
    files.finish(file)
  }

  // MARK: - Recipients

  /// Reads on in the recipients of the notification that was read last.
  @_optimize(speed)
  private mutating func readRecipients<L: Link & ~Copyable>(
    of file: FileNumber, _ link: inout L
  ) -> Progression {
    let notification = reader.notification
    let text = reader.cursor.text
    // If the clock was set back since, a notification that has messages is sent all the same.
    if outbox[text: text].isUntouched, outbox[text: text].messages == 0, isEarly(notification) {
      outbox.touch(text)
      postpone(notification, text)
      return .goOn
    }
    while reader.cursor.recipient < UInt32(notification.tokens) {
      let start = reader.cursor.recipientEnd
      let digits =
        start == 0
        ? notification.firstToken
        : notification.nextString(after: start, in: outbox.text(text))
      if let recipient = RecipientsFile.Recipient(
        printed: outbox.text(text).extracting(digits), address: &address)
      {
        if let progression = add(notification, text, recipient, &link) { return progression }
      }
      reader.cursor.recipientEnd = digits.upperBound
      reader.cursor.recipient += 1
      if recorder.isPending { return .goOn }
    }
    return readLists(notification, text, of: file, &link)
  }

  /// Finds the place again at which the recipients of a notification were left.
  private mutating func resumeRecipients() {
    let text = reader.cursor.text
    guard !reader.hasNotification, let notification = notification(text) else { return }
    reader.notification = notification
    if notification.lists > reader.cursor.list { beginList(notification, text) }
  }

  /// Parses a text of the outbox again.
  mutating func notification(_ text: UInt16) -> Notification? {
    var reading = NotificationReader()
    let result = reading.next(
      in: outbox.text(text), isWhole: true, settings.rules, &reader.findings)
    guard case .notification(let notification) = result else { return nil }
    return notification
  }

  /// Ends the reading of a notification's recipients.
  @_optimize(speed)
  mutating func endRecipients() {
    reader.cursor.waitsSince = nil
    reader.recipientsText = Outbox.none
    outbox.endReading(reader.cursor.text)
    reader.cursor.text = Outbox.none
    reader.forgetNotification()
  }

  /// Adds a message to a recipient, and offers the message to the link if nothing waits before it.
  ///
  /// Returns nil if the next recipient may follow.
  @_optimize(speed)
  mutating func add<L: Link & ~Copyable>(
    _ notification: Notification, _ text: UInt16, _ recipient: RecipientsFile.Recipient,
    _ link: inout L
  ) -> Progression? {
    guard recipient.subscription.isEmpty ? outbox.hasRoom : outbox.hasRoomForBrowser else {
      isFull(link)
      return .stop
    }
    let file = outbox[text: text].file
    let isReadAtOnce = isFirstPart && reader.cursor.recipient < UInt32(notification.tokens)
    if reader.turn >= FileReader.turnMax, !isReadAtOnce,
      isOthersTurn || !mayReadOn(file, &link)
    {
      return .stop
    }
    let (lane, refusal) = lane(of: recipient, &link)
    var subscription = Outbox.none
    if !recipient.subscription.isEmpty {
      let entry = outbox[text: text]
      guard let number = outbox.add(subscription: address.unsafeBytes, of: entry) else {
        isFull(link)
        return .stop
      }
      subscription = number
    }
    reader.turn += 1
    if outbox.count(of: lane) == 0 { paces[lane.index].begin(at: time.now) }
    let rendition = Rendition(
      notification, for: recipient.language, in: outbox.text(text), settings.rules)
    let isFirst = outbox.nextToSend(in: lane) == nil
    let isHigh = notification.isUrgent || notification.priority == 10
    let message = outbox.add(
      to: recipient, text: text, subscription: subscription, payloadBytes: rendition.bytes,
      in: isHigh ? .high : .low, lane)
    files[file].open += 1
    files[file].lane = lane
    if let refusal {
      if case .rejected(let rejection) = refusal { counters.recordRejection(rejection) }
      outbox.touch(text)
      decide(message, refusal)
    } else if isFirst {
      link.select(lane)
      _ = offer(message, notification, rendition, &link)
    }
    return nil
  }
}
