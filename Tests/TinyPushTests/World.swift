import Testing

@testable import TinyPush

/// A small world around a courier: a spool in memory, a gateway, and a clock that jumps to whatever happens next. All of it
/// is decided here, so that the same script gives the same run.
///
/// Notifications are told apart by the number of their token: `put("a", 1, 2)` is a file with two of them, and
/// `accepted` says in which order the gateway took them.
final class World {
  // MARK: Clock

  private(set) var now = Instant(milliseconds: 1_000_000)
  /// UNIX seconds at the start; nil: the clock is not set.
  var wallAtStart: Int64? = 1_700_000_000
  private let start = Instant(milliseconds: 1_000_000)

  // MARK: Spool

  final class File {
    var bytes: [UInt8]
    var inode: UInt64
    var changeTimeNs: Int64
    /// What must have been decided of it before it may be removed.
    var numbers: [Int]
    var failure: OpenFailure?
    /// How far it can be read; beyond is an error of the disk.
    var readableBytes = Int.max

    var identity: FileIdentity {
      FileIdentity(inode: inode, changeTimeNs: changeTimeNs, size: Int64(bytes.count))
    }

    init(_ bytes: [UInt8], inode: UInt64, changeTimeNs: Int64, numbers: [Int]) {
      self.bytes = bytes
      self.inode = inode
      self.changeTimeNs = changeTimeNs
      self.numbers = numbers
    }
  }

  private(set) var new: [String: File] = [:]
  private(set) var failures: [Failure] = []
  /// Numbers that are accepted, or on record.
  private var decided: Set<Int> = []
  /// Names and times of the files that were unlinked, in order.
  private(set) var removed: [(name: String, at: Instant)] = []
  private(set) var scans = 0
  /// What is kept of a large file, and how often that was written.
  private(set) var progress: Progress?
  private(set) var progressKept = 0
  /// The most that one read gives.
  var readBytesMax = Int.max
  /// Whether failures can be recorded, and settled files removed.
  var canRecord = true
  var canRemove = true
  var canSync = true
  /// Reorders the names that a scan finds.
  var shuffle: ([String]) -> [String] = { $0 }
  private var openFile: File?
  private var nextInode: UInt64 = 100

  // MARK: Network

  /// One way, in milliseconds.
  var latency: UInt64 = 5
  /// Whether the peer's kernel acknowledges what comes.
  var acknowledges = true
  /// So many bytes are acknowledged that it does not read.
  var receiveBuffer = 65_536
  /// What the gateway does with a notification that reaches it.
  var verdict: (Push) -> Verdict = { _ in .accept }
  /// How long the gateway takes to answer.
  var answerDelay: UInt64 = 0
  /// Milliseconds between the bytes of an answer.
  var answerPace: UInt64 = 0
  /// After so many bytes of its connection, by number, the gateway is gone without a word.
  var cutAfterBytes: (Int) -> Int? = { _ in nil }
  var barrierVerdict = BarrierVerdict.answer

  enum BarrierVerdict {
    case answer, ignore, vanish
  }

  /// Whether connecting works, by attempt.
  var canDial: (Int) -> Bool = { _ in true }
  /// How long the socket takes nothing, at a write, by number.
  var blocks: (Int) -> UInt64? = { _ in nil }

  /// Whether the shell looks up from its work before a step, to see what has come.
  var polls: () -> Bool = { false }
  /// Done as soon as a failure is recorded.
  var onRecord: () -> Void = {}

  private(set) var dials = 0
  private(set) var writes = 0
  private(set) var barriers = 0
  /// All that were accepted, and all that came and were not.
  private(set) var pushes: [Push] = []
  private(set) var refused: [Push] = []
  /// Frames and time of each write that reached the gateway.
  private(set) var records: [(frames: Int, bytes: Int, at: Instant)] = []
  private(set) var connection: Connection?
  private(set) var connections = 0
  private var blockedBytes: [UInt8]?

  // MARK: Course

  var courier: Courier
  private(set) var isFinished = false
  private(set) var reports: [Report] = []
  /// What must not happen, and did.
  private(set) var violations: [String] = []
  /// Whether to look for files that are removed before everything in them is decided.
  var forbidsLoss = true
  private var agenda: [(at: Instant, event: Event)] = []

