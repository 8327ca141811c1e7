import Testing
import TinyPush

@testable import TinyPushAgent

@Suite struct AcceptanceTimesTests {
  private func recipient(_ number: UInt8) -> TokenIdentity {
    let token = [number]
    return TokenIdentity(of: token.span)
  }

  @Test func `the last time of each of twenty recipients is known`() {
    var times = AcceptanceTimes()
    for round in 0..<3 {
      for number in 1...20 {
        times.accept(recipient(UInt8(number)).hash, at: Int64(100 * round + number))
      }
    }
    for number in 1...20 {
      #expect(times.seconds(of: recipient(UInt8(number))) == UInt32(200 + number))
    }
    #expect(times.seconds(of: recipient(21)) == nil)
  }

  @Test func `of too many recipients the last ones are known`() {
    var times = AcceptanceTimes()
    for number in 0...255 { times.accept(recipient(UInt8(number)).hash, at: Int64(1000 + number)) }
    let known = (0...255).filter { times.seconds(of: recipient(UInt8($0))) != nil }
    #expect(known.count <= 128)
    #expect(known.suffix(1) == [255])
    #expect(known.allSatisfy { times.seconds(of: recipient(UInt8($0))) == UInt32(1000 + $0) })
    #expect(known.reduce(0, +) / known.count > 150, "mostly the last ones")
  }
}
