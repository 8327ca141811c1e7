import Foundation

/// A line of `failed/`, read by Foundation's JSON reader instead of the agent's.
struct Failure: Decodable {
  var reason: String
  var code: String
  var file: String
  var offset: Int?
  var line: Int?
  var status: Int?
  var text: String?
  /// The token of the recipient that did not get the notification.
  private(set) var token: String?
  /// The notification's serial number, if the line has one.
  private(set) var serial = 0
  /// The size of the notification's payload.
  private(set) var payloadBytes = 0
  /// The number of a notification that the gateway refused.
  private(set) var number: Int?

  private enum CodingKeys: CodingKey {
    case reason, code, file, offset, line, status, text
  }

  private struct Line: Decodable {
    var failed: Failure
  }

  private struct Sent: Decodable {
    var token: String
  }

  /// Decodes a line; nil unless the line is exactly one JSON object.
  init?(_ line: String) {
    let data = Data(line.utf8)
    guard line.hasSuffix("}\n"), line.utf8.count(where: { $0 == 0x0A }) == 1,
      let found = try? JSONDecoder().decode(Line.self, from: data)
    else { return nil }
    self = found.failed
    // A notification that was not sent keeps the recipients that its sender wrote, valid or not.
    if self.line == nil { token = try? JSONDecoder().decode(Sent.self, from: data).token }
    serial = World.serial(in: line)
    number = token.flatMap(World.number(printed:)).map { World.number($0, serial: serial) }
    let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
    guard let payload = object?["payload"] as? [String: Any] else { return }
    payloadBytes =
      (try? JSONSerialization.data(withJSONObject: payload, options: .withoutEscapingSlashes))?
      .count ?? 0
  }
}
