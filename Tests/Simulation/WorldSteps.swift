import TinyPush
import TinyPushBinary

/// What the agent does for each of the courier's steps.
extension World {
  // MARK: - Spool

  func scan(_ directory: Courier.Directory) {
    var isComplete = true
    var lingering = false
    switch directory {
    case .new:
      scans += 1
      noticeSuppression()
      isComplete = disk.canScan
      if isComplete {
        for name in shuffle(disk.names) { courier.offer(name.bytes.span, in: .new) }
      }
    case .taken:
      for name in shuffle(disk.taken.keys.sorted()) where !courier.isUnderWay(name.bytes.span) {
        if !sweep(name) { lingering = true }
      }
    case .later:
      isComplete = disk.canScanLater
      if isComplete { scanLater() } else { excuseReplaced() }
    }
    courier.scanned(directory, isComplete: isComplete, lingering: lingering)
  }

  /// Offers a file in `taken/`, or removes a settled one; returns false if it stays.
  private func sweep(_ name: String) -> Bool {
    let file = disk.taken[name]!
    let known = TakenName(name.bytes.span)!
    let settled = known.offset
    if Int(settled) < file.bytes.count {
      courier.offer(name.bytes.span, in: .taken)
      return true
    }
    let isSilent = file.cameAt.until(timeline.now) > .seconds(600)
    guard !file.mayGrow || isSilent else { return false }
    guard case .removed = disk.remove(name, bytes: settled) else { return false }
    file.isOriginalKept = known.movesToFailed
    ledger.removed(file, file.name)
    removed.append((file.name, timeline.now))
    return true
  }

  /// Excuses the files that should be replaced now, and cannot be.
  private func excuseReplaced() {
    for name in disk.later.keys where courier.isReplaced(name.bytes.span) {
      disk.later[name]!.isExcused = true
    }
  }

  private func scanLater() {
    var count = 0
    for name in shuffle(disk.later.keys.sorted()) {
      guard courier.isReplaced(name.bytes.span) else {
        courier.offer(name.bytes.span, in: .later)
        continue
      }
      let file = disk.later[name]!
      trace.say("  cancel \(name)")
      guard disk.cancel(name) else {
        file.isExcused = true
        continue
      }
      ledger.cancelled(file)
      count += 1
    }
    courier.cancelled(count)
  }

  func read(_ directory: Courier.Directory) {
    var name = String(courier.stepName())
    trace.say("  \(name)")
    guard let file = directory == .new ? disk.new[name] : disk.taken[name] else {
      return courier.read(.failed(.vanished))
    }
    if let failure = file.failure {
      if case .unreadable = failure {
        ledger.reopen(file)
        guard directory == .new, courier.takesUnreadable(changeTimeNs: file.changeTimeNs) else {
          return courier.read(.failed(.unreadable(13, changeTimeNs: file.changeTimeNs)))
        }
        guard disk.take(name) != nil else { return courier.read(.failed(.notTaken(30))) }
        return courier.read(
          .text(
            bytes: 0, isWhole: false,
            Courier.FileFacts(
              arrivalNs: file.arrivalNs, modifiedNs: file.changeTimeNs, size: 0, mayGrow: true)))
      }
      return courier.read(.failed(failure))
    }
    if directory == .new {
      if file.isBeingWritten, !file.mayGrow { return courier.read(.failed(.busy)) }
      guard let target = disk.take(name) else { return courier.read(.failed(.notTaken(30))) }
      name = target
    }
    let offset = min(Int(courier.readOffset), file.bytes.count)
    guard offset < file.readableBytes else {
      ledger.reopen(file)
      return courier.read(.failed(.unreadable(5)))
    }
    ledger.opened(file)
    let room = courier.readRoom()
    let count = min(
      room.count, min(file.bytes.count, file.readableBytes) - offset, disk.readBytesMax)
    _ = room.update(fromContentsOf: file.bytes[offset..<offset + count])
    courier.read(
      .text(
        bytes: count, isWhole: offset + count == file.bytes.count,
        Courier.FileFacts(
          arrivalNs: file.arrivalNs, modifiedNs: file.changeTimeNs, size: Int64(file.bytes.count),
          mayGrow: file.mayGrow && (directory == .new || courier.mayFileGrow))))
  }

  func readRecipients() {
    let name = String(courier.stepName())
    trace.say("  \(name)")
    guard let list = disk.lists[name] else { return courier.readRecipients(.failed(.vanished)) }
    if let failure = list.failure { return courier.readRecipients(.failed(failure)) }
    let offset = min(Int(courier.recipientsOffset), list.bytes.count)
    let room = courier.recipientsRoom
    let count = min(room.count, list.bytes.count - offset, disk.readBytesMax)
    _ = room.update(fromContentsOf: list.bytes[offset..<offset + count])
    courier.readRecipients(
      .text(bytes: count, isWhole: offset + count == list.bytes.count, list.identity))
  }

  // MARK: - Notifications for later

