import Simulation
import Testing

@testable import TinyPush

/// Lines of places in a file, of which only a part is in the input.
@Suite struct LineCountTests {
  private func check(_ text: [UInt8], _ random: inout Seeded) {
    var lines = LineCount(isFromStart: true)
    var start = 0
    var place = 0
    while place < text.count {
      place += Int.random(in: 1...min(40, text.count - place), using: &random)
      let input = Array(text[start...])
      if Bool.random(using: &random) {
        lines.pass(place - start, in: input.span)
        start = place
      } else {
        lines.count(upTo: place - start, in: input.span)
      }
      #expect(lines.line == text[..<place].count { $0 == .lineFeed } + 1, "\(text) \(place)")
    }
  }

  @Test func `lines are counted, also when the input moves on`() {
    var random = Seeded(1)
    for parts in [
      ["\n"], ["a"], ["a", "\n"], ["é", "\n", "你", "a"], ["aaaaaaaaaaaaaaa", "\n\n", "😀"],
      ["\u{8A}", "\u{8B}\u{89}", "\u{0B}", "\t", "\n"],
    ] {
      for count in 0...60 {
        let text = (0..<count).map { _ in parts.randomElement(using: &random)! }.joined()
        check(Array(text.utf8), &random)
      }
    }
    // Bytes that are not UTF-8.
    for count in 0...200 {
      check((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }, &random)
    }
  }
}
