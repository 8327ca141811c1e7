import TinyPush

/// The kind of a step.
enum Word: Int {
  case scan, open, read, readRecipients, survey, verify, scanLater, release, cancel, close, record,
    keepLearned,
    sync, probe, remove, keepProgress, dial,
    write, listen,
    sample
  case disconnect, authorize, setAside, closeAside, wait, finish

  init(_ step: Courier.Step) {
    self =
      switch step {
      case .scan: .scan
      case .open: .open
      case .read: .read
      case .readRecipients: .readRecipients
      case .survey: .survey
      case .verify: .verify
      case .scanLater: .scanLater
      case .release: .release
      case .cancel: .cancel
      case .close: .close
      case .record: .record
      case .keepLearned: .keepLearned
      case .sync: .sync
      case .probe: .probe
      case .remove: .remove
      case .keepProgress: .keepProgress
      case .dial: .dial
      case .write: .write
      case .listen: .listen
      case .sample: .sample
      case .disconnect: .disconnect
      case .authorize: .authorize
      case .setAside: .setAside
      case .closeAside: .closeAside
      case .wait: .wait
      case .finish: .finish
      }
  }

  var text: StaticString {
    switch self {
    case .scan: "scan"
    case .open: "open"
    case .read: "read"
    case .readRecipients: "read recipients"
    case .survey: "survey"
    case .verify: "verify"
    case .scanLater: "scan later"
    case .release: "release"
    case .cancel: "cancel"
    case .close: "close"
    case .record: "record"
    case .keepLearned: "keep learned"
    case .sync: "sync"
    case .probe: "probe"
    case .remove: "remove"
    case .keepProgress: "keep progress"
    case .dial: "dial"
    case .write: "write"
    case .listen: "listen"
    case .sample: "sample"
    case .disconnect: "disconnect"
    case .authorize: "authorize"
    case .setAside: "set aside"
    case .closeAside: "close aside"
    case .wait: "wait"
    case .finish: "finish"
    }
  }
}
