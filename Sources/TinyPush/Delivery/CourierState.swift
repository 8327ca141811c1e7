/// The courier's state, for the agent to show.
extension Courier {
  /// The number of notifications that were read and are not settled.
  public var inFlight: Int { outbox.count }

  /// The number of notifications of a lane that were read and are not settled.
  public func inFlight(in lane: Lane) -> Int { outbox.count(of: lane) }

  /// The lane that has settled nothing for longest while notifications wait in it, and since when;
  /// nil: there is none.
  ///
  /// The binary protocol does not tell when a notification is accepted, so its lane does not count.
  @inline(never)
  public func mostMissed() -> (lane: Lane, since: Instant)? {
    var most: (lane: Lane, since: Instant)?
    let first = settings.rules.pushProtocol == .http2 && settings.hasWebPush ? 0 : 1
    for number in first..<Lane.count where outbox.count(of: Lane(number)) > 0 {
      let since = lanes.paces[number].settledAt
      if most.map({ since < $0.since }) ?? true { most = (Lane(number), since) }
    }
    return most
  }

  /// Whether everything was read, and what a lane has must not be sent for a time.
  public func waits(in lane: Lane, for duration: Duration) -> Bool {
    guard outbox.count(of: lane) > 0, outbox.waiting(in: lane) == 0, reader.file == nil,
      files.unreadCount == 0, turns.waitsUntil == nil, waiting.isExhausted,
      let due = outbox.nextDueAt
    else { return false }
    return due >= time.now + duration
  }

  /// What became of the notifications of a lane since it was given to its service.
  public func counts(of lane: Lane) -> LaneCounts { lanes.counts[lane.index] }

  /// The number of known files in `new/` and `taken/` that are not finished.
  ///
  /// There may be more unless ``areFilesKnown``.
  public var filesUnderWay: Int { files.count + waiting.new.count + waiting.taken.count }

  /// The number of known files in `taken/`.
  public var filesInTaken: Int { files.count + waiting.taken.count }

  /// The number of known files in `later/`.
  public var laterFiles: Int { later.count }

  /// Whether all files of `new/` and `taken/` are known.
  ///
  /// Those whose failures cannot be recorded are read again later.
  public var areFilesKnown: Bool { waiting.areKnown && !troubles.isRecordBroken }

  /// Whether `new/` could not be read at the last scan.
  public var isScanBroken: Bool { waiting.isBroken }

  /// Whether everything is settled and no file waits.
  public var isIdle: Bool {
    files.isEmpty && waiting.new.isEmpty && waiting.taken.isEmpty && reader.file == nil
  }

  /// Whether everything in the spool is settled.
  public var isSpoolDone: Bool { isIdle && waiting.isExhausted }

  /// The number of bytes that were read of files.
  public var bytesRead: UInt64 { reader.bytesRead }

  /// Whether there are files that the disk refuses to change.
  public var isHolding: Bool { !troubles.isEmpty }

  /// Why files stay, for the status page.
  ///
  /// 1: they cannot be removed; 2: their failures cannot be recorded; 4: they cannot be taken.
  package var heldFlags: UInt32 { troubles.flags }

  /// Returns when the file of a message came into `new/`, in UNIX nanoseconds.
  public func arrivalNs(of message: MessageNumber) -> Int64 {
    files[outbox[text: outbox[message].text].file].arrivalNs
  }

  /// Whether the file with this name in `taken/` is worked on.
  public func isUnderWay(_ name: Span<UInt8>) -> Bool { files.find(name) != nil }

  /// Calls `body` with each file under way: when the file came, in UNIX nanoseconds, and how far it
  /// is sent.
  ///
  /// A file may come several times; the first call counts.
  public func forEachFileUnderWay(_ body: (Int64, FileProgress) -> Void) {
    outbox.forEachFile(isAgain: true) { body(files[$0].arrivalNs, .goesAgain) }
    outbox.forEachFile(isAgain: false) { body(files[$0].arrivalNs, .waits) }
    files.forEach { body(files[$0].arrivalNs, files[$0].isRead ? .sent : .beingSent) }
  }

  /// The size of the largest ``failure()``.
  public var failureBytesMax: Int { recorder.text.memory.count }

  /// Passes the large buffers to `body`, which may return their pages to the system.
  ///
  /// Must be called only while ``isIdle``: the buffers hold nothing then.
  public mutating func giveBackMemory(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    precondition(isIdle)
    reader.recipientsReader.forget()
    forEachBuffer { body($0) }
  }

  /// Calls `body` with each large buffer, except for the names in `later/`.
  package func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(reader.input.bytes)
    body(recorder.text.memory)
    outbox.forEachBuffer(body)
    files.forEachBuffer(body)
    reader.recipientsReader.forEachBuffer(body)
    waiting.new.forEachBuffer(body)
    waiting.taken.forEachBuffer(body)
  }

  /// Returns the next event for the log.
  public mutating func takeReport() -> Report? { reports.take() }

  /// The name of the file of the last report about a token.
  @_lifetime(borrow self)
  public func nameReported() -> Span<UInt8> { reportedName.bytes }
}
