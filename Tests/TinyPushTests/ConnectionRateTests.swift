import Testing

@testable import TinyPush

private func at(_ milliseconds: UInt64) -> Instant { Instant(milliseconds: milliseconds) }

/// Connects as often as the limit lets, and returns the instants in milliseconds.
private func connections(_ count: Int, from start: UInt64, seed: UInt64) -> [UInt64] {
  var rate = ConnectionRate(seed: seed)
  var now = at(start)
  return (0..<count).map { _ in
    now = max(now, rate.nextAt)
    rate.connect(at: now)
    return now.milliseconds
  }
}

@Test(arguments: [UInt64(0), 1_000_000])
func `a few connections may be made at once, and then one every few seconds`(start: UInt64) {
  for seed in UInt64(1)...50 {
    let instants = connections(100, from: start, seed: seed)
    #expect((4...7).contains(instants.count { $0 == start }))
    #expect(instants.count { $0 < start + 60_000 } < 20)
    for index in 20..<100 {
      let pause = instants[index] - instants[index - 1]
      #expect(pause >= 5000 && pause <= 10_000)
    }
  }
}

@Test func `a quiet time allows several connections at once again`() {
  var rate = ConnectionRate(seed: 3)
  for _ in 0..<7 { rate.connect(at: at(1_000_000)) }
  #expect(rate.nextAt > at(1_000_000))
  for _ in 0..<4 {
    #expect(rate.nextAt <= at(1_070_000))
    rate.connect(at: at(1_070_000))
  }
}

@Test func `a connection that delivers much costs nothing`() {
  var rate = ConnectionRate(seed: 3)
  for _ in 0..<100 {
    #expect(rate.nextAt <= at(1_000_000))
    rate.connect(at: at(1_000_000))
    rate.forgive()
  }
  // A second call for the same connection takes nothing back.
  for _ in 0..<7 { rate.connect(at: at(1_000_000)) }
  rate.forgive()
  rate.forgive()
  #expect(rate.nextAt > at(1_000_000))
}

@Test func `equal seeds connect in step, and other seeds do not`() {
  #expect(connections(20, from: 0, seed: 4) == connections(20, from: 0, seed: 4))
  #expect(connections(20, from: 0, seed: 4) != connections(20, from: 0, seed: 6))
}
