import TinyPush
import TinyPushAgent
import TinyPushMQTT
import TinyPushRules

/// Asks the broker whether it takes the login and the subscriptions.
struct BrokerTrial: ~Copyable {
  /// The time in which the broker answers a subscription.
  private static let patience = Duration.seconds(5)

  /// For each subscription, the number under which the broker was asked for it.
  private var asked = InlineArray<32, UInt16>(repeating: 0)

  init() {}

  /// Calls `body` with each thing that the broker refuses, and whether it is only a warning; returns
  /// whether the broker has answered.
  ///
  /// For a shared subscription, this asks for its topic filter alone: a message of the group must not
  /// come here.
  mutating func run(
    _ config: borrowing BridgeConfig, _ visit: inout BrokerVisit,
    _ body: (borrowing Text, _ isWarning: Bool) -> Void
  ) -> Bool {
    let filters = config.subscriptions.count
    return visit.run(config.tls) { (event, visit) throws(BrokerProblem) in
      var text = Text(capacity: 1024)
      switch event {
      case .connected:
        var isAsking = false
        for index in 0..<filters {
          let filter = config.subscriptions.filter(index)
          if let reason = visit.session.lack(for: filter) {
            config.subscriptions.appendRefusal(of: index, reason, to: &text)
            body(text, false)
            text.clear()
          } else if let inner = TopicFilter.shared(filter) {
            asked[index] =
              visit.session.subscribe(filter.extracting(inner), isState: false, at: Clock.now())
              ?? 0
            isAsking = true
          }
        }
        if isAsking { visit.wait(Self.patience) } else { visit.finish() }
      case .subscribed(let answer):
        for index in 0..<filters where asked[index] == answer.packetID {
          if answer.reason >= 0x80 {
            config.subscriptions.appendRefusal(of: index, answer.reason, to: &text)
            body(text, false)
          } else if answer.reason == 0 {
            config.subscriptions.appendQuality(of: index, to: &text)
            body(text, true)
          }
        }
        if answer.isLast { visit.finish() }
      case .published, .unsubscribed, .message: break
      }
    }
  }
}
