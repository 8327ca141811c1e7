import TinyPush
import TinyPushBinary

/// Checks a connection: what was written, what came back, and what the agent concludes.
extension Ledger {
  // MARK: - Writing and hearing

  func connected() { account = Account() }

  /// The most connections in ten seconds: 15 at once, and then one each two seconds.
  private static let dialsMax = 20

  /// Checks that the agent does not connect too often.
  func dials() {
    life.dials.removeAll { $0 + .seconds(10) < timeline.now }
    life.dials.append(timeline.now)
    if life.dials.count > Self.dialsMax {
      complain("connects \(life.dials.count) times in ten seconds")
    }
  }

  /// Checks bytes that are given to the socket, perhaps not for the first time.
  func writes(_ bytes: [UInt8], isDamageKnown: Bool) {
    guard account.frames.last?.wireEnd != nil || account.frames.isEmpty else { return }
    if account.isOver { complain("wrote on a connection that is over") }
    var place = 0
    while let frame = WireFrame(of: bytes, at: &place) {
      account.frames.append(
        Frame(
          id: frame.identifier ?? UInt32(account.frames.count + 1), number: frame.number,
          payloadBytes: frame.payload.count))
      if account.frames.last!.id != account.frames.count {
        complain("identifier \(account.frames.last!.id) is the \(account.frames.count)th")
      }
      guard let number = frame.number else {
        account.barrierAt = timeline.now
        continue
      }
      check(number)
      if frame.payload.count >= life.knownLimit {
        complain("\(number) is sent, and payloads of \(life.knownLimit) bytes are refused")
      }
      checkSuppressed(number, isDamageKnown: isDamageKnown)
      passesLimits(number, isAdmission: false)
      account.frames[account.frames.count - 1].isRepeated = !life.framed.insert(number).inserted
      taken.insert(number)
    }
    if place < bytes.count { complain("\(bytes.count - place) bytes are no frame") }
  }

  func check(_ number: Int) {
    checkExpired(number)
    if World.serial(of: number) > 0 {
      checkWaiting(number)
    } else if number < 1 || number > numberMax {
      complain("\(number) never was in the spool")
    }
    // Nothing is known of notifications that a script does not declare.
    let isOne = places[number].map { $0 == 1 } ?? (World.serial(of: number) > 0)
    if isOne, !isRepeatable(number) {
      if let outcome = life.outcomes[number] {
        complain("\(number) is sent again, and is \(outcome)")
      }
      if let status = life.refusals[number] {
        complain("\(number) is sent again, and was refused with \(status)")
      }
    }
  }

  func wrote(wireEnd: UInt64) {
    for index in account.frames.indices.reversed() {
      guard account.frames[index].wireEnd == nil else { break }
      account.frames[index].wireEnd = wireEnd
      guard account.frames[index].number != nil else { continue }
      expected.sent += 1
      if account.frames[index].isRepeated { life.repeated += 1 }
    }
  }

  /// Checks bytes that the agent receives.
  func received(_ bytes: [UInt8], on connection: Connection) {
    for byte in bytes where !account.isOver {
      account.answer.append(byte)
      if account.answer[0] != ErrorResponse.command {
        becomeUncertain(byPeer: true)
      } else if account.answer.count == ErrorResponse.byteCount {
        answered(
          status: account.answer[1],
          id: account.answer[2...].reduce(0) { $0 << 8 | UInt32($1) }, connection)
      }
    }
  }

  private func answered(status: UInt8, id: UInt32, _ connection: Connection) {
    guard id > 0, id <= account.frames.count,
      (0...8).contains(status) || [10, 255].contains(status)
    else { return becomeUncertain(byPeer: true) }
    let end = Int(id) - ([0, 10].contains(status) ? 0 : 1)
    while account.settled < end {
      settle(.proved, connection)
    }
    if status == 0 {
      account.answer = []
      return
    }
    let frame = account.frames[Int(id) - 1]
    if frame.number == nil {
      silentAreUncertain()
      life.missedBarriers = 0
    }
    if status == Status.invalidPayloadSize.rawValue, frame.number != nil, frame.payloadBytes > 256 {
      life.payloadLimit = min(life.payloadLimit, frame.payloadBytes)
      // The agent remembers 512 sizes, some of them of frames in the batch, until they are settled.
      if account.frames.count - Int(id) < 256, account.settled == end {
        life.knownLimit = min(life.knownLimit, frame.payloadBytes)
      }
    }
    if status != 10, account.settled == end, let number = account.frames[end].number {
      expected.refused += 1
      life.refusals[number] = UInt16(status)
    }
    account.isOver = true
  }

  /// Notes that the connection ended, as far as the agent knows without an answer.
  func ended(byPeer: Bool) {
    guard !account.isOver else { return }
    becomeUncertain(byPeer: byPeer)
  }

  private func becomeUncertain(byPeer: Bool) {
    let inFlight = account.frames[account.settled...].compactMap(\.number)
    if byPeer, inFlight.count == 1 { closes[inFlight[0], default: 0] += 1 }
    expected.uncertain += UInt64(account.uncertain)
    // If the gateway closes at a barrier without notifications, the agent sends no more barriers.
    if byPeer, account.barrierAt != nil {
      silentAreUncertain()
      life.missedBarriers += 1
    }
    if settings.uncertain == .drop {
      for frame in account.frames[account.settled...] {
        guard let number = frame.number else { continue }
        life.outcomes[number] = .dropped
        dropped.insert(number)
      }
    }
    account.isOver = true
  }

