import TinyPush

/// The kind of a step.
enum Word: String {
  case scan, read, readRecipients, release, record, keepLearned, sync, remove, rename
  case dial, write, listen, sample, disconnect, authorize, setAside, wait, finish

  init(_ step: Courier.Step) {
    self =
      switch step {
      case .scan: .scan
      case .read: .read
      case .readRecipients: .readRecipients
      case .release: .release
      case .record: .record
      case .keepLearned: .keepLearned
      case .sync: .sync
      case .remove: .remove
      case .rename: .rename
      case .dial: .dial
      case .write: .write
      case .listen: .listen
      case .sample: .sample
      case .disconnect: .disconnect
      case .authorize: .authorize
      case .setAside: .setAside
      case .wait: .wait
      case .finish: .finish
      }
  }
}
