/// Files that are opened, read, and let go.
extension Courier {
  // MARK: - The file to read

  /// The name of the file to open, followed by a NUL.
  @_lifetime(borrow self)
  public func fileName() -> Span<UInt8> { claims.name(reader.reading!.claim) }

  /// Where in the file to read from.
  public var readOffset: Int64 {
    reader.reading!.inputOffset + Int64(reader.reading!.inputBytes)
  }

  /// Where to put what is read.
  public var inputRoom: UnsafeMutableBufferPointer<UInt8> {
    reader.input.room(from: reader.reading?.inputBytes ?? 0)
  }

  /// Whether nothing of the file to open is under way.
  public var isNewFile: Bool { reader.reading.map { $0.isFirst && $0.isAtStart } ?? false }

  /// Whether it is to be known when the file to open was made.
  public var wantsBirth: Bool { isNewFile && settings.rules.service == .http2 }

  /// Whether the file to open may be one that its writer has not finished: it was not seen to come whole.
  public var mayBeUnfinished: Bool { isNewFile && !claims[reader.reading!.claim].cameWhole }

  /// What the file that is to be opened must begin with to be the one of which something was delivered or read before, if it
  /// has this inode; and as what file it is known. Nil: nothing is known of it.
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

  /// The file is open, and its first bytes are there; with `isWhole` they are all, and it is closed again.
  ///
  /// - Parameters:
  ///   - identity: where the file begins with what is ``known(inode:)``, that one's where something of it is under way.
  ///   - lastByte: of a file that is not whole, the last byte that is not white space.
  ///   - delivered: so many bytes at its start are known as delivered.
  ///   - birth: when the file was made, in UNIX nanoseconds; it tells the file from others that had its inode.
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
    // Whoever is still writing it has most likely not come to the end of an object. Were its first ones sent now, they
    // would be sent again with the rest.
    let last = isWhole ? reader.lastInputByte() : lastByte
    guard last != .closeBrace, var now = reader.reading else { return }
    if isUnfinished(&now) { return endReading(.putOff) }
    reader.reading = now
  }

  /// Whether a file that was opened for the first time is to be read.
  @inline(never)
  private mutating func takeOn(_ identity: FileIdentity, _ deliveredBytes: Int64) -> Bool {
    let claim = reader.reading!.claim
    var deliveredBytes = deliveredBytes
    if claims.contains(inode: identity.inode) {
      // Already under way, under this name or another.
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
      // The rest of what was cut off has come: that is read from its start.
      if file.endsWithinText { deliveredBytes = 0 }
    }
    if deliveredBytes == 0 { delivered.remove(inode: identity.inode) }
    switch stuck.held.want(of: identity) {
    case .removal:
      // It was delivered, and could not be removed: that is all there is to do.
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

  /// The same of a file that may not be read, which is known all the same: its writer may be about to let others read it.
  public mutating func couldNotRead(_ identity: FileIdentity, _ error: Int32) {
    guard isNewFile, order.unfinished.waits(for: identity, at: time.now) else {
      return couldNotOpen(.unreadable(error))
    }
    endReading(.putOff)
  }

  /// More of the open file is there; with `isWhole` it was all, and the file is closed.
  public mutating func filled(bytes: Int, isWhole: Bool) {
    guard reader.reading != nil else { return }
    reader.take(bytes)
    if isWhole { reader.reading!.access = .atEnd }
    reader.reading!.needsInput = false
  }

  /// The open file cannot be read on: errno. It is closed.
  public mutating func couldNotRead(_ error: Int32) {
    guard let isFirst = reader.reading?.isFirst else { return }
    reader.reading!.access = .closed
    endReading(isFirst ? .unreadable(error) : .changed)
  }

  /// The file that was open is closed.
  public mutating func closed() { reader.mustClose = false }

  // MARK: - The file that is settled

  /// The name of the file whose notifications are all settled, followed by a NUL.
  @_lifetime(borrow self)
  public func settledName() -> Span<UInt8> { claims.name(claims.nextSettled!) }

  private var settledClaim: Claim { @inline(__always) get { claims[claims.nextSettled!] } }

  public var settledIdentity: FileIdentity { settledClaim.identity }

  /// What was delivered of the settled file.
  public var settledContent: FileContent { settledClaim.content }

  /// Whether the settled file ended with text that is no object.
  public var settledEndsWithinText: Bool { settledClaim.endsWithinText }

  /// Whether the settled file was renamed into `new/`, so that nobody writes to it there.
  public var settledCameWhole: Bool { settledClaim.cameWhole }

  /// Whether the settled file is to be moved to `failed/`, and not removed.
  public var isSettledSetAside: Bool { settledClaim.fate == .movesToFailed }

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
      // What is being written is offered when it is closed.
      if removal != .beingWritten { order.isScanWanted = true }
    case .failed:
      delivered.insert(claim.identity, claim.content, endsWithinText: claim.endsWithinText)
      hold(claim.identity, .removal)
    }
  }

  /// So much of a file that is in `new/` again was delivered before.
  public mutating func wasDelivered(
    _ identity: FileIdentity, _ content: FileContent, endsWithinText: Bool
  ) {
    delivered.insert(identity, content, endsWithinText: endsWithinText)
  }
}
