/// What the shell looks at.
extension Courier {
  /// Notifications that were offered to the link and are not settled.
  public func inFlight<L: Link & ~Copyable>(_ link: borrowing L) -> Int {
    link.notificationCount + returns.notifications
  }

  /// Files in `new/` that are known and not done with; more may be there unless ``areFilesKnown``.
  public var files: Int { claims.count + order.backlog.count }

  /// Files in `later/`, as far as they are known.
  public var laterFiles: Int { later.names.count }

  /// Whether all of `new/` is known.
  public var areFilesKnown: Bool { order.isKnown }

  /// `new/` could not be read at the last scan.
  public var isScanBroken: Bool { order.isBroken }

  /// Whether everything has been settled and nothing waits.
  public var isIdle: Bool { claims.isEmpty && order.backlog.isEmpty }

  /// Bytes of files in `new/` that were read, in all.
  public var bytesRead: UInt64 { reader.bytesRead }

  /// Whether there are files that the disk does not let go.
  public var isHolding: Bool { !stuck.isEmpty }

  /// What keeps files in `new/`, for the status page: 1: they cannot be removed; 2: their failures cannot be recorded.
  package var heldFlags: UInt32 { stuck.flags }

  /// The file in which a stretch stands, as it is when nobody has touched the file since.
  public func file(of stretch: Stretch) -> FileIdentity { claims[stretch.place.claim].identity }

  /// Calls `body` with the inode of each file of which notifications were offered to the link and are not settled, and with
  /// how far the file is. A file may come several times.
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

  /// Stretches of all these files.
  public func stretchesInFlight<L: Link & ~Copyable>(_ link: borrowing L) -> Int {
    link.stretchCount + returns.count
  }

  /// The size of the largest ``failure``.
  public var failureBytesMax: Int { recorder.text.memory.count }

  /// Hands over the large memories in which nothing is needed any more, so that their pages may be given back to the system.
  /// Only while ``isIdle``.
  public mutating func giveBackMemory(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    precondition(isIdle)
    reader.roster.forget()
    replacing.survey.forget()
    forEachBuffer { body($0) }
  }

  /// The large memories, apart from the names of what waits in `later/`.
  package func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(reader.input.bytes)
    body(recorder.text.memory)
    returns.forEachBuffer(body)
    claims.forEachBuffer(body)
    reader.roster.forEachBuffer(body)
    order.backlog.forEachBuffer(body)
    replacing.survey.forEachBuffer(body)
  }

  /// The next thing worth a line in the log.
  public mutating func takeReport() -> Report? { reports.take() }

  /// The name of the file about which something was reported of a token.
  @_lifetime(borrow self)
  public func nameReported() -> Span<UInt8> { reportedName.bytes }

  // MARK: - Suppression

  /// The suppression list as it is on disk by now.
  public mutating func suppress(list: consuming SuppressionList) { suppression.lists.list = list }

  /// What has changed since the list was last written.
  public mutating func suppress(recent: consuming SuppressionList) {
    suppression.lists.recent = recent
  }

  /// Whether what it learned is in the suppression list by now, and that is whole. If not, that is tried again when there is more
  /// of it, and whenever the spool is looked through.
  public mutating func keptLearned(_ isKept: Bool) { suppression.kept(isKept) }

  /// What it has learned of tokens and is not on disk; with `isKeepable` what may be put there by now.
  public func forEachLearned(isKeepable: Bool = true, _ body: (SuppressionRecord) -> Void) {
    for index in 0..<suppression.learned.count {
      let record = suppression.learned[index]
      if isKeepable ? suppression.learned.mayKeep(record) : record.time != Learned.noTime {
        body(record)
      }
    }
  }

  /// Whether something in the suppression list is damaged.
  public var isSuppressionDamaged: Bool { suppression.lists.isDamaged }
}
