import TinyPush

extension Trial {
  // MARK: - Faults

  func inject(_ kind: Faults.Kind) {
    world.trace.say("\(kind) happens")
    let settle = world.binary.settle.milliseconds
    switch kind {
    case .close: world.cut()
    case .reset: world.connection?.reset(latency: 0, hides: true)
    case .death:
      if world.http2 == nil {
        dieSilently()
      } else {
        let time = UInt64(random.upTo(random.oneIn(2) ? 2000 : 90_000))
        world.http2!.swallow(for: random.oneIn(2) ? nil : time)
      }
    case .stall:
      let longest = faults.isPrompt ? settle / 4 : 3 * settle
      world.stalledUntil = world.timeline.now + .milliseconds(UInt64(random.upTo(Int(longest))))
    case .slow: world.latency = random.pick([0, 5, 150])
    case .dialing: dialsUntil = until(random.upTo(60_000)) { $0.dialsUntil = nil }
    case .blocking: blocksOneIn = random.pick([1, 3, 20])
    case .shutdown: responses.append(.shutdown)
    case .vanish: responses.append(.vanish)
    case .garbage: responses.append(.say(garbage()))
    case .split: world.answerPace = UInt64(random.pick([0, 1, 40]))
    case .hidden: during(random.upTo(5000)) { $0.world.hidesAnswers = $1 }
    case .late: world.answerDelay = UInt64(random.upTo(Int(3 * settle)))
    case .crash: agentFault = .crash
    case .powerCut: agentFault = .powerCut
    case .stop: agentFault = .stop
    case .sleep: agentFault = .sleep(UInt64(random.upTo(random.oneIn(2) ? 20_000 : 7_200_000)))
    case .rescan: world.courier.rescan()
    case .overflow:
      world.notices = [.overflow]
    case .diskFull:
      during(random.upTo(20_000)) {
        $0.world.canRecord = !$1
        $0.world.disk.suppression.canWrite = !$1
      }
    case .readOnly:
      during(random.upTo(60_000)) {
        $0.world.canRecord = !$1
        $0.world.canTake = !$1
        $0.world.canRemove = !$1
        $0.world.disk.suppression.canWrite = !$1
      }
    case .unsynced:
      during(random.upTo(3000)) {
        $0.world.canSync = !$1
        $0.world.disk.suppression.canSync = !$1
      }
    case .busy:
      guard let file = anyFile() else { return }
      let failure: OpenFailure = random.oneIn(2) ? .shortage : .busy
      file.failure = failure
      _ = until(random.upTo(9000)) { _ in file.failure = nil }
      guard let list = world.disk.lists["family"], list.failure == nil else { return }
      list.failure = failure
      _ = until(random.upTo(9000)) { _ in if list.isBusy { list.failure = nil } }
    case .unreadable:
      guard let file = anyFile() else { return }
      // Always, or from a place in the middle on.
      if random.oneIn(2) {
        file.failure = .unreadable(13)
      } else {
        file.readableBytes = random.upTo(file.bytes.count)
      }
    case .wall:
      world.wallAtStart = random.pick([nil, 1_700_000_000, 1_900_000_000, 1_700_090_000])
    case .replace, .append, .delete: changeFile(kind)
    case .list:
      if let list = workload.change(&random) { putList(list) }
    case .feedback: suppress()
    case .damage: world.disk.suppression.damage(&random)
    case .locked: during(random.upTo(40_000)) { $0.world.disk.suppression.isLocked = $1 }
    case .later:
      let isScan = random.oneIn(3)
      during(random.upTo(40_000)) {
        if isScan { $0.world.canScanLater = !$1 } else { $0.world.canPostpone = !$1 }
      }
    }
  }

  private func until(_ milliseconds: Int, _ act: @escaping (Trial) -> Void) -> Instant {
    let end = world.timeline.now + .milliseconds(UInt64(milliseconds))
    world.timeline.plan(at: end) { [self] in act(self) }
    return end
  }

  private func during(_ milliseconds: Int, _ set: @escaping (Trial, Bool) -> Void) {
    set(self, true)
    _ = until(milliseconds) { set($0, false) }
  }

  /// Lets nothing pass over the connection any more; the kernel finds out later.
  private func dieSilently() {
    guard let connection = world.connection else { return }
    connection.isDead = true
    world.timeline.plan(after: UInt64(20_000 + random.upTo(60_000))) { connection.timeOut() }
  }

  private func garbage() -> [UInt8] {
    random.pick([
      [8, 8, 0, 0, 0, 0], [8, 200, 0, 0, 0, 1], [21], [8], [8, 0, 0, 0, 0, 0],
      [8, 7, 127, 255, 255, 255], [8, 10, 0, 0, 0, 0], [72, 84, 84, 80],
    ])
  }

  /// Changes the suppression list, as a feedback service or a person does.
  private func suppress() {
    let now = world.timeline.time.wallSeconds ?? Workload.start
    var changes: [SuppressionRecord] = []
    var forget: Set<Int> = []
    for _ in 0...random.upTo(5) {
      let token = workload.anyToken(&random)
      let time = UInt32(
        random.pick([now, now - 1, now - Int64(random.upTo(2000)), Workload.start]))
      switch random.upTo(9) {
      case 0: forget.insert(token)
      case 1...2: changes.append(World.record(token, UInt32(now), .registered))
      case 3: changes.append(World.record(token, UInt32(now), .byHand))
      default: changes.append(World.record(token, time, .feedback))
      }
    }
    let (isWhole, tells, delay) = (random.oneIn(2), !random.oneIn(3), random.pick([0, 0, 500]))
    world.timeline.plan(after: UInt64(delay)) { [self] in
      world.suppress(changes, forget: forget, isWhole: isWhole, tells: tells)
    }
  }

