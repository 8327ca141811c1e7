import CLinux
import TinyPush

/// The suppression list: changes by other programs, and changes by the agent.
extension Agent {
  /// Loads the suppression list again if another program has changed it.
  mutating func noticeSuppression() {
    let before = suppression.error
    suppression.refresh(config.state.pointer, &courier)
    watch.watchState(config.state.pointer)
    logSuppression(before)
  }

  mutating func keepLearned() {
    let before = suppression.error
    let (isKept, wasDamaged) = suppression.keep(config.state.pointer, &courier)
    courier.suppression.kept(isKept)
    logSuppression(before)
    guard wasDamaged else { return }
    var text = Text()
    text.append("the suppression list in ", printable: config.state.span)
    text.append(SuppressionDirectory.setAside)
    output.log(.error, text, about: .suppression)
  }

  private mutating func logSuppression(_ before: Int32) {
    guard suppression.error != before else { return }
    var text = Text()
    if suppression.error == 0 {
      text.append("the suppression list can be written again")
    } else {
      SuppressionDirectory.explain(suppression.error, config.state.pointer, in: &text)
      text.append("; until then this agent's changes to the list are lost when it stops")
    }
    output.log(suppression.error == 0 ? .notice : .warning, text, about: .suppression)
  }
}
