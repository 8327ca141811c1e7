/// The courier's state, for the agent to show.
extension Courier {
  /// Returns how many notifications the link has, or are to be read again.
  public func inFlight<L: Link & ~Copyable>(_ link: borrowing L) -> Int {
    link.notificationCount + returns.notifications
  }

  /// The number of known files in `new/` that are not finished.
  ///
  /// There may be more unless ``areFilesKnown``.
  public var files: Int { claims.count + order.backlog.count }

  /// The number of known files in `later/`.
  public var laterFiles: Int { later.names.count }

  /// Whether a scan has found all files of `new/`.
  public var areFilesKnown: Bool { order.isKnown }

  /// Whether `new/` could not be read at the last scan.
  public var isScanBroken: Bool { order.isBroken }

  /// Whether everything is settled and no file waits.
  public var isIdle: Bool { claims.isEmpty && order.backlog.isEmpty }

  /// The number of bytes that were read of files in `new/`.
  public var bytesRead: UInt64 { reader.bytesRead }

  /// Whether there are files that the disk refuses to change.
  public var isHolding: Bool { !stuck.isEmpty }

  /// Why files are held in `new/`, for the status page.
  ///
  /// 1: they cannot be removed; 2: their failures cannot be recorded.
  package var heldFlags: UInt32 { stuck.flags }

  /// Returns the identity that the file of a stretch had when it was opened.
  public func file(of stretch: Stretch) -> FileIdentity { claims[stretch.place.claim].identity }

  /// Calls `body` for each stretch in flight, with its file's inode and progress.
  ///
  /// A file may come several times.
  public func forEachFileInFlight<L: Link & ~Copyable>(
    _ link: borrowing L, _ body: (UInt64, FileProgress) -> Void
  ) {
    link.forEachStretch { stretch in
      let claim = claims[stretch.place.claim]
      body(claim.identity.inode, claim.isRead ? .sent : .beingSent)
    }
    func goesAgain(_ stretch: Stretch) { body(file(of: stretch).inode, .goesAgain) }
    returns.forEach(goesAgain)
  }

  /// Returns how many stretches are in flight.
  public func stretchesInFlight<L: Link & ~Copyable>(_ link: borrowing L) -> Int {
    link.stretchCount + returns.count
  }

  /// The size of the largest ``failure()``.
  public var failureBytesMax: Int { recorder.text.memory.count }

  /// Passes the large buffers to `body`, which may return their pages to the system.
  ///
  /// Must be called only while ``isIdle``: the buffers hold nothing then.
  public mutating func giveBackMemory(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    precondition(isIdle)
    reader.roster.forget()
    replacing.survey.forget()
    forEachBuffer { body($0) }
  }

  /// Calls `body` with each large buffer, except for the names in `later/`.
  package func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(reader.input.bytes)
    body(recorder.text.memory)
    returns.forEachBuffer(body)
    claims.forEachBuffer(body)
    reader.roster.forEachBuffer(body)
    order.backlog.forEachBuffer(body)
    replacing.survey.forEachBuffer(body)
  }

  /// Returns the next event for the log.
  public mutating func takeReport() -> Report? { reports.take() }

  /// The name of the file of the last report about a token.
  @_lifetime(borrow self)
  public func nameReported() -> Span<UInt8> { reportedName.bytes }

  // MARK: - Suppression

  /// Takes the suppression list that is on disk.
  public mutating func suppress(list: consuming SuppressionList) { suppression.lists.list = list }

  /// Takes the recent changes of the suppression list that are on disk.
  public mutating func suppress(recent: consuming SuppressionList) {
    suppression.lists.recent = recent
  }

  /// Handles the result of merging the learned tokens.
  ///
  /// It is true if all of them are in the list, and the list is whole. If not, the courier tries
  /// again when it learns more tokens, and at each scan.
  public mutating func keptLearned(_ isKept: Bool) { suppression.kept(isKept) }

  /// Calls `body` with the learned tokens that are not in the list on disk.
  ///
  /// With `isKeepable`, only with those that may be written now.
  public func forEachLearned(isKeepable: Bool = true, _ body: (SuppressionRecord) -> Void) {
    for index in 0..<suppression.learned.count {
      let record = suppression.learned[index]
      if isKeepable ? suppression.learned.mayKeep(record) : record.time != Learned.noTime {
        body(record)
      }
    }
  }

  /// Whether the suppression list is damaged.
  public var isSuppressionDamaged: Bool { suppression.lists.isDamaged }
}
