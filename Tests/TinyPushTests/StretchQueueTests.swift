import Testing

@testable import Simulation
@testable import TinyPush

private func stretch(_ number: UInt32, count: UInt32) -> Stretch {
  Stretch(
    place: FilePlace(offset: Int64(number), claim: ClaimNumber(number / 10), recipient: 0),
    count: count)
}

extension Stretch {
  fileprivate var facts: [Int64] {
    [place.offset, Int64(skipped), Int64(count), wasSent ? 1 : 0]
  }
}

@Test(arguments: 1...30)
func `a queue of stretches behaves like an array`(seed: UInt64) {
  var random = Seeded(seed)
  let capacity = 1 + random.upTo(9)
  var queue = StretchQueue(capacity: capacity)
  var model: [Stretch] = []
  for step in UInt32(0)..<1000 {
    let isFull = model.count == capacity
    switch random.upTo(7) {
    case 0...1 where !isFull:
      model.append(stretch(step, count: UInt32(1 + random.upTo(3))))
      queue.append(model.last!)
    case 2 where !isFull:
      model.insert(stretch(step, count: UInt32(1 + random.upTo(3))), at: 0)
      queue.prepend(model[0])
    case 3:
      let removed = queue.removeFirst()
      #expect(removed?.facts == (model.isEmpty ? nil : model.removeFirst().facts))
    case 4:
      let removed = queue.removeLast()
      #expect(removed?.facts == (model.isEmpty ? nil : model.removeLast().facts))
    case 5 where !model.isEmpty:
      model[model.count - 1].count += 1
      queue.extendLast()
    case 6 where !model.isEmpty:
      let wanted = UInt32(1 + random.upTo(Int(model[0].count) - 1))
      let expected = model[0].removeFirst(wanted)
      if model[0].count == 0 { model.removeFirst() }
      #expect(queue.removeFirst(notifications: wanted).facts == expected.facts)
    case 7:
      for index in model.indices { model[index].wasSent = true }
      queue.recordSent()
    default: break
    }
    #expect(queue.count == model.count)
    #expect(queue.isEmpty == model.isEmpty)
    #expect(queue.notifications == model.reduce(0) { $0 + Int($1.count) })
    #expect(queue.first?.facts == model.first?.facts)
    #expect(queue.last?.facts == model.last?.facts)
    for index in model.indices { #expect(queue[index].facts == model[index].facts) }
  }
}
