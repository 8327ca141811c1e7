import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary

private func at(_ milliseconds: UInt64) -> Instant { Instant(milliseconds: milliseconds) }

@Test func `sent notifications settle when the settle time after their acknowledgement is over`() {
  var marks = Acknowledgements(settle: .seconds(10))
  marks.sent(upTo: 3, wireEnd: 100, at: at(1000))
  #expect(marks.takeSettled(at: at(100_000)) == nil, "never acknowledged")
  marks.acknowledged(upTo: 99, at: at(2000), now: at(2000))
  #expect(marks.takeSettled(at: at(100_000)) == nil, "a byte is missing")
  marks.acknowledged(upTo: 100, at: at(2500), now: at(3000))
  #expect(marks.deadline == at(12_500))
  #expect(marks.takeSettled(at: at(12_499)) == nil)
  #expect(marks.takeSettled(at: at(12_500)) == 3)
  #expect(marks.takeSettled(at: at(12_500)) == nil)
  #expect(marks.isEmpty == true)
}

@Test func `an acknowledgement counts from the sending if its time is earlier`() {
  var marks = Acknowledgements(settle: .seconds(10))
  marks.sent(upTo: 1, wireEnd: 10, at: at(5000))
  marks.acknowledged(upTo: 10, at: at(100), now: at(6000))
  #expect(marks.deadline == at(15_000))
}

@Test func `a later acknowledgement does not restart the settle time`() {
  var marks = Acknowledgements(settle: .seconds(10))
  marks.sent(upTo: 1, wireEnd: 10, at: at(1000))
  marks.acknowledged(upTo: 10, at: at(1010), now: at(1010))
  marks.acknowledged(upTo: 10, at: at(9000), now: at(9000))
  #expect(marks.deadline == at(11_010))
}

@Test func `notifications sent at about the same time settle together after the last`() {
  var marks = Acknowledgements(settle: .seconds(10))
  marks.sent(upTo: 1, wireEnd: 10, at: at(1000))
  marks.sent(upTo: 2, wireEnd: 20, at: at(1300))
  marks.acknowledged(upTo: 10, at: at(1350), now: at(1350))
  marks.acknowledged(upTo: 20, at: at(1400), now: at(1400))
  #expect(marks.takeSettled(at: at(11_399)) == nil)
  #expect(marks.takeSettled(at: at(11_400)) == 2)
}

@Test func `a notification sent after an acknowledgement waits for its own`() {
  var marks = Acknowledgements(settle: .seconds(10))
  marks.sent(upTo: 1, wireEnd: 10, at: at(1000))
  marks.acknowledged(upTo: 10, at: at(1010), now: at(1010))
  marks.sent(upTo: 2, wireEnd: 20, at: at(1020))
  #expect(marks.takeSettled(at: at(11_010)) == 1)
  #expect(marks.takeSettled(at: at(100_000)) == nil)
  marks.acknowledged(upTo: 20, at: at(1030), now: at(1030))
  #expect(marks.takeSettled(at: at(11_030)) == 2)
}

@Test func `a missing acknowledgement is asked for when it is due and repeatedly after that`() {
  var marks = Acknowledgements(settle: .seconds(10))
  #expect(marks.deadline == nil)
  #expect(marks.mustAsk(at: at(1_000_000)) == false)
  marks.sent(upTo: 1, wireEnd: 10, at: at(1000))
  #expect(marks.mustAsk(at: at(10_999)) == false)
  #expect(marks.deadline == at(11_000))
  #expect(marks.mustAsk(at: at(11_000)) == true)
  marks.acknowledged(upTo: 0, at: at(11_000), now: at(11_000))
  #expect(marks.mustAsk(at: at(11_000)) == false)
  let deadline = marks.deadline!
  #expect(deadline > at(11_000) && deadline <= at(16_000))
  #expect(marks.mustAsk(at: deadline) == true)
}

@Test func `clear forgets the marks of a connection`() {
  var marks = Acknowledgements(settle: .seconds(10))
  marks.sent(upTo: 1, wireEnd: 10, at: at(1000))
  marks.clear()
  #expect(marks.isEmpty == true)
  #expect(marks.deadline == nil)
  #expect(marks.takeSettled(at: at(100_000)) == nil)
}

/// Compares with a model: each notification settles, and none before acknowledgement and wait.
@Test(arguments: 1...30)
func `every notification settles, and none too early`(seed: UInt64) {
  var random = Seeded(seed)
  let settle = UInt64([100, 1000, 10_000][random.upTo(2)])
  var marks = Acknowledgements(settle: .milliseconds(settle))
  var now: UInt64 = 1
  var sent: [(wireEnd: UInt64, acknowledgedAt: UInt64?)] = []
  var settled = 0
  for step in 0..<3000 {
    now += UInt64(random.upTo(random.oneIn(50) ? Int(settle) : Int(settle) / 40))
    if step < 2500, random.oneIn(2) {
      sent.append(((sent.last?.wireEnd ?? 0) + 10, nil))
      marks.sent(upTo: UInt32(sent.count), wireEnd: sent.last!.wireEnd, at: at(now))
    }
    if random.oneIn(3) || step > 2900, let end = sent.last?.wireEnd {
      let upTo = step > 2900 || random.oneIn(2) ? end : UInt64(random.upTo(Int(end)))
      for index in settled..<sent.count
      where sent[index].wireEnd <= upTo && sent[index].acknowledgedAt == nil {
        sent[index].acknowledgedAt = now
      }
      marks.acknowledged(upTo: upTo, at: at(now), now: at(now))
    }
    while let last = marks.takeSettled(at: at(now)) {
      for index in settled..<Int(last) {
        guard let since = sent[index].acknowledgedAt, since + settle <= now else {
          Issue.record("SEED=\(seed): \(index) settled early")
          return
        }
      }
      settled = Int(last)
    }
  }
  now += 10 * settle
  while let last = marks.takeSettled(at: at(now)) { settled = Int(last) }
  #expect(settled == sent.count, "SEED=\(seed)")
}
