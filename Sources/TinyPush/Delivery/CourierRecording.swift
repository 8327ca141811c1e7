/// Writing records to `failed/` and `later/`, reporting settlements, and what follows from both.
extension Courier {
  /// What the agent does with the record of ``Step/record``.
  public enum RecordTask {
    /// Append ``failure()`` to the file ``recordedName()`` of `failed/`.
    case failure
    /// Create the file ``stepTarget()`` of `later/` with the text ``failure()``, whole or not at
    /// all.
    case postponed
    /// Do the same; the text is a summary, which comes from no file.
    case summary
    /// Only report the ``settlement``.
    case report
    /// Only find out whether a failure of ``failureBytesMax`` bytes could be recorded.
    case probe
  }

  /// Returns the step for the pending record.
  mutating func recordStep() -> Step {
    switch recorder.pending!.task {
    case .postponed, .summary: target.set { $0.append(later.fileName) }
    case .failure, .report, .probe: break
    }
    return .record
  }

  /// What to do with the record.
  public var recordTask: RecordTask { recorder.pending!.task }

  /// Whether the record goes to `failed/`.
  public var isFailure: Bool {
    switch recordTask {
    case .failure: true
    case .postponed, .summary, .report, .probe: false
    }
  }

  /// The line to record.
  @_lifetime(borrow self)
  public func failure() -> Span<UInt8> { recorder.text.bytes }

  /// The name in `new/` of the file to which the record belongs, followed by a NUL.
  @_lifetime(borrow self)
  public func recordedName() -> Span<UInt8> {
    if let file = recorder.pending?.file { return files.name(file) }
    return name.bytes()
  }

  /// Appends the name in `taken/` of the file to which the record belongs, if the file was taken.
  package func appendRecordedTakenName(to text: inout Text) {
    if let file = recorder.pending?.file { files.appendTakenName(file, to: &text) }
  }

  /// The settlement to report, unless the record is a summary.
  public var settlement: Settlement { recorder.pending!.settlement }

  /// Appends ` at HOST` if the settled message goes to a browser: the host of the push service.
  @inline(never)
  public func appendService(to text: inout Text) {
    guard let message = recorder.pending?.message else { return }
    let word = outbox.subscription(outbox[message])
    do throws(Subscription.Problem) {
      let host = try Subscription(word).authority
      text.append(" at ", printable: word.extracting(host))
    } catch {}
  }

  /// Whether the notification's sender waits for its settlement.
  public var isSettlementAwaited: Bool {
    recorder.pending?.file.map { files[$0].isAwaited } ?? false
  }

  /// Appends the name under which a postponed notification comes back.
  public func appendPostponedName(to text: inout Text) {
    LaterName(later.fileName.bytes)?.appendReleased(later.fileName.bytes, to: &text)
  }

  // MARK: - Refusals before sending

  /// Records a notification that was refused before it was sent.
  @inline(never)
  mutating func record(_ finding: Finding, object: Range<Int>, of file: FileNumber) {
    let offset = reader.cursor.offset + Int64(object.lowerBound)
    guard isShown(file, at: offset) else { return }
    let isWhole = recorder.refuse(finding, object, in: reader, of: file, files)
    if !isWhole { files.moveToFailed(file) }
  }

  /// Records a problem with a recipients file that keeps a notification from a recipient.
  @inline(never)
  mutating func record(
    _ problem: RecipientsReader.Problem, _ notification: Notification, _ text: UInt16,
    of file: FileNumber
  ) {
    outbox.touch(text)
    let offset = outbox[text: text].offset
    guard isShown(file, at: offset) else { return }
    let isWhole = recorder.refuse(
      problem, in: reader.recipientsReader, notification, text, outbox, files)
    if !isWhole { files.moveToFailed(file) }
  }

  /// Records that a long part of a file holds no notification.
  @inline(never)
  mutating func recordGarbage(_ file: FileNumber) {
    recorder.refuseGarbage(of: file, files, from: reader.cursor.objectEnd)
    files.moveToFailed(file)
    finish(file)
    // The rest is not read.
    files[file].cursor.offset = files[file].size
  }

  /// Records that a file in `taken/` cannot be read.
  @inline(never)
  mutating func recordUnreadable(_ file: FileNumber, _ failure: OpenFailure) {
    files.decide(file, .isUnreadable)
    finish(file)
    recorder.refuseUnreadable(failure, of: file, files, from: files[file].cursor.offset)
  }

