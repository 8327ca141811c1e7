import CMbed
import TinyPush
import TinyPushAgent

/// The identity of a connection's client, from its certificate.
///
/// A client without a certificate sends a provider token with each request.
final class ClientIdentity {
  let hasCertificate: Bool
  /// The certificate's topic; empty: none.
  let topic: Topic
  /// The topics that the certificate may push to, separated by commas; empty: only ``topic``.
  private let topics: CString
  /// Whether the certificate is only for the production environment.
  let isForOtherEnvironment: Bool

  init(topic: Span<UInt8>, topics: Span<UInt8>, kind: Int) {
    hasCertificate = kind & Int(CMBED_PEER_PRESENT) != 0
    self.topic = Topic(topic)
    self.topics = CString(topics)
    isForOtherEnvironment =
      kind & Int(CMBED_PEER_PRODUCTION) != 0 && kind & Int(CMBED_PEER_SANDBOX) == 0
  }

  /// Whether the certificate has several topics, so that a request must name one.
  var hasSeveralTopics: Bool { !topics.isEmpty }

  /// Whether the certificate may push to a topic.
  func allows(_ wanted: Span<UInt8>) -> Bool {
    guard hasSeveralTopics else { return wanted.equals(topic.text) }
    let list = CString.span(topics.pointer)
    var start = 0
    while start < list.count {
      var end = start
      while end < list.count, list[end] != .comma { end += 1 }
      if list.extracting(list.trimmed(start..<end)).equals(wanted) { return true }
      start = end + 1
    }
    return false
  }
}
