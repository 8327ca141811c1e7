import Foundation

/// What a line of `failed/` says, read by somebody else's JSON reader.
struct Failure: Decodable {
  var reason: String
  var code: String
  var file: String
  var offset: Int?
  var line: Int?
  var column: Int?
  var status: Int?
  var text: String?
  /// Who did not get what was sent.
  var token: String?
  /// Of the notification, where the line has one.
  var serial = 0

  private enum CodingKeys: CodingKey {
    case reason, code, file, offset, line, column, status, text
  }

  private struct Line: Decodable {
    var failed: Failure
  }

  private struct Sent: Decodable {
    var token: String
  }

  /// Nil unless it is one object in one line.
  init?(_ line: String) {
    let data = Data(line.utf8)
    guard line.hasSuffix("}\n"), line.utf8.count(where: { $0 == 0x0A }) == 1,
      let found = try? JSONDecoder().decode(Line.self, from: data)
    else { return nil }
    self = found.failed
    // What was not sent has the recipients that its sender gave it, right or wrong.
    if self.line == nil { token = try? JSONDecoder().decode(Sent.self, from: data).token }
    serial = World.serial(in: line)
  }

  /// The number of the token, of a notification that the gateway refused.
  var number: Int? {
    token.flatMap { Int($0, radix: 16) }.map { World.number($0, serial: serial) }
  }
}
