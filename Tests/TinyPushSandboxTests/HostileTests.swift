import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

private let files = [
  #"/* a */ "A" = "%@ é\n %2$@"; // b"#, #""A" = "x y"; "B\"" = "日本 %% %d";"#,
  "\"A\" = \"1\";\n\"A\" = \"2\";",
].map(\.bytes)

/// Reads a strings file, and returns how the reader broke its rules; nil: it broke none.
private func violation(_ file: [UInt8]) -> String? {
  let text = file
  var reader = StringsReader()
  var end = 0
  do throws(StringsProblem) {
    while let entry = try reader.next(text.span) {
      if entry.key.lowerBound < end || entry.value.lowerBound < entry.key.upperBound {
        return "\(entry) before \(end)"
      }
      end = entry.value.upperBound
      for range in [entry.key, entry.value] {
        var words = Text(capacity: range.count)
        words.append(unescapingStrings: text.span.extracting(range))
        if words.isCut { return "the text at \(range) is longer than its escaped form" }
      }
    }
  } catch {
    if error.place < end || error.place > text.count { return "\(error) behind \(end)" }
  }
  return nil
}

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

@Test func `the reader of strings files keeps its rules for damaged files`() {
  var random = Seeded(1)
  for file in files {
    for length in 0...file.count {
      #expect(violation(Array(file[..<length])) == nil, "\(file[..<length])")
    }
    for _ in 0..<2000 {
      let file = changed(file, &random)
      #expect(violation(file) == nil, "\(file)")
    }
  }
}

@Test func `a card keeps its width for damaged payloads and damaged files of the app`() throws {
  var random = Seeded(2)
  let payload =
    #"{"aps":{"alert":{"loc-key":"A","loc-args":["日本","x"],"title-loc-key":"B\""},"badge":1,"sound":"s","category":"N"}}"#
    .bytes
  var cards = 0
  for _ in 0..<2000 {
    let payload = changed(payload, &random)
    var screen = Screen()
    screen.strings = String(
      decoding: changed(files.randomElement(using: &random)!, &random), as: UTF8.self)
    screen.categories = String(decoding: changed("N=a,b\n".bytes, &random), as: UTF8.self)
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
