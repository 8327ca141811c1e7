import Testing

@testable import Simulation
@testable import TinyPush

private func read(_ text: [UInt8], from start: Int = 0) -> Notification? {
  var reader = NotificationReader()
  var findings = Findings()
  guard
    case .notification(let notification) = reader.next(
      in: text.span, isWhole: true, Rules(), &findings)
  else { return nil }
  return notification
}

/// Returns the texts of all parts of a notification.
private func parts(_ notification: Notification, of text: [UInt8]) -> [String] {
  let ranges = [
    notification.object, notification.payload.range, notification.payload.alert.range,
    notification.payload.alert.text, notification.firstList, notification.collapseID,
    notification.topic, notification.identifier, notification.localized,
  ]
  var parts = ranges.map { String(text.span.extracting($0)) }
  guard notification.tokens > 0 else { return parts }
  parts.append(String(text.span.extracting(notification.firstToken)))
  return parts
}

/// A notification with each part, and some that lack parts.
private let texts = [
  #"{"token": "\#(World.token(1))", "payload": {"aps": {"alert": {"title": "T", "body": "Tank low"}}, "x": 1}, "to": ["family", "two"], "collapse-id": "tank", "topic": "org.example", "id": "123e4567-e89b-12d3-a456-42661417400a", "localized": {"fr": "Cuve vide"}}"#,
  World.notification(1, 2, 3),
  #"{"aps": {"alert": "Tank low"}}"#,
  #"{"to": "family", "payload": {"aps": {"badge": 1}, "acme": "ü"}}"#,
]

@Test(arguments: texts, [0, 1, 4000])
func `a notification that was moved to another place has the same parts`(
  object: String, distance: Int
) throws {
  let text = [UInt8](repeating: 0x20, count: distance) + object.bytes
  let notification = try #require(read(text))
  var moved = notification
  moved.move(by: distance)
  #expect(parts(moved, of: object.bytes) == parts(notification, of: text))
  moved.move(by: -distance)
  #expect("\(moved)" == "\(notification)")
}
