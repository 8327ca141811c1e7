/// Opening, reading and removing files.
extension Courier {
  // MARK: - The file to read

  /// The name of the file to open, followed by a NUL.
  @_lifetime(borrow self)
  public func fileName() -> Span<UInt8> { claims.name(reader.reading!.claim) }

  /// Where in the file to read from.
  public var readOffset: Int64 {
    reader.reading!.inputOffset + Int64(reader.reading!.inputBytes)
  }

  /// Where to put the bytes read.
  public var inputRoom: UnsafeMutableBufferPointer<UInt8> {
    reader.input.room(from: reader.reading?.inputBytes ?? 0)
  }

  /// Whether no notification of the file to open was taken yet.
  public var isNewFile: Bool { reader.reading.map { $0.isFirst && $0.isAtStart } ?? false }

  /// Whether the agent must find out when the file to open was created.
  public var wantsBirth: Bool { isNewFile && settings.rules.service == .http2 }

  /// Whether the writer of the file to open may not have finished it.
  ///
  /// A file that was renamed into `new/` is finished.
  public var mayBeUnfinished: Bool { isNewFile && !claims[reader.reading!.claim].cameWhole }

  /// Returns the content by which a file that was read or delivered before is recognized.
  ///
  /// Nil: nothing is known of a file with this inode. The identity is the one that the file had
  /// then.
  public func known(inode: UInt64) -> (identity: FileIdentity, content: FileContent)? {
    guard let now = reader.reading else { return nil }
    if now.isFirst && now.isAtStart {
      return delivered.find(inode: inode).map { ($0.identity, $0.content) }
    }
    let claim = claims[now.claim]
    guard claim.identity.inode == inode else { return nil }
    if claim.content.bytes > 0 { return (claim.identity, claim.content) }
    if now.isFirst { return (claim.identity, FileContent(now.content)) }
    if let interrupted = reader.interrupted, interrupted.claim == now.claim {
      return (claim.identity, FileContent(interrupted.content))
    }
    return nil
  }

  /// Takes the first bytes of the file that was opened.
  ///
  /// - Parameters:
  ///   - identity: the file's identity. If notifications of the file are under way and its text
  ///     begins with the content of ``known(inode:)``, the known identity instead.
  ///   - isWhole: whether the bytes end the file, which is closed then.
  ///   - lastByte: the last byte of the file that is not white space, if the file is not whole.
  ///   - deliveredBytes: the bytes at the start of the file that are known as delivered.
  ///   - birth: when the file was created, in UNIX nanoseconds. It distinguishes files that reuse
  ///     an inode.
  public mutating func opened(
    _ identity: FileIdentity, bytes: Int, isWhole: Bool, lastByte: UInt8 = UInt8(ascii: "}"),
    delivered deliveredBytes: Int64 = 0, birth: Int64 = 0
  ) {
    guard let claim = reader.reading?.claim else { return }
    reader.reading!.access = isWhole ? .atEnd : .open
    if isNewFile {
      guard takeOn(identity, deliveredBytes) else { return }
      claims.recordOrigin(
        claim, birth: birth, cameAt: arrivals.arrival(changeTimeNs: identity.changeTimeNs, time))
    } else if claims[claim].identity != identity {
      return endReading(.changed)
    }
    reader.take(bytes)
    // A file that does not end with an object is probably unfinished. If its first notifications
    // were sent now, they would be sent again with the rest.
    let last = isWhole ? reader.lastInputByte() : lastByte
    guard last != .closeBrace, var now = reader.reading else { return }
    if isUnfinished(&now) { return endReading(.putOff) }
    reader.reading = now
  }

  /// Decides whether to read a file that was opened for the first time.
  @inline(never)
  private mutating func takeOn(_ identity: FileIdentity, _ deliveredBytes: Int64) -> Bool {
    let claim = reader.reading!.claim
    var deliveredBytes = deliveredBytes
    if claims.contains(inode: identity.inode) {
      // The file is already under way, under this name or another.
      endReading(.putOff)
      return false
    }
    if stuck.held.want(of: identity) == nil { letGo(identity) }
    if let file = delivered.find(inode: identity.inode) {
      if deliveredBytes == identity.size {
        claims.identify(claim, as: identity)
        claims.recordContent(claim, file.content, endsWithinText: file.endsWithinText)
        endReading(.done)
        return false
      }
      // The file ended within an object, and its rest has arrived: read it from its start.
      if file.endsWithinText { deliveredBytes = 0 }
    }
    if deliveredBytes == 0 { delivered.remove(inode: identity.inode) }
    switch stuck.held.want(of: identity) {
    case .removal:
      // The file was delivered and only has to be removed.
      claims.identify(claim, as: identity)
      endReading(.done)
      return false
    case .record:
      endReading(.putOff)
      return false
    case nil:
      guard !stuck.held.isFull else {
        endReading(.putOff)
        return false
      }
    }
    claims.identify(claim, as: identity)
    progress.taken(identity)
    if deliveredBytes > 0 {
      reader.reading!.passUntil = deliveredBytes
    } else if let known = progress.known(of: identity) {
      reader.reading!.passUntil = known.offset
      reader.reading!.recipient = known.recipient
    }
    return true
  }

