import Foundation
import Fuzz
import Testing

@testable import Simulation

/// The fuzzer's seed inputs and its earlier findings.
private let corpus: [(property: Property, name: String, input: [UInt8])] =
  Property.allCases.flatMap { property in
    let folder = URL(filePath: #filePath).appending(path: "../../Fuzz/corpus/\(property)")
      .standardized
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.sorted().map { name in
      let bytes = FileManager.default.contents(atPath: folder.appending(path: name).path)
      return (property, name, [UInt8](bytes ?? Data()))
    }
  }

@Test func `the fuzzer's corpus violates no property`() {
  for property in Property.allCases {
    #expect(corpus.count { $0.property == property } > 5, "\(property)")
  }
  for (property, name, input) in corpus {
    // The text comes after the two bytes of the cut.
    #expect(!input.starts(with: Array("{\"".utf8)), "\(property)/\(name)")
    #expect(property.violation(input) == nil, "\(property)/\(name)")
  }
}

/// A short fuzzing run: changes each input of the corpus in the same random ways each time.
@Test func `random changes of the fuzzer's corpus violate no property`() {
  var random = Seeded(1)
  for (property, name, input) in corpus {
    for _ in 0..<50 {
      var changed = input
      for _ in 0...Int.random(in: 0...3, using: &random) {
        let place = Int.random(in: 0..<changed.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: changed[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: changed[place] = .random(in: 0...255, using: &random)
        case 2: changed.insert(#"{}[]",:\u0"#.utf8.randomElement(using: &random)!, at: place)
        default: if changed.count > 2 { changed.remove(at: place) }
        }
      }
      #expect(property.violation(changed) == nil, "\(property)/\(name): \(changed)")
    }
  }
}