  private func anyFile() -> SpoolFile? {
    let files = world.disk.waiting.filter { !beingWritten.contains($0.name) }
    return files.isEmpty ? nil : random.pick(files)
  }

  /// Lets a program change a file, as far as that is possible.
  ///
  /// A file in `taken/` changes only if a program has it open, and is not found by its name.
  private func changeFile(_ kind: Faults.Kind) {
    guard let file = anyFile() else { return }
    let name = file.name
    let isNew = world.disk.new[name] === file
    guard isNew || kind == .append && file.mayGrow || kind == .replace else { return }
    // Only the agent uses names with a dot. And if two files under one name are put aside, their
    // order is unknown.
    if name.contains("."), kind != .delete { return }
    if kind == .replace, workload.isTimed, workload.isCollapsing { return }
    switch kind {
    case .append:
      if !files.contains(where: { $0 === file }) { world.ledger.isUneventful = false }
      var (text, items) = workload.more(&random)
      for index in items.indices {
        items[index].offset += file.bytes.count
        items[index].end += file.bytes.count
      }
      world.ledger.numberMax = workload.numbers
      world.ledger.serialMax = workload.serials
      world.append(to: file, text, items: items, tells: random.oneIn(2))
    case .replace:
      let (text, items) = workload.more(&random)
      put(name, text, items, tells: random.oneIn(2))
    default:
      forget(file)
      world.delete(name)
    }
  }

  /// Ends the faults.
  ///
  /// Faults that belong to the run's settings continue, such as refusals.
  func calm() {
    isCalm = true
    agentFault = nil
    responses = []
    dialsUntil = nil
    stepMilliseconds = 0
    world.latency = min(world.latency, 20)
    world.answerDelay = min(world.answerDelay, world.binary.settle.milliseconds / 4)
    world.answerPace = min(world.answerPace, 1)
    world.hidesAnswers = false
    world.resets = false
    world.stalledUntil = nil
    // If the gateway also died at barriers, nobody could tell which notification ends connections.
    if !workload.deadly.isEmpty, world.barrierResponse == .vanish {
      world.barrierResponse = .answer
    }
    world.canRecord = true
    world.canSync = true
    world.canRemove = true
    world.canTake = true
    world.canScanLater = true
    world.canPostpone = true
    world.disk.suppression.canWrite = true
    world.disk.suppression.canSync = true
    world.disk.suppression.isLocked = false
    // Nothing is due while the clock is not set, neither what a link gave back (scattered seed
    // 110153172).
    if workload.isTimed || way != .binary, world.wallAtStart ?? 0 < Workload.start {
      world.wallAtStart = Workload.start
    }
    // What was put aside is due by the clock of that time.
    if workload.isLimiting || world.ledger.putsOff, faults.has(.wall) {
      world.wallAtStart = 1_900_000_000
    }
    for list in world.disk.lists.values where list.isBusy { list.failure = nil }
    for file in files {
      if file.isBusy { file.failure = nil }
      if !file.isBeingWritten { file.mayGrow = false }
    }
  }

  // MARK: - Faults of the agent

  func beforeStep(after word: Word) {
    if mustEnd || word == .wait && isDone {
      world.isFinished = true
      return
    }
    if stepMilliseconds > 0, random.oneIn(4) { pass(UInt64(random.upTo(stepMilliseconds))) }
    if let stopBy, world.timeline.now >= stopBy { agentFault = .crash }
    if crashesByChance(after: word) { agentFault = faults.has(.powerCut) ? .powerCut : .crash }
    guard let agentFault else { return }
    self.agentFault = nil
    switch agentFault {
    case .crash: restart()
    case .powerCut:
      world.trace.note("power cut", at: world.timeline.elapsed)
      world.disk.cutPower(&random)
      restart()
    case .stop:
      world.trace.note("stop", at: world.timeline.elapsed)
      world.courier.stop()
      world.ledger.isStopping = true
      let patience = way == .http2 ? .seconds(20) : world.binary.settle
      stopBy = world.timeline.now + patience + .seconds(5)
    case .sleep(let milliseconds): sleep(milliseconds)
    }
  }

  /// Whether the agent crashes now: at any step, but more often after one that changes the disk.
  private func crashesByChance(after word: Word) -> Bool {
    guard !isCalm, faults.stepsBetweenCrashes > 0, crashesLeft > 0 else { return false }
    let isDelicate = [
      .read, .record, .sync, .remove, .rename, .release, .keepLearned,
    ].contains(word)
    guard random.oneIn(isDelicate ? 20 : faults.stepsBetweenCrashes) else { return false }
    crashesLeft -= 1
    return true
  }

  private func pass(_ milliseconds: UInt64) {
    world.timeline.advance(to: world.timeline.now + .milliseconds(milliseconds))
    world.timeline.happen()
  }

  func restart() {
    world.trace.note("restart", at: world.timeline.elapsed)
    stopBy = nil
    world.hangUp()
    pass(UInt64(random.pick([0, 100, 5000])))
    world.restart()
  }

  /// Lets the machine sleep.
  ///
  /// Bytes that arrive meanwhile are sent again, or the connection ends.
  private func sleep(_ milliseconds: UInt64) {
    world.trace.note("sleep", at: world.timeline.elapsed, Int(milliseconds))
    world.connection?.sleep(
      for: .milliseconds(milliseconds), and: .milliseconds(UInt64(random.upTo(1000))))
    world.ledger.sleptUntil = world.timeline.now + .milliseconds(milliseconds)
    pass(milliseconds)
    world.link.suspended(until: world.timeline.now)
    if world.http2 != nil { world.http2!.suspended(until: world.timeline.now) }
  }
}
