import Testing

@testable import Simulation
@testable import TinyPush

private func stretch(_ firstID: UInt32, count: UInt32 = 1, endsFile: Bool = false) -> Stretch {
  Stretch(
    firstID: firstID, count: count, claim: firstID / 10, recipient: 0, offset: Int64(firstID),
    endsFile: endsFile)
}

@Test(arguments: 1...30)
func `a window behaves as an array`(seed: UInt64) {
  var random = Seeded(seed)
  let capacity = 1 + random.upTo(9)
  var window = Window(capacity: capacity)
  var model: [Stretch] = []
  for step in UInt32(0)..<1000 {
    let isFull = model.count == capacity
    switch random.upTo(6) {
    case 0...1 where !isFull:
      model.append(stretch(step, count: UInt32(random.upTo(3))))
      window.append(model.last!)
    case 2 where !isFull:
      model.insert(stretch(step, count: UInt32(random.upTo(3))), at: 0)
      window.prepend(model[0])
    case 3:
      let removed = window.removeFirst()
      #expect(removed?.firstID == (model.isEmpty ? nil : model.removeFirst().firstID))
    case 4:
      let removed = window.removeLast()
      #expect(removed?.firstID == (model.isEmpty ? nil : model.removeLast().firstID))
    case 5 where !model.isEmpty:
      model[model.count - 1].count += 1
      window.extendLast()
    case 6 where !model.isEmpty:
      model[model.count - 1].endsFile = true
      window.endLast()
    default: break
    }
    #expect(window.count == model.count)
    #expect(window.isEmpty == model.isEmpty)
    #expect(window.notifications == model.reduce(0) { $0 + Int($1.count) })
    #expect(window.first?.firstID == model.first?.firstID)
    #expect(window.last?.firstID == model.last?.firstID)
    #expect(window.last?.count == model.last?.count)
    #expect(window.last?.endsFile == model.last?.endsFile)
  }
}