  private enum Event {
    case arrive(Connection, [UInt8], wireEnd: UInt64)
    case acknowledge(Connection, UInt64)
    case receive(Connection, [UInt8])
    case end(Connection)
    case dialed
    case writable(Connection)
    case act(() -> Void)
  }

  init(
    seed: UInt64 = 1, once: Bool = false, _ change: (inout Courier.Settings) -> Void = { _ in }
  ) {
    var settings = Courier.Settings()
    settings.isOnce = once
    settings.window = 64
    change(&settings)
    courier = Courier(settings, seed: seed)
  }

  var accepted: [Int] { pushes.map(\.number) }
  var waiting: [String] { new.keys.sorted() }
  /// Numbers that the gateway refused and that are on record for it.
  var recorded: [Int] { failures.compactMap(\.number) }
  var elapsed: UInt64 { start.until(now).milliseconds }

  private var time: Time {
    Time(now: now, wallSeconds: wallAtStart.map { $0 + Int64(elapsed / 1000) })
  }

  // MARK: - Scripts

  /// A file of notifications, one a line.
  func put(_ name: String, _ numbers: Int..., tells: Bool = true) {
    put(
      name, text: numbers.map { World.notification($0) }.joined(separator: "\n") + "\n",
      numbers: numbers, tells: tells)
  }

  /// A file of any text, new or in the place of another; with `tells`, inotify reports it.
  func put(_ name: String, text: String, numbers: [Int] = [], tells: Bool = true) {
    new[name] = File(
      text.bytes, inode: nextInode, changeTimeNs: Int64(nextInode), numbers: numbers)
    nextInode += 1
    if tells { courier.writingEnded(name.bytes.span) }
  }

  /// Writes on in a file, and closes it.
  func append(_ name: String, text: String, numbers: [Int] = []) {
    new[name]!.bytes += text.bytes
    new[name]!.changeTimeNs += 1
    new[name]!.numbers += numbers
    courier.writingEnded(name.bytes.span)
  }

  func delete(_ name: String) { new[name] = nil }

  func makeUnreadable(_ name: String, _ failure: OpenFailure?) { new[name]!.failure = failure }

  func after(_ milliseconds: UInt64, _ act: @escaping () -> Void) {
    schedule(.act(act), after: milliseconds)
  }

  /// The gateway says something, now, whatever it was asked.
  func say(_ bytes: [UInt8], closes: Bool = true) {
    if let connection { answer(connection, bytes, closes: closes) }
  }

  func cut() {
    if let connection { vanish(connection) }
  }

  /// Another agent takes over from this one, with what is on disk.
  func restart(once: Bool, _ change: (inout Courier.Settings) -> Void = { _ in }) {
    hangUp()
    agenda = []
    openFile = nil
    isFinished = false
    var settings = courier.settings
    settings.isOnce = once
    change(&settings)
    courier = Courier(settings, seed: 2)
    if let progress { courier.resume(progress) }
  }

  /// The connection is gone now, in the middle of everything.
  func cutAtOnce(byPeer: Bool = true) {
    guard let connection else { return }
    connection.isDeaf = true
    hangUp()
    courier.disconnected(at: now, byPeer: byPeer)
  }

