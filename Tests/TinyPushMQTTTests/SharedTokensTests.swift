import Testing
import TinyPush
import TinyPushMQTT

private func record(_ number: UInt8, _ time: UInt32, _ reason: SuppressionRecord.Reason) throws
  -> SuppressionRecord
{
  let token = TokenIdentity(of: [UInt8](repeating: number, count: 32).span)
  return SuppressionRecord(token: token, time: time, reason: reason)
}

@Test(arguments: [0, 1, 2, 3, 4] as [UInt8])
func `a record of a token is read as it was written`(reason: UInt8) throws {
  let written = try record(7, 1_795_000_000, #require(SuppressionRecord.Reason(rawValue: reason)))
  var text = Text(capacity: 256)
  SharedToken.append(written, to: &text)
  let read = SharedToken.read(text.bytes)
  #expect(read?.token == written.token)
  #expect(read?.time == written.time)
  #expect(read?.reason == written.reason)
}

@Test(arguments: [
  "", "{}", "null", #"{"token":"07","time":1,"reason":"gone"}"#,
  #"{"token":"0707070707070707070707070707070707070707070707070707070707070707","time":-1,"reason":"gone"}"#,
  #"{"token":"0707070707070707070707070707070707070707070707070707070707070707","time":4294967295,"reason":"gone"}"#,
  #"{"token":"0707070707070707070707070707070707070707070707070707070707070707","time":99999999999999999999,"reason":"gone"}"#,
  #"{"token":"0707070707070707070707070707070707070707070707070707070707070707","time":1,"reason":"bored"}"#,
  #"{"token":7,"time":1,"reason":"gone"}"#,
])
func `a payload that is no record is refused`(payload: String) {
  #expect(SharedToken.read(Array(payload.utf8).span)?.time == nil)
}

@Test func `the topic of a token has 32 digits of a hash`() throws {
  var text = Text(capacity: 256)
  SharedToken.appendTopic(
    try record(7, 1, .gone).token, prefix: Array("tinypush".utf8).span, to: &text)
  #expect(text.bytes.string.contains(#/^tinypush/suppressed/[0-9a-f]{32}$/#))
}

@Test func `a record is news until the broker has one that overrides it`() throws {
  var tokens = SharedTokens()
  let gone = try record(1, 100, .gone)
  let registered = try record(1, 100, .registered)
  let later = try record(1, 101, .gone)
  var news: [Bool] = [tokens.isNews(gone)]
  tokens.remember(gone)
  news += [tokens.isNews(gone), tokens.isNews(registered), tokens.isNews(later)]
  tokens.remember(later)
  news += [tokens.isNews(registered), tokens.isNews(later)]
  #expect(news == [true, false, true, true, false, false])
}

@Test func `very many tokens are shared up to a bound`() throws {
  var tokens = SharedTokens()
  for number in 0..<UInt32(SharedTokens.tokensMax + 10) {
    let bytes = (0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4))) }
    let token = TokenIdentity(of: bytes.span)
    tokens.remember(SuppressionRecord(token: token, time: 1, reason: .gone))
  }
  let count = tokens.count
  #expect(count == SharedTokens.tokensMax)
}

@Test func `a table that was emptied knows no record`() throws {
  var tokens = SharedTokens()
  let gone = try record(1, 100, .gone)
  tokens.remember(gone)
  tokens.removeAll()
  let count = tokens.count
  let isNews = tokens.isNews(gone)
  #expect(count == 0)
  #expect(isNews)
}

// MARK: - Messages

/// Reads a message of the fleet `tinypush` as a box does whose clock shows 1000.
private func read(_ topic: String, _ payload: String) -> Result<UInt32, SharedToken.Problem> {
  do throws(SharedToken.Problem) {
    let record = try SharedToken.read(
      topic: Array(topic.utf8).span, payload: Array(payload.utf8).span,
      prefix: Array("tinypush".utf8).span, wall: 1000)
    return .success(record.time)
  } catch {
    return .failure(error)
  }
}

private func message(_ record: SuppressionRecord) -> (topic: String, payload: String) {
  var topic = Text(capacity: 256)
  var payload = Text(capacity: 256)
  SharedToken.appendTopic(record.token, prefix: Array("tinypush".utf8).span, to: &topic)
  SharedToken.append(record, to: &payload)
  return (topic.bytes.string, payload.bytes.string)
}

@Test func `a message is taken if its topic belongs to its token and its time is not to come`()
  throws
{
  let (topic, payload) = message(try record(7, 1060, .gone))
  #expect(read(topic, payload) == .success(1060))
  #expect(read(topic, "gone") == .failure(.malformed))
  #expect(read(message(try record(8, 1060, .gone)).topic, payload) == .failure(.topic))
  #expect(read("tinypush/suppressed/", payload) == .failure(.topic))
  let future = message(try record(7, 1061, .gone))
  #expect(read(future.topic, future.payload) == .failure(.future))
}

@Test func `a suppression leaves the broker after a year, and a registration stays`() throws {
  let year = Int64(SharedTokens.keptSeconds)
  let gone = try record(1, 1000, .gone)
  #expect(SharedToken.expiry(gone, wall: 1000) == SharedTokens.keptSeconds)
  #expect(SharedToken.expiry(gone, wall: 1000 + year - 1) == 1)
  #expect(SharedToken.expiry(gone, wall: 1000 + year) == nil)
  // The clock of this box is behind.
  #expect(SharedToken.expiry(gone, wall: 0) == SharedTokens.keptSeconds)
  #expect(SharedToken.expiry(try record(1, 1000, .registered), wall: 1000 + year) == 0)
}
