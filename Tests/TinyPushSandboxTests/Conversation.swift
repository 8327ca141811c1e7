import CHTTP2
import CMbed
import Foundation

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

/// A sandbox in a new directory, without event loop and sockets.
final class Desk {
  let home: Home
  let devices: Devices
  let key: SigningKey
  let post: StoreAndForward
  let journal = Journal(isJSON: true, isQuiet: true)
  private let path: String

  /// The sandbox's time, in UNIX seconds.
  var now: Int64 { journal.clock.unixSeconds }

  init() throws {
    path = NSTemporaryDirectory() + "tinypush-desk-\(UInt64.random(in: 0 ... .max))"
    home = try Home(path)
    key = try SigningKey(in: home)
    devices = try Devices(in: home, now: journal.clock.unixSeconds)
    post = StoreAndForward(devices, in: home, journal: journal)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Returns a session of a client that plays `faults`.
  ///
  /// - Parameter hasDevices: whether each token must belong to a device; else any token is valid.
  func session(
    _ client: ClientIdentity, faults: [String] = [], hasDevices: Bool = true
  ) throws -> HTTP2Session {
    let list = Faults()
    for words in faults { _ = list.add(try Fault(words.bytes.span)) }
    list.start(nowMs: journal.clock.monotonicMs, seed: 1)
    let frameCheck = FrameCheck(
      payloadLimit: 2048, invalidTokens: [], devices: hasDevices ? devices : nil)
    let requestCheck = RequestCheck(
      payloadLimit: nil, frameCheck: frameCheck, devices: hasDevices ? devices : nil, key: key)
    let messageCheck = MessageCheck(payloadLimit: nil, frameCheck: frameCheck, devices: devices)
    return HTTP2Session(
      number: 1, client: client, requestCheck: requestCheck, messageCheck: messageCheck,
      faults: list, post: post, journal: journal)!
  }

  /// The token of the app on the first device, in hexadecimal digits.
  var phone: String { text { $0.append(hex: devices.all[0].apps[0].token.bytes) } }

  /// The provider token of all requests.
  private(set) lazy var token = jwt()

  /// Returns a signed provider token with this header and these claims.
  ///
  /// - Parameters:
  ///   - claims: nil: the sandbox's team, and the time `age` seconds ago.
  ///   - isDamaged: whether one bit of the signature is wrong.
  ///   - keyPath: the path of another key that signs; nil: the sandbox's key signs.
  func jwt(
    _ head: String = #"{"alg":"ES256","kid":"SANDBOXKEY"}"#, claims: String? = nil,
    age: Int64 = 0, isDamaged: Bool = false, keyPath: String? = nil
  ) -> String {
    let claims = claims ?? #"{"iss":"TEAM123456","iat":\#(now - age)}"#
    let signed = Self.base64(Data(head.utf8)) + "." + Self.base64(Data(claims.utf8))
    var signature = [UInt8](repeating: 0, count: 64)
    var words = [CChar](repeating: 0, count: Int(CMBED_TEXT_MAX))
    let bytes = signed.bytes
    let result = cmbed_sign(
      &signature, keyPath ?? path + "/AuthKey_SANDBOXKEY.p8", bytes, bytes.count, &words)
    precondition(result == CMBED_OK)
    if isDamaged { signature[63] ^= 1 }
    return signed + "." + Self.base64(Data(signature))
  }

  /// Makes a key pair, and returns the path of the private key and the public key.
  func makeKey() throws -> (path: String, point: [UInt8]) {
    var (pem, words) = (
      [CChar](repeating: 0, count: Int(CMBED_PEM_MAX)),
      [CChar](repeating: 0, count: Int(CMBED_TEXT_MAX))
    )
    precondition(cmbed_signing_key_make(&pem, &words) == CMBED_OK)
    let file = path + "/other-\(UInt64.random(in: 0 ... .max)).p8"
    try Data(pem.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }).write(to: URL(filePath: file))
    var point = [UInt8](repeating: 0, count: Int(CMBED_POINT))
    precondition(cmbed_signing_key_public(file, &point, &words) == CMBED_OK)
    return (file, point)
  }

  /// Returns the devices that the sandbox would have after a restart.
  func reloaded() throws -> Devices { try Devices(in: home, now: now) }

  static func base64(_ data: Data) -> String {
    data.base64EncodedString().replacing("=", with: "").replacing("+", with: "-")
      .replacing("/", with: "_")
  }
}

