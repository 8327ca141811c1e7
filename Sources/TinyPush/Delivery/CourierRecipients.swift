/// Offering notifications to the tokens of recipients files.
extension Courier {
  /// Offers a notification to the recipients in its recipients files, from the next one on.
  @inline(never)
  mutating func offerToLists<L: Link & ~Copyable>(
    _ sending: Sending, of now: inout Reading, _ link: inout L
  ) -> Offered {
    let notification = sending.notification
    let tokens = UInt32(notification.tokens)
    // After a restart, the progress counts recipients of files that may have changed since.
    if now.isFirst, now.rosterEpoch == 0 { now.recipient = min(now.recipient, tokens) }
    var owner = Roster.Owner(claim: now.claim, offset: sending.place.offset, list: 0)
    if let known = reader.roster.owner, known.claim == owner.claim, known.offset == owner.offset,
      reader.roster.recipient <= max(now.recipient, tokens)
    {
      owner = known
    } else {
      reader.roster.begin(
        notification, of: now, in: reader.input, for: owner, recipient: tokens,
        isRepeated: now.recipient > tokens)
    }
    while now.remaining > 0 {
      let entry = reader.roster.next(for: settings.rules.service)
      if case .more = entry { return .wants(.readRecipients) }
      guard isSameRoster(of: &now) else { return .recipientsChanged }
      switch entry {
      case .more: break
      case .recipient(let token, let language):
        let recipient = reader.roster.recipient
        if recipient >= now.recipient {
          switch offer(sending, recipient, token, language, of: &now, &link) {
          case .done: break
          case .recorded:
            reader.roster.pass(isRecipient: true)
            return now.remaining > 0 ? .some : .all
          case .stopped(let obstacle): return .stopped(obstacle)
          }
        }
        reader.roster.pass(isRecipient: true)
      case .wrong(let problem):
        let isNews = now.isFirst && reader.roster.problems >= now.problems
        if isNews { record(problem, notification, of: &now) }
        reader.roster.pass()
        guard isNews else { continue }
        now.problems = reader.roster.problems
        return .some
      case .end:
        owner.list += 1
        guard owner.list < notification.lists else {
          endOffering(sending, reader.roster.recipient, of: now)
          reader.roster.end()
          return .all
        }
        reader.roster.begin(
          notification, of: now, in: reader.input, for: owner,
          recipient: reader.roster.recipient,
          isRepeated: now.recipient > reader.roster.recipient, problems: reader.roster.problems)
      }
    }
    return .all
  }

  /// Whether the recipients files are unchanged since their recipients were counted.
  private mutating func isSameRoster(of now: inout Reading) -> Bool {
    if reader.roster.isTorn { return false }
    let epoch = reader.roster.epoch
    guard now.isFirst else { return epoch <= claims[now.claim].rosterEpoch }
    if reader.roster.isRepeated { return epoch <= now.rosterEpoch }
    now.rosterEpoch = reader.rosterVersions.epoch
    claims.recordRoster(now.claim, reader.roster.bit, since: epoch, epoch: now.rosterEpoch)
    return true
  }

  // MARK: - Results of steps

  /// The name of the recipients file to read from, followed by a NUL.
  @_lifetime(borrow self)
  public func recipientsName() -> Span<UInt8> { reader.roster.name() }

  /// Where in the recipients file to read from.
  public var recipientsOffset: Int64 { reader.roster.readOffset }

  /// Where to put the bytes read.
  public var recipientsRoom: UnsafeMutableBufferPointer<UInt8> { reader.roster.room }

  /// Takes more bytes of the recipients file; with `isWhole` they end the file.
  public mutating func readRecipients(_ identity: FileIdentity, bytes: Int, isWhole: Bool) {
    reader.roster.filled(since: recordRoster(identity), bytes: bytes, isWhole: isWhole)
  }

  /// Handles a recipients file that cannot be read.
  public mutating func couldNotReadRecipients(_ failure: OpenFailure) {
    if case .later = failure {
      interruptReading()
      reader.pause(at: time.now)
      return
    }
    reader.roster.failed(since: recordRoster(nil), failure)
  }

  private mutating func recordRoster(_ identity: FileIdentity?) -> UInt32 {
    let age = claims[reader.roster.owner!.claim].age
    return reader.rosterVersions.record(reader.roster, identity, for: age, in: claims)
  }
}
