import Foundation

/// A line of `failed/`, read by somebody else's JSON reader.
struct Failure: Decodable {
  var reason: String
  var file: String
  var offset: Int?
  var line: Int?
  var column: Int?
  var status: Int?
  var token: String?
  var text: String?
  /// Of the notification, where it has one.
  var serial = 0

  private enum CodingKeys: CodingKey {
    case reason, file, offset, line, column, status, token, text
  }

  /// Nil unless it is one object in one line.
  init?(_ line: String) {
    guard line.hasSuffix("}\n"), line.utf8.count(where: { $0 == 0x0A }) == 1,
      let failure = try? JSONDecoder().decode(Failure.self, from: Data(line.utf8))
    else { return nil }
    self = failure
    serial = World.serial(in: line)
  }

  /// The number of the token, of a notification that the gateway refused.
  var number: Int? {
    token.flatMap { Int($0, radix: 16) }.map { World.number($0, serial: serial) }
  }
}
