import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

/// Returns the bytes with one to four random changes.
private func changed(_ bytes: [UInt8], _ random: inout Seeded) -> [UInt8] {
  var bytes = bytes
  for _ in 0...Int.random(in: 0...3, using: &random) {
    let place = Int.random(in: 0..<bytes.count, using: &random)
    switch Int.random(in: 0..<4, using: &random) {
    case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: bytes[place] = .random(in: 0...255, using: &random)
    case 2: bytes.insert(#""'\U=;/* %@$"#.utf8.randomElement(using: &random)!, at: place)
    default: if bytes.count > 1 { bytes.remove(at: place) }
    }
  }
  return bytes
}

@Test func `a card keeps its width for damaged payloads`() throws {
  var random = Seeded(2)
  let payload =
    #"{"aps":{"alert":{"loc-key":"A","loc-args":["日本","x"],"title-loc-key":"B\""},"badge":1,"sound":"s","category":"N"}}"#
    .bytes
  var cards = 0
  for _ in 0..<2000 {
    let payload = changed(payload, &random)
    var screen = Screen()
    screen.columns = Int.random(in: 1...100, using: &random)
    // The sandbox refuses an invalid payload before any device gets it.
    guard let text = String(validating: payload, as: UTF8.self), let card = screen.card(text) else {
      continue
    }
    cards += 1
    let width = min(max(screen.columns, 40), 80)
    for line in card.split(separator: "\n") where !line.hasPrefix("  ") {
      #expect(columns(line) == width, "\(line)")
    }
  }
  #expect(cards > 200)
}
