import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

@Test(arguments: [
  "1700000000123 10 1700086400 7 4294967295", "0 5 0 1 0", "1700000000123 10 -1 7 -1",
  "0 5 0 1 3 alert 123e4567-e89b-42d3-a456-426614174000 61ff", "0 5 0 1 3 voip x ",
])
func `an arrival read from a line writes the same line`(line: String) {
  let arrival = Arrival(line.bytes.span)
  #expect(text { arrival?.write(in: &$0) } == line)
}

@Test(arguments: [
  "", "1", "1 10 0 7", "1 10 0 7 8 9", "1 10 0 7 8 ", "1 10 0 7 x", "1 256 0 7 8",
  "1 10 4294967296 7 8", "1 -1 0 7 8", "1  10 0 7 8", "- 10 0 7 8",
  "0 5 0 1 3 shout x 61", "0 5 0 1 3 alert x 6", "0 5 0 1 3 alert x 6g", "0 5 0 1 3 alert x",
])
func `a malformed line is not read as an arrival`(line: String) {
  let arrival = Arrival(line.bytes.span)
  #expect(arrival == nil)
}

@Test func `a stored notification is kept until it expires, but at most 28 days`() {
  func expiresAt(_ expiration: Int) -> Int64 {
    StoredNotification(Arrival("1700000000999 10 \(expiration) 1 1".bytes.span)!, payload: Span())
      .expiresAt
  }
  #expect(expiresAt(1_700_000_060) == 1_700_000_060)
  #expect(expiresAt(1_600_000_000) == 1_600_000_000)
  #expect(expiresAt(-1) == 1_702_419_200)
  #expect(expiresAt(1_800_000_000) == 1_702_419_200)
}
