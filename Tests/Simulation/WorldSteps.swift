import TinyPush
import TinyPushBinary

/// What the agent does for each of the courier's steps.
extension World {
  // MARK: - Spool

  func open() {
    if openFile != nil { complain("opened a file while another one is open") }
    let name = String(courier.fileName())
    guard let file = disk.new[name] else { return courier.couldNotOpen(.vanished) }
    if let failure = file.failure {
      if case .unreadable = failure { ledger.reopen(file) }
      return courier.couldNotOpen(failure)
    }
    ledger.opened(file, name)
    let offset = Int(courier.readOffset)
    let count = fill(file)
    let isWhole = offset + count >= file.bytes.count
    openFile = isWhole ? nil : file
    var identity = file.identity
    var delivered: Int64 = 0
    if let known = courier.known(inode: file.inode), file.begins(as: known.identity, known.content)
    {
      if courier.isNewFile { delivered = known.content.bytes } else { identity = known.identity }
    }
    courier.opened(
      identity, bytes: count, isWhole: isWhole, lastByte: file.bytes.last { $0 > 0x20 } ?? 0,
      delivered: delivered)
  }

  func read() {
    guard let file = openFile else {
      complain("read without an open file")
      return courier.filled(bytes: 0, isWhole: true)
    }
    if courier.readOffset >= file.readableBytes {
      openFile = nil
      ledger.reopen(file)
      return courier.couldNotRead(5)
    }
    let count = fill(file)
    if count == 0 { openFile = nil }
    courier.filled(bytes: count, isWhole: count == 0)
  }

  private func fill(_ file: SpoolFile) -> Int {
    let offset = min(Int(courier.readOffset), file.bytes.count)
    let room = courier.inputRoom
    let count = min(room.count, file.bytes.count - offset, disk.readBytesMax)
    _ = room.update(fromContentsOf: file.bytes[offset..<offset + count])
    return count
  }

  func readRecipients() {
    let name = String(courier.recipientsName())
    trace.say("  \(name)")
    guard let list = disk.lists[name] else { return courier.couldNotReadRecipients(.vanished) }
    if let failure = list.failure { return courier.couldNotReadRecipients(failure) }
    let offset = min(Int(courier.recipientsOffset), list.bytes.count)
    let room = courier.recipientsRoom
    let count = min(room.count, list.bytes.count - offset, disk.readBytesMax)
    _ = room.update(fromContentsOf: list.bytes[offset..<offset + count])
    courier.readRecipients(
      list.identity, bytes: count, isWhole: offset + count == list.bytes.count)
  }

  // MARK: - Waiting files

  func survey() {
    let name = String(courier.surveyName())
    trace.say("  \(name)")
    guard let file = disk.new[name], file.failure == nil else { return courier.couldNotSurvey() }
    guard courier.surveyOffset < file.readableBytes else { return courier.couldNotSurvey() }
    let offset = min(Int(courier.surveyOffset), file.bytes.count)
    let room = courier.surveyRoom
    let count = min(room.count, file.bytes.count - offset, disk.readBytesMax)
    _ = room.update(fromContentsOf: file.bytes[offset..<offset + count])
    courier.surveyed(
      file.identity, bytes: count, isWhole: offset + count == file.bytes.count)
  }

  func verify() {
    let name = String(courier.verifiedName())
    trace.say("  \(name)")
    let file = disk.new[name]
    courier.verified(file != nil && file?.identity == courier.verifiedIdentity)
  }

  func release() {
    let name = String(courier.dueName())
    var text = Text(capacity: 300)
    courier.appendReleasedName(to: &text)
    let target = String(text.bytes)
    trace.say("  release \(name)")
    guard let file = disk.later[name] else { return courier.couldNotRelease(isGone: true) }
    var hasSource = file.isSummary
    if let source = LaterName.sourceRange(in: courier.dueName()) {
      hasSource = hasSource || disk.new[String(name.utf8.dropFirst(source.lowerBound))!] != nil
    }
    if file.isTorn, hasSource {
      _ = disk.cancel(name)
      if !file.isSummary { ledger.removedTorn(file, name) }
      return courier.couldNotRelease(isGone: true)
    }
    if !file.isTorn, !disk.isSynced(name) {
      complain("\(name) goes to new/, where a power cut would tear it")
    }
    guard disk.release(name, as: target) else { return courier.couldNotRelease(isGone: false) }
    ledger.released(file)
    notices.append(.ended(target))
    courier.released()
  }

  func cancel() {
    var count = 0
    for name in disk.later.keys.sorted() where courier.isReplaced(name.bytes.span) {
      let file = disk.later[name]!
      trace.say("  cancel \(name)")
      guard disk.canScanLater, disk.cancel(name) else {
        file.isExcused = true
        continue
      }
      ledger.cancelled(file)
      count += 1
    }
    courier.cancelled(count)
  }

