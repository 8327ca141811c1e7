/// Reading a file in pieces, and the notifications in it.
extension Courier {
  // MARK: - Steps

  mutating func readStep() -> Step {
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
  public var mayFileGrow: Bool { reader.file.map { files[$0].mayGrow } ?? !turns.isNewWhole }

  /// Whether the file in `new/` was renamed there, so that no program writes to it.
  public var isNewFileWhole: Bool { turns.isNewWhole }

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
  mutating func readOn<L: Link & ~Copyable>(_ link: inout L) -> Progression {
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
        noteFull(link)
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
      if reader.cursor.isAtStart { return refuse(Finding(.nothing, at: 0), 0..<0, of: file) }
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
  var isFirstPart: Bool {
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
}
