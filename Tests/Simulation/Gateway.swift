import TinyPush
import TinyPushBinary

/// A notification as the gateway received it.
struct Push: Equatable {
  var number: Int
  var connection: Int
  var identifier: UInt32?
  var expiration: UInt32?
  var priority: UInt8?
  var payloadBytes: [UInt8]
  var at: UInt64

  var payload: String { String(decoding: payloadBytes, as: UTF8.self) }
}

/// The gateway's response to a notification.
enum Response {
  /// Accepts the notification and says nothing.
  case accept
  /// Refuses it with an error response and closes.
  case refuse(Status)
  /// Accepts it, announces a shutdown with it, and closes.
  case shutdown
  /// Does not accept it, sends these bytes instead of a proper response, and closes.
  case say([UInt8])
  /// Closes without a response.
  case vanish
  /// Stops reading and responding.
  case stall
}

/// The simulated gateway of the binary protocol: takes frames, accepts, refuses, answers and
/// closes.
///
/// It remembers everything for the whole run, even if the agent restarts.
final class Gateway {
  var response: (Push) -> Response = { _ in .accept }
  enum BarrierResponse {
    case answer, ignore, vanish
  }
  var barrierResponse = BarrierResponse.answer
  /// Whether it answers each accepted notification with status 0 and goes on.
  var saysNoError = false
  /// The latency in one direction, in milliseconds.
  var latency: UInt64 = 5
  /// Whether its kernel acknowledges bytes.
  var acknowledges = true
  /// The milliseconds before an answer, and between the bytes of an answer.
  var answerDelay: UInt64 = 0
  var answerPace: UInt64 = 0
  /// After how many bytes of a connection, by number, it closes without a response.
  var cutAfterBytes: (Int) -> Int? = { _ in nil }
  /// Whether bytes that arrive after it closed bring a reset, which may discard unread bytes.
  var resets = false
  /// Whether a reset follows its answers at once.
  var hidesAnswers = false
  /// Until when it reads nothing; its kernel still acknowledges bytes while there is room.
  var stalledUntil: Instant?
  var receiveBuffer = 65_536

  /// All accepted notifications, in order.
  private(set) var pushes: [Push] = []
  /// All notifications that came and were not accepted.
  private(set) var refused: [Push] = []
  private(set) var acceptances: [Int: Int] = [:]
  /// When each number was accepted last, unless a later attempt was answered otherwise.
  var acceptedAt: [Int: Instant] = [:]
  /// When a service of browsers, or the one for devices, last accepted a notification, by host.
  private(set) var acceptedLast: [String: Instant] = [:]
  private(set) var barriers = 0
  /// The frames, bytes and time of each write that arrived.
  private(set) var records: [(frames: Int, bytes: Int, at: Instant)] = []
  private(set) var complaints: [String] = []

  func takeComplaints() -> [String] {
    defer { complaints = [] }
    return complaints
  }

  private let timeline: Timeline

  init(_ timeline: Timeline) { self.timeline = timeline }

  // MARK: - Receiving

  func arrive(_ connection: Connection, _ bytes: [UInt8], wireEnd: UInt64) {
    if connection.isDeaf {
      if resets, timeline.now >= connection.closesAt {
        connection.reset(latency: latency, hides: true)
      }
      return
    }
    var bytes = bytes
    let limit = cutAfterBytes(connection.number) ?? .max
    let isCut = connection.taken + bytes.count > limit
    if isCut { bytes = Array(bytes.prefix(max(limit - connection.taken, 0))) }
    connection.taken += bytes.count
    connection.held += bytes
    let isStalled = connection.isStalled || stalledUntil.map { timeline.now < $0 } ?? false
    if acknowledges, !isCut, !isStalled || connection.held.count <= receiveBuffer {
      connection.acknowledge(wireEnd, latency: latency)
    }
    if connection.isStalled { return }
    if isStalled {
      timeline.plan(at: stalledUntil!) { [self] in
        if acknowledges, !isCut { connection.acknowledge(wireEnd, latency: latency) }
        read(connection, isCut: isCut)
      }
    } else {
      read(connection, isCut: isCut)
    }
    records.append((frames, bytes.count, timeline.now))
  }

  /// The number of frames in the last read.
  private var frames = 0

  private func read(_ connection: Connection, isCut: Bool) {
    frames = 0
    var place = 0
    while !connection.isStalled, let frame = WireFrame(of: connection.held, at: &place) {
      frames += 1
      if !connection.isDeaf { respond(frame, connection) }
    }
    connection.held.removeFirst(place)
    if let command = connection.held.first, command > 2 {
      complaints.append("no frame begins with \(command)")
    }
    if isCut, !connection.isDeaf { vanish(connection) }
  }

  private func respond(_ frame: WireFrame, _ connection: Connection) {
    guard let number = frame.number else {
      barriers += 1
      switch barrierResponse {
      case .answer: refuse(frame, .invalidTokenSize, connection)
      case .ignore: break
      case .vanish: vanish(connection)
      }
      return
    }
    let push = Push(
      number: number, connection: connection.number, identifier: frame.identifier,
      expiration: frame.expiration, priority: frame.priority, payloadBytes: Array(frame.payload),
      at: timeline.elapsed)
    switch response(push) {
    case .accept: accept(push, connection)
    case .refuse(let status):
      refused.append(push)
      refuse(frame, status, connection)
    case .shutdown:
      accept(push, connection)
      refuse(frame, .shutdown, connection)
    case .say(let bytes):
      refused.append(push)
      answer(connection, bytes)
    case .vanish:
      refused.append(push)
      vanish(connection)
    case .stall:
      refused.append(push)
      connection.isStalled = true
    }
  }

  /// Accepts a notification that did not come in a frame.
  func accepts(_ number: Int) {
    acceptedAt[number] = timeline.now
    acceptedLast[World.host(number)] = timeline.now
    acceptances[number, default: 0] += 1
  }

  private func accept(_ push: Push, _ connection: Connection) {
    pushes.append(push)
    accepts(push.number)
    connection.accepted.insert(push.number)
    guard saysNoError, let identifier = push.identifier else { return }
    let response = ErrorResponse(status: .none, identifier: identifier)
    answer(connection, [UInt8](response.bytes.span), closes: false)
  }

  // MARK: - Responding

  /// Closes without a response.
  func vanish(_ connection: Connection) {
    connection.isDeaf = true
    connection.close(latency: latency)
  }

  private func refuse(_ frame: WireFrame, _ status: Status, _ connection: Connection) {
    guard let identifier = frame.identifierBeforeToken else { return vanish(connection) }
    answer(connection, [UInt8](ErrorResponse(status: status, identifier: identifier).bytes.span))
  }

  func answer(_ connection: Connection, _ bytes: [UInt8], closes: Bool = true) {
    if closes { connection.isDeaf = true }
    var delay = answerDelay + latency
    if answerPace == 0 {
      connection.send(bytes, latency: delay)
    } else {
      for byte in bytes {
        connection.send([byte], latency: delay)
        delay += answerPace
      }
    }
    guard closes else { return }
    connection.closesAt = timeline.now + .milliseconds(delay - latency)
    if hidesAnswers {
      connection.reset(latency: delay, hides: true)
    } else {
      connection.close(latency: delay)
    }
  }
}