  /// Whether to record one more refused notification of a file.
  ///
  /// The first one over the limit is replaced by a record that says so.
  @inline(never)
  private mutating func isShown(_ file: FileNumber, at offset: Int64) -> Bool {
    let refusals = files.recordRefusal(file)
    if refusals <= Recorder.refusalsMax { return true }
    if refusals == Recorder.refusalsMax + 1 {
      recorder.refuseMore(of: file, files, from: offset)
      files.moveToFailed(file)
    } else {
      counters.failedCheck += 1
    }
    return false
  }

  // MARK: - Outcomes

  /// Returns whether each settlement of a file is reported.
  func reportsSettlements(of file: FileNumber) -> Bool {
    settings.reportsSettlements || files[file].isAwaited
  }

  /// Records or reports what became of a message that the link had.
  @inline(never)
  mutating func recordDecided(_ message: MessageNumber) {
    let entry = outbox[message]
    let file = outbox[text: entry.text].file
    outbox.move(message, to: .link)
    if case .postponed = entry.outcome {
      return files[file].isDropped ? drop(message) : postponeStuck(message)
    }
    guard case .rejected(let rejection) = entry.outcome, let notification = notification(entry.text)
    else { return recorder.settle(entry.outcome, entry.text, message, in: outbox) }
    forgetSending(notification, entry)
    guard !rejection.isGone else {
      let wasKnown = suppression.isForbidden(entry.token.identity)
      suppression.learnGone(
        entry.token.identity, since: rejection.since,
        registered: registration(of: entry, notification), now: time.wallSeconds)
      if !wasKnown, suppression.isForbidden(entry.token.identity) {
        report(.tokenGone(entry.token.firstDigits), file)
      }
      return recordSettlement(of: message, entry.outcome)
    }
    recorder.reject(
      rejection, notification, message, in: outbox, files,
      isSpared: rejection.suppressesToken
        && accepted.spares(entry.token.identity.hash, at: time.now))
  }

  // MARK: - Results of steps

  /// Handles the result of writing the record.
  ///
  /// If the record could not be written, its file stays in `taken/` and is read again later.
  @inline(never)
  public mutating func recorded(_ isRecorded: Bool) {
    guard let pending = recorder.pending.take() else { return }
    defer { if let message = pending.message { settle(message) } }
    switch pending.task {
    case .report: return
    case .summary: return summarized(isRecorded)
    case .probe:
      if isRecorded {
        waiting.isTakenWanted = true
        // The trouble ends with the next sync, also if nothing of it is left to be recorded.
        troubles.recorded()
        recorder.isUnsynced = true
      }
      return troubles.probed(isRecorded, at: time.now)
    default: break
    }
    guard isRecorded else { return couldNotRecord(pending) }
    troubles.recorded()
    recorder.isUnsynced = true
    if let file = pending.file { files[file].hasUnsyncedRecord = true }
    switch pending.settlement.outcome {
    case .postponed:
      counters.postponed += 1
      later.written()
    case .limited:
      counters.limited += 1
      if let (token, topic) = pending.limited { limits.storms.count(token, topic) }
    case .failedCheck: counters.failedCheck += 1
    default: break
    }
    guard case .rejected(let rejection) = pending.settlement.outcome, rejection.suppressesToken,
      let message = pending.message
    else { return }
    let entry = outbox[message]
    guard let notification = notification(entry.text) else { return }
    let token = entry.token
    let isSpared = accepted.spares(token.identity.hash, at: time.now)
    accepted.refuse(token.identity.hash, at: time.now)
    let file = pending.file!
    if isSpared { return report(.tokenSpared(token.firstDigits), file) }
    let wasKnown = suppression.isForbidden(token.identity)
    suppression.learnInvalid(
      token.identity, registered: registration(of: entry, notification), now: time.wallSeconds)
    if !wasKnown { report(.tokenInvalid(token.firstDigits), file) }
  }

  private mutating func couldNotRecord(_ pending: Recorder.Pending) {
    troubles.couldNotRecord(at: time.now, &reports)
    files.couldNotRecord(pending.file!, at: pending.settlement.offset)
  }

  /// Reports an event about a token, with the name of the file.
  @inline(never)
  mutating func report(_ report: Report, _ file: FileNumber) {
    if report.suppressesToken { counters.tokensSuppressed += 1 }
    reportedName.clear()
    files.appendName(file, to: &reportedName)
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
    later.synced()
    files.synced(isSynced)
    guard !isSynced else { return troubles.synced(&reports) }
    troubles.couldNotRecord(at: time.now, &reports)
    later.endCancelling()
    suppression.learned.forgetInvalidTokens()
  }
}