  /// Handles a failure to open the file.
  public mutating func couldNotOpen(_ failure: OpenFailure) {
    guard reader.reading != nil else { return }
    if case .later = failure {
      interruptReading()
      reader.pause(at: time.now)
      return
    }
    guard isNewFile else { return endReading(.changed) }
    switch failure {
    case .unreadable(let error): endReading(.unreadable(error))
    case .vanished, .notRegular, .later, .beingWritten: endReading(.putOff)
    }
  }

  /// Handles a file that cannot be read, but whose identity is known.
  ///
  /// Its writer may be about to change its permissions, so a new file is left alone for a while.
  public mutating func couldNotRead(_ identity: FileIdentity, _ error: Int32) {
    guard isNewFile, order.unfinished.waits(for: identity, at: time.now) else {
      return couldNotOpen(.unreadable(error))
    }
    endReading(.putOff)
  }

  /// Takes more bytes of the open file; with `isWhole` they end the file, which is closed.
  public mutating func filled(bytes: Int, isWhole: Bool) {
    guard reader.reading != nil else { return }
    reader.take(bytes)
    if isWhole { reader.reading!.access = .atEnd }
    reader.reading!.needsInput = false
  }

  /// Handles a read error (errno) in the middle of the file, which is closed.
  public mutating func couldNotRead(_ error: Int32) {
    guard let isFirst = reader.reading?.isFirst else { return }
    reader.reading!.access = .closed
    endReading(isFirst ? .unreadable(error) : .changed)
  }

  /// Records that the open file was closed.
  public mutating func closed() { reader.mustClose = false }

  // MARK: - The settled file

  /// The name of the file whose notifications are all settled, followed by a NUL.
  @_lifetime(borrow self)
  public func settledName() -> Span<UInt8> { claims.name(claims.nextSettled!) }

  private var settledClaim: Claim { @inline(__always) get { claims[claims.nextSettled!] } }

  /// The identity of the settled file.
  public var settledIdentity: FileIdentity { settledClaim.identity }

  /// The delivered content of the settled file.
  public var settledContent: FileContent { settledClaim.content }

  /// Whether the settled file ended with text that is no object.
  public var settledEndsWithinText: Bool { settledClaim.endsWithinText }

  /// Whether the settled file was renamed into `new/`, so that no program writes to it.
  public var settledCameWhole: Bool { settledClaim.cameWhole }

  /// Whether the settled file is moved to `failed/` instead of removed.
  public var isSettledSetAside: Bool { settledClaim.fate == .movesToFailed }

  /// Handles the result of removing the settled file.
  @inline(never)
  public mutating func removed(_ removal: Removal) {
    let claim = settledClaim
    if case .failed = removal, stuck.delaysRemoval(of: claim.identity, at: time.now, &reports) {
      return
    }
    claims.removeSettled()
    switch removal {
    case .removed:
      delivered.remove(inode: claim.identity.inode)
      letGo(claim.identity)
      progress.left(claim.identity)
    case .kept:
      if claim.fate == .unrecorded { hold(claim.identity, .record) }
      if claim.fate == .changed { order.isScanWanted = true }
    case .replaced:
      delivered.remove(inode: claim.identity.inode)
      letGo(claim.identity)
      progress.left(claim.identity)
      order.isScanWanted = true
    case .moved, .grown, .beingWritten:
      delivered.insert(claim.identity, claim.content, endsWithinText: claim.endsWithinText)
      letGo(claim.identity)
      progress.left(claim.identity)
      // A file that is being written is offered again when it is closed.
      if removal != .beingWritten { order.isScanWanted = true }
    case .failed:
      delivered.insert(claim.identity, claim.content, endsWithinText: claim.endsWithinText)
      hold(claim.identity, .removal)
    }
  }

  /// Records what was delivered before of a file that is in `new/` again.
  public mutating func wasDelivered(
    _ identity: FileIdentity, _ content: FileContent, endsWithinText: Bool
  ) {
    delivered.insert(identity, content, endsWithinText: endsWithinText)
  }
}
