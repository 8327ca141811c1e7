/// Writing records to `failed/`, and their consequences.
extension Courier {
  // MARK: - Records

  /// Records a notification that was refused before it was sent.
  @inline(never)
  mutating func record(_ finding: Finding, object: Range<Int>, of now: inout Reading) {
    guard isShown(now.claim) else { return }
    let isWhole = recorder.refuse(
      finding, object, of: &now, in: reader.input, claims)
    if !isWhole { claims.decide(now.claim, .movesToFailed) }
  }

  /// Records a problem with a recipients file that keeps a notification from a recipient.
  @inline(never)
  mutating func record(
    _ problem: Roster.Problem, _ notification: Notification, of now: inout Reading
  ) {
    now.beginning = .passed
    guard isShown(now.claim) else { return }
    let isWhole = recorder.refuse(
      problem, in: reader.roster, notification, of: &now, in: reader.input,
      claims)
    if !isWhole { claims.decide(now.claim, .movesToFailed) }
  }

  /// Records a notification that was rejected.
  @inline(never)
  mutating func record(
    _ rejection: Rejection, _ notification: Notification, _ token: DeviceToken,
    _ language: LanguageTag?, of now: Reading
  ) {
    recorder.reject(
      rejection, notification, token, language, of: now, in: reader.input, claims,
      isSilent: settings.format == .simple,
      isSpared: rejection.suppressesToken && accepted.spares(token.identity.hash, at: time.now))
  }

  /// Records that a long part of a file holds no notification.
  @inline(never)
  mutating func recordGarbage(_ now: Reading) {
    recorder.refuseGarbage(
      of: now.claim, from: max(now.objectEnd, now.passUntil), claims)
    claims.decide(now.claim, .movesToFailed)
  }

  /// Records that a file cannot be read.
  @inline(never)
  mutating func record(unreadable claim: ClaimNumber, _ error: Int32) {
    recorder.refuseUnreadable(claim, error, claims)
    claims.decide(claim, .stays)
  }

  /// Whether to record one more refused notification of a file.
  ///
  /// The first one over the limit is replaced by a record that says so.
  @inline(never)
  private mutating func isShown(_ claim: ClaimNumber) -> Bool {
    let refusals = claims.recordRefusal(claim)
    if refusals <= Recorder.refusalsMax { return true }
    if refusals == Recorder.refusalsMax + 1 {
      recorder.refuseMore(of: claim, claims)
      claims.decide(claim, .movesToFailed)
    } else {
      counters.failedCheck += 1
    }
    return false
  }

  // MARK: - Results of steps

  /// The line to record.
  @_lifetime(borrow self)
  public func failure() -> Span<UInt8> { recorder.text.bytes }

  /// The name of the file to which the failure belongs.
  @_lifetime(borrow self)
  public func failureName() -> Span<UInt8> { claims.name(recorder.pending!.claim) }

  /// Whether the agent must also move the file itself to `failed/`.
  public var failureMovesFile: Bool { recorder.pending?.kind == .unreadable }

  /// Handles the result of writing the record.
  ///
  /// If the record could not be written, its file stays in `new/`, and is tried again at a later
  /// scan.
  @inline(never)
  public mutating func recorded(_ isRecorded: Bool) {
    guard let pending = recorder.takePending(), pending.kind != .settled else { return }
    if pending.kind == .summary { return summarized(isRecorded) }
    guard isRecorded else {
      if pending.kind == .postponed { later.endCancelling() }
      claims.decide(pending.claim, .unrecorded)
      return
    }
    recorder.isUnsynced = true
    claims.recordUnsyncedRecord(pending.claim)
    switch pending.kind {
    case .postponed:
      counters.postponed += 1
      later.written()
    case .rejected, .settled, .summary: break
    case .limited:
      counters.limited += 1
      if let (token, topic) = pending.limited { limits.storms.count(token, topic) }
    case .refused, .unreadable: counters.failedCheck += 1
    }
    guard let token = pending.invalidToken else { return }
    accepted.refuse(token.identity.hash, at: time.now)
    if pending.isSpared { return report(.tokenSpared(token.firstDigits), pending.claim) }
    let wasKnown = suppression.isForbidden(token.identity)
    suppression.learnInvalid(token.identity, registered: pending.registered, now: time.wallSeconds)
    if !wasKnown { report(.tokenInvalid(token.firstDigits), pending.claim) }
  }

  /// Reports an event about a token, with the name of the file.
  @inline(never)
  mutating func report(_ report: Report, _ claim: ClaimNumber) {
    if report.suppressesToken { counters.tokensSuppressed += 1 }
    reportedName.clear()
    claims.appendName(claim, to: &reportedName)
    reports.add(report)
  }

  /// Handles the result of syncing the records.
  ///
  /// After a failure the system may have lost some records, and it reports this only once. So each
  /// file under way with a failure stays and is delivered again, and its rejections are recorded
  /// again.
  @inline(never)
  public mutating func synced(_ isSynced: Bool) {
    recorder.isUnsynced = false
    later.isUnsynced = false
    claims.synced(isSynced)
    guard !isSynced else { return }
    later.endCancelling()
    suppression.forgetInvalidTokens()
  }
}
