import CLinux
import TinyPush

/// The suppression list as others change it and as the agent learns.
extension Agent {
  /// Takes up a suppression list that somebody else has changed.
  mutating func noticeSuppression() {
    let before = suppression.error
    suppression.refresh(config.state.pointer, &courier)
    watch.watchState(config.state.pointer)
    logSuppression(before)
  }

  mutating func keepLearned() {
    let before = suppression.error
    let (isKept, wasDamaged) = suppression.keep(config.state.pointer, &courier)
    courier.keptLearned(isKept)
    logSuppression(before)
    guard wasDamaged else { return }
    var text = Text()
    text.append("the suppression list in ")
    text.append(printable: config.state.span)
    text.append(SuppressionDirectory.setAside)
    output.log(.error, text, about: .suppression)
  }

  private mutating func logSuppression(_ before: Int32) {
    guard suppression.error != before else { return }
    var text = Text()
    if suppression.error == 0 {
      text.append("the suppression list can be kept again")
    } else {
      SuppressionDirectory.explain(suppression.error, config.state.pointer, in: &text)
      text.append("; until then what is learned of device tokens lasts only as long as this agent")
    }
    output.log(suppression.error == 0 ? .notice : .warning, text, about: .suppression)
  }
}