  func record() {
    if courier.isSummarizing { return summarize() }
    if settings.reportsSettlements {
      ledger.settlementReported(courier.settlement, of: String(courier.failureName()))
    }
    guard courier.hasFailure else { return courier.recorded(true) }
    if courier.isPostponing {
      let name = String(courier.laterFileName())
      trace.say("  postpone \(name)")
      let source = life(of: courier.failureName())
      let isPostponed = disk.postpone([UInt8](courier.failure()), as: name, from: source)
      ledger.postponed(source, isPostponed)
      return courier.recorded(isPostponed)
    }
    let name = String(courier.failureName())
    let text = String(courier.failure())
    guard let failure = Failure(text) else {
      complain("not a line of JSON: \(text.prefix(300))…\(text.suffix(40))")
      return courier.recorded(true)
    }
    if failure.file != name { complain("\(text) is recorded for \(name)") }
    let file = disk.new[name]
    let isRecorded = disk.record(failure, of: name, movesFile: courier.failureMovesFile)
    let isInvalid =
      failure.status == Int(Status.invalidToken.rawValue)
      || failure.reason.contains("bad device token")
    let isSpared = failure.reason.contains("; the token was accepted before")
    if isSpared, let number = failure.number,
      !gateway.acceptances.keys.contains(where: { $0 % Self.tokensMax == number % Self.tokensMax })
    {
      complain("\(number) is spared, and was never accepted")
    }
    if isRecorded, isInvalid, !isSpared, let number = failure.number,
      let file = life(of: name.bytes.span)
    {
      ledger.refuses(number, in: file)
    }
    trace.note("failure", at: timeline.elapsed, failure.number ?? 0, isRecorded ? 1 : 0)
    if isRecorded, courier.failureMovesFile, let file { ledger.forget(file) }
    ledger.recorded(failure, of: name, isRecorded)
    courier.recorded(isRecorded)
    if isRecorded, isInvalid, !isSpared, let number = failure.number {
      ledger.learnsInvalid(number, learned)
    }
    if isRecorded { onRecord() }
  }

  private func summarize() {
    let name = String(courier.laterFileName())
    let text = String(courier.failure())
    trace.say("  summary \(name): \(text.dropLast())")
    guard let summary = Summary(text) else {
      complain("no summary: \(text)")
      return courier.recorded(true)
    }
    let number = World.number(summary.number, serial: World.serialOfSummaries)
    let isWritten = disk.canRecord && disk.canPostpone
    if isWritten {
      let items = ledger.put([Item(number: number)], into: name)
      _ = disk.keepForLater([UInt8](text.utf8), as: name, items)
      disk.later[name]!.isSummary = true
    }
    ledger.summarized(summary, isWritten)
    courier.recorded(isWritten)
  }

  func sync() {
    let isSynced = disk.sync()
    if !isSynced {
      // A file that was to be replaced may stay until its replacement is read again.
      for name in disk.later.keys where courier.isReplaced(name.bytes.span) {
        disk.later[name]!.isExcused = true
      }
      for name in disk.names {
        let file = disk.new[name]!
        // Notifications with a collapse ID may have been replaced by one that is not safe.
        ledger.reopen(file, ifFailed: !file.items.contains { $0.collapseKey != nil })
      }
    }
    courier.synced(isSynced)
    if !isSynced { ledger.forgetsInvalidTokens(learned) }
  }

  func remove() {
    let name = String(courier.settledName())
    let file = disk.new[name]
    let removal = disk.remove(name, courier.settledIdentity, courier.settledContent)
    if courier.isSettledSetAside { file?.isOriginalKept = true }
    trace.note("removal", at: timeline.elapsed, Int(file?.inode ?? 0))
    if let file, case .removed = removal {
      ledger.learns(learned)
      ledger.removed(file, name)
      removed.append((name, timeline.now))
    }
    if let file, case .failed = removal { ledger.held(file) }
    courier.removed(removal)
  }

  func keepProgress() {
    let progress = courier.progressToKeep
    ledger.learns(learned)
    ledger.keeps(progress)
    trace.note("progress", at: timeline.elapsed, Int(progress?.offset ?? 0))
    courier.keptProgress(disk.keep(progress))
  }

  private func life(of name: Span<UInt8>) -> SpoolFile? {
    let name = String(name)
    return ledger.life.files[name] ?? disk.new[name]
  }

  // MARK: - Connection

  func dial() {
    dials += 1
    if http2 == nil, scattered == nil { ledger.dials() }
    if connection != nil { complain("dialed while connected") }
    let life = lives
    let isUp = canDial(dials)
    timeline.plan(after: (isUp ? 4 : 2) * gateway.latency) { [self] in
      guard lives == life else { return }
      dialed = isUp
      guard isUp else { return }
      connections += 1
      connection = Connection(number: connections, timeline)
    }
  }

  func write() {
    guard let connection else { return complain("wrote without a connection") }
    if connection.hasUnread, lastWord != .listen { complain("wrote before reading what had come") }
    let bytes = [UInt8](link.batchContents())
    if bytes.isEmpty || bytes.count > 16_384 { complain("a record of \(bytes.count)") }
    if let blockedBytes, blockedBytes != bytes { complain("blocked bytes changed") }
    writes += 1
    ledger.learns(learned)
    ledger.writes(bytes, isDamageKnown: courier.isSuppressionDamaged)
    trace.note("wrote", at: timeline.elapsed, bytes.count)
    trace.say("  \(WireFrame.numbers(of: bytes))")
    if let wait = blocks(writes) {
      blockedBytes = bytes
      timeline.plan(after: wait) { connection.isWritable = true }
      return link.blocked()
    }
    blockedBytes = nil
    link.forEachFirst { _ = courier.file(of: $0) }
    connection.write(bytes, latency: gateway.latency) { [gateway] wireEnd in
      gateway.arrive(connection, bytes, wireEnd: wireEnd)
    }
    ledger.wrote(wireEnd: connection.written)
    link.wrote(wireEnd: connection.written)
    ledger.beginsBatch()
  }

  func sample() {
    guard let connection else { return complain("sampled without a connection") }
    link.sampled(
      unacknowledged: Int(connection.written - connection.acknowledged),
      since: connection.acknowledgedAt.until(timeline.now),
      roundTrip: .milliseconds(2 * gateway.latency))
  }
}