  /// Notes that the agent hung up.
  ///
  /// If nothing decided the connection, its barrier had no answer.
  func hungUp(_ connection: Connection?) {
    guard !account.isOver, account.barrierAt != nil, let connection else { return }
    for frame in account.frames[account.settled...] where frame.number != nil {
      check(frame, connection, isSettled: false)
      life.silent.append(frame)
      life.silent[life.silent.count - 1].hasDied = connection.isDead
    }
    life.missedBarriers += 1
    account.isOver = true
  }

  /// Makes notifications uncertain that the gateway took with an unanswered barrier.
  private func silentAreUncertain() {
    expected.uncertain += UInt64(life.silent.count)
    if settings.uncertain == .drop {
      for number in life.silent.compactMap(\.number) {
        life.outcomes[number] = .dropped
        dropped.insert(number)
      }
    }
    life.silent = []
  }

  private func settle(_ outcome: Outcome, _ connection: Connection) {
    let frame = account.frames[account.settled]
    account.settled += 1
    guard let number = frame.number else { return }
    life.outcomes[number] = outcome
    if outcome == .proved {
      expected.proved += 1
      if forbidsLoss && !connection.accepted.contains(number) {
        complain("\(number) counts as proved, and the gateway has not accepted it")
      }
    }
  }

  // MARK: - The counters

  /// Checks the counters' growth since the last call.
  func observe(_ counters: Counters, on connection: Connection?) {
    let before = life.counters
    life.counters = counters
    let byTime = counters.settledByTime - before.settledByTime
    if byTime > 0 { settleByTime(byTime, connection) }
    missBarrier(counters.uncertain - before.uncertain, connection)
    compare("settled by proof", counters.settledByProof - before.settledByProof, expected.proved)
    compare("uncertain", counters.uncertain - before.uncertain, expected.uncertain)
    compare("sent", counters.sent - before.sent, expected.sent)
    let refused = counters.refused - before.refused
    if life.payloadLimit < .max, refused > expected.refused {
      life.inferredRejections += Int(refused - expected.refused)
    } else if refused == expected.refused + 1 {
      life.inferredRejections += 1
      if account.frames.contains(where: { $0.number != nil }) {
        complain("a notification is rejected for a connection that carried others")
      }
    } else {
      compare("refused", refused, expected.refused)
    }
    expected = Expected()
  }

  func compare(_ what: StaticString, _ count: UInt64, _ expected: UInt64) {
    if count != expected { complain("\(count) count as \(what), and \(expected) should") }
  }

  /// Checks whether the agent gave up a connection because its barrier was not answered.
  private func missBarrier(_ uncertain: UInt64, _ connection: Connection?) {
    guard uncertain > 0, !account.isOver, let barrierAt = account.barrierAt, let connection
    else { return }
    let isStuck =
      connection.acknowledged < connection.written
      && connection.waitsSince + binary.settle <= timeline.now
    if !isStuck, barrierAt + binary.settle > timeline.now {
      complain("a barrier was given up after \(barrierAt.until(timeline.now).milliseconds) ms")
    }
    becomeUncertain(byPeer: false)
  }

  /// Checks notifications that settled by time: the peer had them long enough and was listened to.
  private func settleByTime(_ count: UInt64, _ connection: Connection?) {
    guard let connection, !account.isOver else {
      return complain("settled by time without a connection")
    }
    if connection.acknowledged < connection.written,
      connection.waitsSince + binary.settle < timeline.now
    {
      complain("settled by time on a connection without acknowledgements")
    }
    if binary.confirm == .barrier, binary.format != .simple, life.missedBarriers == 0 {
      complain("settled by time, and no barrier showed that the gateway ignores barriers")
    }
    for _ in 0..<count {
      if !life.silent.isEmpty {
        let frame = life.silent.removeFirst()
        life.outcomes[frame.number!] = .settled
        checkAccepted(frame.number!, hasDied: frame.hasDied || connection.isDead)
        continue
      }
      while account.settled < account.frames.count, account.frames[account.settled].number == nil {
        account.settled += 1
      }
      guard account.settled < account.frames.count else {
        return complain("settled more than was sent")
      }
      check(account.frames[account.settled], connection)
      settle(.settled, connection)
    }
  }

  private func check(_ frame: Frame, _ connection: Connection, isSettled: Bool = true) {
    let number = frame.number!
    guard let end = frame.wireEnd, let at = connection.acknowledgement(of: end) else {
      return complain("\(number) is settled by time, and the peer does not have it")
    }
    let due = at + binary.settle
    if due > timeline.now {
      complain("\(number) is settled \(timeline.now.until(due).milliseconds) ms too early")
    }
    if let first = connection.unread.first, first.at <= due {
      complain("\(number) is settled by time, and an answer is unread")
    }
    if isSettled { checkAccepted(number, hasDied: connection.isDead) }
  }

  private func checkAccepted(_ number: Int, hasDied: Bool) {
    guard gateway.acceptances[number] == nil else { return }
    lateLosses.insert(number)
    if isPrompt && !hasDied {
      complain("\(number) is settled by time, and the gateway has not accepted it")
    }
  }
}