extension ClientIdentity {
  /// A client without a certificate.
  static var nobody: ClientIdentity { ClientIdentity(topic: Span(), topics: Span(), kind: 0) }

  static func certificate(
    _ topic: String = "com.example.tinypush", topics: String = "", kind: Int32 = 4
  ) -> ClientIdentity {
    let (topic, topics) = (topic.bytes, topics.bytes)
    return ClientIdentity(
      topic: topic.span, topics: topics.span, kind: Int(CMBED_PEER_PRESENT) | Int(kind))
  }
}

/// A provider (nghttp2's client) that is connected in memory to a session of the sandbox.
final class Conversation {
  let session: HTTP2Session
  private let client: OpaquePointer
  private let answers: UnsafeMutablePointer<chttp2_answer>
  private var next: UInt16 = 0
  /// The most bytes that the session receives at once.
  private let piece: Int

  init(_ session: HTTP2Session, piece: Int = 16_384) {
    self.session = session
    self.piece = piece
    answers = .allocate(capacity: 1000)
    answers.initialize(repeating: chttp2_answer(), count: 1000)
    client = chttp2_new(answers, 1000, 1 << 24)!
    exchange()
  }

  deinit {
    chttp2_free(client)
    answers.deallocate()
  }

  var streamsMax: UInt32 { chttp2_streams_max(client) }
  var isLeaving: Bool { chttp2_is_going_away(client) != 0 }

  struct Answer: Equatable {
    var status: Int
    var reason = ""
    /// The error code with which the stream was closed.
    var error: UInt32 = 0
    var retryAfter: UInt32 = 0
    var body = ""
  }

  /// Sends a request, and returns its place.
  @discardableResult
  func begin(_ headers: [(name: String, value: String)], _ payload: String) -> UInt16 {
    begin(headers, body: payload.bytes)
  }

  /// Sends a request, and returns its place.
  @discardableResult
  func begin(_ headers: [(name: String, value: String)], body bytes: [UInt8]) -> UInt16 {
    let place = next
    next += 1
    let strings = headers.map { (strdup($0.name)!, strdup($0.value)!) }
    defer {
      for (name, value) in strings {
        free(name)
        free(value)
      }
    }
    let fields = strings.map { name, value in
      chttp2_header(
        name: UnsafeRawPointer(name).assumingMemoryBound(to: UInt8.self),
        name_count: strlen(name),
        value: UnsafeRawPointer(value).assumingMemoryBound(to: UInt8.self),
        count: strlen(value), is_indexed: 0)
    }
    var room = [UInt8](repeating: 0, count: 262_144)
    let count = chttp2_request(
      client, place, fields, fields.count, bytes, bytes.count, &room, room.count)
    precondition(count > 0)
    hand(Array(room[..<count]))
    return place
  }

  /// Returns the answer to the request at a place, or nil while there is none.
  func answer(_ place: UInt16) -> Answer? {
    exchange()
    let answer = answers[Int(place)]
    guard answer.is_finished != 0 else { return nil }
    let body = withUnsafePointer(to: answer) { pointer in
      String(
        decoding: UnsafeBufferPointer(
          start: chttp2_answer_body(pointer), count: Int(answer.body_count)), as: UTF8.self)
    }
    let object = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
    return Answer(
      status: Int(answer.status), reason: object?["reason"] as? String ?? "",
      error: answer.error, retryAfter: answer.retry_after, body: body)
  }

  /// Sends a request, and returns its answer.
  func ask(_ headers: [(name: String, value: String)], _ payload: String) -> Answer? {
    answer(begin(headers, payload))
  }

  /// Sends a request, and returns its answer.
  func ask(_ headers: [(name: String, value: String)], body: [UInt8]) -> Answer? {
    answer(begin(headers, body: body))
  }

  private func hand(_ bytes: [UInt8]) {
    var start = 0
    while start < bytes.count {
      let end = min(start + piece, bytes.count)
      let part = Array(bytes[start..<end])
      session.receive(part.span)
      start = end
    }
  }

  /// Exchanges bytes until neither side has any left to send.
  private func exchange() {
    var room = [UInt8](repeating: 0, count: 16_384)
    for _ in 0..<100 {
      let sent = chttp2_take(client, &room, room.count)
      if sent > 0 { hand(Array(room[..<sent])) }
      let heard = room.withUnsafeMutableBufferPointer { session.take($0) }
      if heard > 0 { _ = chttp2_receive(client, room, heard) }
      while chttp2_next_finished(client) >= 0 {}
      if sent <= 0, heard == 0 { return }
    }
  }
}
