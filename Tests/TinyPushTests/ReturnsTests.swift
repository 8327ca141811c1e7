import Testing

@testable import Simulation
@testable import TinyPush

private func stretch(_ offset: Int64) -> Stretch {
  Stretch(place: FilePlace(offset: offset, claim: ClaimNumber(1), recipient: 0))
}

private func at(_ milliseconds: UInt64) -> Instant { Instant(milliseconds: milliseconds) }

@Test func `delayed stretches come when they are due, behind those without delay`() {
  var returns = Returns(capacity: 8)
  returns.delay(stretch(1), until: at(300))
  returns.delay(stretch(2), until: at(100))
  returns.putFirst(stretch(4))
  returns.putFirst(stretch(3))
  #expect(returns.nextDueAt == at(100))
  #expect(returns.count == 4)
  #expect(returns.notifications == 4)
  #expect(returns.takeNext(at: at(99))?.place.offset == 3)
  #expect(returns.takeNext(at: at(100))?.place.offset == 4)
  #expect(returns.nextDueAt == at(300))
  #expect(returns.takeNext(at: at(100))?.place.offset == 2)
  #expect(returns.takeNext(at: at(299))?.place.offset == nil)
  #expect(returns.isUrgent(at: at(299)) == false)
  #expect(returns.isUrgent(at: at(300)) == true)
  #expect(returns.takeNext(at: at(300))?.place.offset == 1)
  #expect(returns.isEmpty == true)
  #expect(returns.nextDueAt == nil)
}

@Test func `each decided stretch keeps its reason`() {
  var returns = Returns(capacity: 8)
  returns.decide(stretch(1), .rejected(Rejection(.invalidToken, code: 8)))
  returns.decide(stretch(2), .rejected(Rejection(.endsConnections)))
  let first = returns.takeDecided()
  #expect(first?.outcome == .rejected(Rejection(.invalidToken, code: 8)))
  // A stretch that is put back comes first again, with its reason.
  returns.putBack(first!)
  #expect(returns.takeDecided()?.place.offset == 1)
  #expect(returns.takeDecided()?.outcome == .rejected(Rejection(.endsConnections)))
  #expect(returns.takeDecided()?.place.offset == nil)
}

@Test func `all stretches that have room may be delayed`() {
  var returns = Returns(capacity: 8)
  var count: Int64 = 0
  while returns.hasRoom(for: 1) {
    returns.delay(stretch(count), until: at(100))
    count += 1
  }
  #expect(returns.count == count)
  for offset in 0..<count {
    #expect(returns.takeNext(at: at(100))?.place.offset == offset)
  }
}