  static func token(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 64 - digits.count) + digits
  }

  static func notification(_ numbers: Int..., alert: String = "Tank low", with members: String = "")
    -> String
  {
    let tokens = numbers.map { #""\#(token($0))""# }.joined(separator: ", ")
    let to = numbers.count == 1 ? #""token": \#(tokens)"# : #""tokens": [\#(tokens)]"#
    return #"{\#(to), "payload": {"aps": {"alert": "\#(alert)"}}\#(members)}"#
  }

  // MARK: - The course of things

  /// Runs for so long.
  func run(_ duration: Duration, sourceLocation: SourceLocation = #_sourceLocation) {
    run(until: now + duration)
    complain(sourceLocation)
  }

  /// Runs until the courier says that all is done, which must be within `limit`.
  func runToEnd(
    within limit: Duration = .seconds(3600), sourceLocation: SourceLocation = #_sourceLocation
  ) {
    run(until: now + limit)
    if !isFinished { violations.append("not finished after \(limit.milliseconds) ms") }
    complain(sourceLocation)
  }

  private func complain(_ sourceLocation: SourceLocation) {
    for violation in violations {
      Issue.record(Comment(rawValue: violation), sourceLocation: sourceLocation)
    }
    violations = []
  }

  private func run(until end: Instant) {
    var steps = 0
    while !isFinished {
      steps += 1
      guard steps < 1_000_000 else {
        violations.append("does not come to rest")
        return
      }
      if polls() { happen() }
      switch courier.next(time) {
      case .scan: scan()
      case .open: open()
      case .read: read()
      case .close:
        openFile = nil
        courier.closed()
      case .record: record()
      case .probe: courier.probed(canRecord)
      case .sync: courier.synced(canSync)
      case .keepProgress: keepProgress()
      case .remove: remove()
      case .dial: dial()
      case .write: write()
      case .listen:
        let now = now
        happen()
        courier.heard(until: now)
      case .sample: sample()
      case .disconnect: hangUp()
      case .wait(let deadline):
        takeReports()
        guard rest(until: deadline, end: end) else { return }
      case .finish:
        takeReports()
        isFinished = true
        if openFile != nil { violations.append("a file is still open at the end") }
      }
    }
  }

  /// How often something was reported.
  func counts(_ report: Report) -> Int {
    reports.count { "\($0)" == "\(report)" }
  }

  private func takeReports() {
    while let report = courier.takeReport() { reports.append(report) }
  }

  /// Lets time pass until something happens; false when the end comes first.
  private func rest(until deadline: Instant?, end: Instant) -> Bool {
    if let deadline, deadline <= now {
      violations.append("busy: waits for an instant that is past, at \(elapsed) ms")
      return false
    }
    let next = min(agenda.first?.at ?? end, deadline ?? end, end)
    now = max(now, next)
    guard agenda.first.map({ $0.at <= now }) ?? false || now < end else { return false }
    happen()
    return true
  }

  private func schedule(_ event: Event, after milliseconds: UInt64) {
    let at = now + .milliseconds(milliseconds)
    agenda.insert((at, event), at: agenda.firstIndex { $0.at > at } ?? agenda.count)
  }

  /// All that is due.
  private func happen() {
    while let (at, event) = agenda.first, at <= now {
      agenda.removeFirst()
      switch event {
      case .arrive(let connection, let bytes, let wireEnd):
        arrive(connection, bytes, wireEnd: wireEnd)
      case .acknowledge(let connection, let end):
        connection.acknowledged = max(connection.acknowledged, end)
        connection.acknowledgedAt = now
      case .receive(let connection, let bytes):
        if connection === self.connection { courier.received(bytes.span) }
      case .end(let connection):
        guard connection === self.connection else { continue }
        hangUp()
        courier.disconnected(at: now, byPeer: true)
      case .dialed:
        connections += 1
        connection = Connection(number: connections)
        connection?.acknowledgedAt = now
        courier.connected()
      case .writable(let connection):
        if connection === self.connection { courier.writable() }
      case .act(let act): act()
      }
    }
  }

  // MARK: - Spool steps

  private func scan() {
    scans += 1
    let names = new.sorted { $0.value.inode < $1.value.inode }.map(\.key)
    for name in shuffle(names) { courier.offer(name.bytes.span, inode: new[name]!.inode) }
  }

  private func open() {
    if openFile != nil { violations.append("opened a file while another one is open") }
    guard let file = new[String(courier.fileName())] else {
      return courier.couldNotOpen(.vanished)
    }
    if let failure = file.failure { return courier.couldNotOpen(failure) }
    let offset = Int(courier.readOffset)
    let count = fill(file)
    let isWhole = offset + count >= file.bytes.count
    openFile = isWhole ? nil : file
    courier.opened(
      file.identity, bytes: count,
      isWhole: isWhole, lastByte: file.bytes.last { $0 > 0x20 } ?? 0)
  }

  private func read() {
    guard let file = openFile else {
      violations.append("read without an open file")
      return courier.filled(bytes: 0, isWhole: true)
    }
    if courier.readOffset >= file.readableBytes {
      openFile = nil
      return courier.couldNotRead(5)
    }
    let count = fill(file)
    if count == 0 { openFile = nil }
    courier.filled(bytes: count, isWhole: count == 0)
  }

  private func fill(_ file: File) -> Int {
    let offset = min(Int(courier.readOffset), file.bytes.count)
    let room = courier.inputRoom
    let count = min(room.count, file.bytes.count - offset, readBytesMax)
    _ = room.update(fromContentsOf: file.bytes[offset..<offset + count])
    return count
  }

  private func record() {
    let name = String(courier.failureName())
    guard canRecord else { return courier.recorded(false) }
    let line = String(courier.failure.bytes)
    if let failure = Failure(line) {
      failures.append(failure)
      if let number = failure.number { decided.insert(number) }
      if failure.file != name { violations.append("\(line) is recorded for \(name)") }
    } else {
      violations.append("not a line of JSON: \(line.prefix(300))…\(line.suffix(40))")
    }
    if courier.failureMovesFile { new[name] = nil }
    courier.recorded(true)
    onRecord()
  }

  private func keepProgress() {
    progress = courier.progress
    progressKept += 1
    courier.keptProgress(true)
  }

  private func remove() {
    let name = String(courier.settledName())
    guard let file = new[name] else { return courier.removed(.removed) }
    guard file.identity == courier.settledIdentity else { return courier.removed(.replaced) }
    guard canRemove else { return courier.removed(.failed) }
    for number in file.numbers where forbidsLoss && !decided.contains(number) {
      violations.append("\(name) was removed, and \(number) is neither accepted nor recorded")
    }
    new[name] = nil
    removed.append((name, now))
    courier.removed(.removed)
  }

  // MARK: - Connection steps

  private func dial() {
    dials += 1
    if connection != nil { violations.append("dialed while connected") }
    if canDial(dials) {
      schedule(.dialed, after: 4 * latency)
    } else {
      schedule(
        .act { [unowned self] in courier.disconnected(at: now, byPeer: false) }, after: 2 * latency)
    }
  }

  private func write() {
    guard courier.isUp, let connection else { return }
    let bytes = [UInt8](courier.batchContents())
    if bytes.isEmpty || bytes.count > 16_384 { violations.append("a record of \(bytes.count)") }
    if let blockedBytes, blockedBytes != bytes { violations.append("blocked bytes changed") }
    writes += 1
    if let wait = blocks(writes) {
      blockedBytes = bytes
      schedule(.writable(connection), after: wait)
      return courier.blocked()
    }
    blockedBytes = nil
    connection.written += UInt64(bytes.count + 22)
    schedule(.arrive(connection, bytes, wireEnd: connection.written), after: latency)
    courier.wrote(wireEnd: connection.written)
  }

  private func sample() {
    guard let connection else { return violations.append("sampled without a connection") }
    courier.sampled(
      unacknowledged: Int(connection.written - connection.acknowledged),
      since: connection.acknowledgedAt.until(now), roundTrip: .milliseconds(2 * latency))
  }

  private func hangUp() {
    connection = nil
    blockedBytes = nil
  }

  // MARK: - Gateway

  /// A notification as the gateway got it.
  struct Push: Equatable {
    var number: Int
    var connection: Int
    var identifier: UInt32?
    var expiration: UInt32?
    var priority: UInt8?
    var payload: String
    var at: UInt64
  }

  enum Verdict {
    case accept
    case refuse(Status)
    /// Accepts it, as the last one.
    case shutdown
    /// Neither accepts it nor says what it ought to: these bytes, and then the end.
    case say([UInt8])
    /// Gone without a word.
    case vanish
    /// From now on it looks at nothing, and says nothing.
    case stall
  }

  /// The gateway's end of a connection.
  final class Connection {
    let number: Int
    var held: [UInt8] = []
    var taken = 0
    var unread = 0
    /// It has answered, or is gone: nothing more counts.
    var isDeaf = false
    var written: UInt64 = 0
    var acknowledged: UInt64 = 0
    var acknowledgedAt = Instant(milliseconds: 0)

    init(number: Int) { self.number = number }
  }

  /// A frame of command 2, 1 or 0, read without the library's help.
  private struct Frame {
    var token: [UInt8] = []
    var payload: [UInt8] = []
    var identifier: UInt32?
    var expiration: UInt32?
    var priority: UInt8?

    /// Takes the first frame from `bytes`; nil when it is not whole.
    init?(taking bytes: inout [UInt8]) {
      func number(_ place: Int, _ size: Int) -> Int? {
        guard place + size <= bytes.count else { return nil }
        return bytes[place..<place + size].reduce(0) { $0 << 8 | Int($1) }
      }
      var end: Int
      switch bytes.first {
      case 2:
        guard let size = number(1, 4), 5 + size <= bytes.count else { return nil }
        end = 5 + size
        var place = 5
        while place < end {
          let length = number(place + 1, 2)!
          let data = bytes[place + 3..<place + 3 + length]
          switch bytes[place] {
          case 1: token = Array(data)
          case 2: payload = Array(data)
          case 3: identifier = number(place + 3, 4).map { UInt32($0) }
          case 4: expiration = number(place + 3, 4).map { UInt32($0) }
          case 5: priority = data.first
          default: return nil
          }
          place = data.endIndex
        }
      case 0, 1:
        let head = bytes[0] == 1 ? 9 : 1
        guard let tokenBytes = number(head, 2),
          let payloadBytes = number(head + 2 + tokenBytes, 2),
          case let start = head + 4 + tokenBytes, start + payloadBytes <= bytes.count
        else { return nil }
        end = start + payloadBytes
        token = Array(bytes[head + 2..<head + 2 + tokenBytes])
        payload = Array(bytes[start..<end])
        if head == 9 {
          identifier = number(1, 4).map { UInt32($0) }
          expiration = number(5, 4).map { UInt32($0) }
        }
      default: return nil
      }
      bytes.removeFirst(end)
    }
  }

  private func arrive(_ connection: Connection, _ bytes: [UInt8], wireEnd: UInt64) {
    if connection.isDeaf {
      // Its kernel takes some more, until it has no room for it.
      connection.unread += bytes.count
      if acknowledges, connection.unread < receiveBuffer {
        schedule(.acknowledge(connection, wireEnd), after: latency)
      }
      return
    }
    var bytes = bytes[...]
    let limit = cutAfterBytes(connection.number) ?? .max
    let isCut = connection.taken + bytes.count > limit
    if isCut { bytes = bytes.prefix(limit - connection.taken) }
    connection.taken += bytes.count
    if acknowledges, !isCut {
      schedule(.acknowledge(connection, wireEnd), after: latency)
    }
    connection.held += bytes
    var frames = 0
    while let frame = Frame(taking: &connection.held) {
      frames += 1
      if !connection.isDeaf { judge(frame, connection) }
    }
    if let command = connection.held.first, command > 2 {
      violations.append("no frame begins with \(command)")
    }
    records.append((frames, bytes.count, now))
    if isCut, !connection.isDeaf { vanish(connection) }
  }

  /// The gateway is gone, and the agent hears nothing but that.
  private func vanish(_ connection: Connection) {
    connection.isDeaf = true
    schedule(.end(connection), after: latency)
  }

  private func judge(_ frame: Frame, _ connection: Connection) {
    guard frame.token.count == DeviceToken.byteCount else {
      barriers += 1
      switch barrierVerdict {
      case .answer: answer(connection, response(.invalidTokenSize, frame.identifier), closes: true)
      case .ignore: break
      case .vanish: vanish(connection)
      }
      return
    }
    let push = Push(
      number: frame.token.suffix(4).reduce(0) { $0 << 8 | Int($1) }, connection: connection.number,
      identifier: frame.identifier, expiration: frame.expiration, priority: frame.priority,
      payload: String(decoding: frame.payload, as: UTF8.self), at: elapsed)
    switch verdict(push) {
    case .accept: accept(push)
    case .refuse(let status):
      refused.append(push)
      answer(connection, response(status, frame.identifier), closes: true)
    case .shutdown:
      accept(push)
      answer(connection, response(.shutdown, frame.identifier), closes: true)
    case .say(let bytes):
      refused.append(push)
      answer(connection, bytes, closes: true)
    case .vanish:
      refused.append(push)
      vanish(connection)
    case .stall:
      refused.append(push)
      connection.isDeaf = true
    }
  }

  private func accept(_ push: Push) {
    pushes.append(push)
    decided.insert(push.number)
  }

  private func response(_ status: Status, _ identifier: UInt32?) -> [UInt8] {
    guard let identifier else { return [] }
    return [UInt8](ErrorResponse(status: status, identifier: identifier).bytes.span)
  }

  private func answer(_ connection: Connection, _ bytes: [UInt8], closes: Bool) {
    if closes { connection.isDeaf = true }
    var delay = answerDelay + latency
    if answerPace == 0 {
      schedule(.receive(connection, bytes), after: delay)
    } else {
      for byte in bytes {
        schedule(.receive(connection, [byte]), after: delay)
        delay += answerPace
      }
    }
    if closes { schedule(.end(connection), after: delay) }
  }
}