  func release() {
    let name = String(courier.stepName())
    let target = String(courier.stepTarget())
    trace.say("  \(name) to \(target)")
    guard let file = disk.later[name] else { return courier.released(.isGone) }
    var hasSource = file.isSummary
    if let source = LaterName.sourceRange(in: courier.stepName()) {
      let source = String(name.utf8.dropFirst(source.lowerBound))!
      hasSource = hasSource || disk.waiting.contains { $0.name == source }
    }
    if file.isTorn, hasSource {
      _ = disk.cancel(name)
      if !file.isSummary { ledger.removedTorn(file, name) }
      return courier.released(.isGone)
    }
    if !file.isTorn, !disk.isSynced(name) {
      complain("\(name) goes to taken/, where a power cut would tear it")
    }
    guard disk.release(name, as: target) else { return courier.released(.failed) }
    ledger.released(file)
    courier.released(.released)
  }

  func record() {
    switch courier.recordTask {
    case .summary: return summarize()
    case .probe: return courier.recorded(disk.canRecord)
    default: break
    }
    let name = String(courier.recordedName())
    var taken = Text(capacity: 300)
    courier.appendRecordedTakenName(to: &taken)
    let file = disk.taken[String(taken.bytes)]
    let source = file ?? disk.setAside[String(taken.bytes)]
    if case .postponed = courier.recordTask, let token = courier.settlement.token {
      let serial = World.serial(in: String(courier.failure()))
      ledger.waits(World.number(World.number(token), serial: serial))
    }
    if settings.reportsSettlements { ledger.settlementReported(courier.settlement, of: file) }
    switch courier.recordTask {
    case .report, .summary, .probe: return courier.recorded(true)
    case .postponed:
      let target = String(courier.stepTarget())
      trace.say("  postpone \(target)")
      let isPostponed = disk.postpone([UInt8](courier.failure()), as: target, from: source)
      ledger.postponed(source, isPostponed)
      return courier.recorded(isPostponed)
    case .failure: break
    }
    let text = String(courier.failure())
    guard let failure = Failure(text) else {
      complain("not a line of JSON: \(text.prefix(300))…\(text.suffix(40))")
      return courier.recorded(true)
    }
    if failure.file != name { complain("\(text) is recorded for \(name)") }
    let isRecorded = disk.record(failure, of: file)
    let isInvalid =
      failure.status == Int(Status.invalidToken.rawValue)
      || failure.reason.contains("bad device token")
    let isSpared = failure.reason.contains("; the token was accepted before")
    if isSpared, let number = failure.number,
      !gateway.acceptances.keys.contains(where: { $0 % Self.tokensMax == number % Self.tokensMax })
    {
      complain("\(number) is spared, and was never accepted")
    }
    if isRecorded, isInvalid, !isSpared, let number = failure.number, let source {
      ledger.refuses(number, in: source)
    }
    trace.note("failure", at: timeline.elapsed, failure.number ?? 0, isRecorded ? 1 : 0)
    trace.say("  \(text.prefix(400))")
    ledger.recorded(failure, of: file, name, isRecorded)
    courier.recorded(isRecorded)
    if isRecorded, isInvalid, !isSpared, let number = failure.number {
      ledger.learnsInvalid(number, learned)
    }
    recordedLine = text
    if isRecorded { onRecord() }
  }

  private func summarize() {
    let name = String(courier.stepTarget())
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
      excuseReplaced()
      for file in disk.waiting {
        // Notifications with a collapse ID may have been replaced by one that is not safe.
        ledger.reopen(file, ifFailed: !file.items.contains { $0.collapseKey != nil })
      }
    }
    courier.synced(isSynced)
    if !isSynced { ledger.forgetsInvalidTokens(learned) }
  }

  func remove() {
    let name = String(courier.stepName())
    let file = disk.taken[name]
    let isUnreadable = courier.isSettledUnreadable
    let result =
      isUnreadable ? disk.setAside(name) : disk.remove(name, bytes: courier.settledBytes)
    file?.isOriginalKept = courier.isSettledSetAside
    trace.note("removal", at: timeline.elapsed, Int(file?.inode ?? 0))
    if let file, case .removed = result {
      ledger.learns(learned)
      if isUnreadable { ledger.forget(file) } else { ledger.removed(file, file.name) }
      removed.append((file.name, timeline.now))
    }
    courier.removed(result)
  }

  func rename() {
    let (name, target) = (String(courier.stepName()), String(courier.stepTarget()))
    ledger.learns(learned)
    guard let file = disk.taken[name] else {
      complain("\(name) is renamed, and is not there")
      return courier.renamed(true)
    }
    let known = TakenName(target.bytes.span)!
    let offset = known.offset
    file.isOriginalKept = known.movesToFailed
    ledger.renames(file, settledTo: offset)
    trace.note("renamed", at: timeline.elapsed, Int(offset))
    courier.renamed(disk.rename(name, to: target))
  }

  // MARK: - Connection

  func dial() {
    dials += 1
    if http2 == nil { ledger.dials() }
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
    ledger.writes(bytes, isDamageKnown: courier.suppression.lists.isDamaged)
    trace.note("wrote", at: timeline.elapsed, bytes.count)
    trace.say("  \(WireFrame.numbers(of: bytes))")
    if let wait = blocks(writes) {
      blockedBytes = bytes
      timeline.plan(after: wait) { connection.isWritable = true }
      return link.blocked()
    }
    blockedBytes = nil
    link.forEachFirst { _ = courier.arrivalNs(of: $0) }
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
