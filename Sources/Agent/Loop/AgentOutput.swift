import CLinux
import TinyPush

/// Where the agent says how it is: in the log, to the service manager, on its page and, with `--once`, as a bar on a terminal.
struct AgentOutput: ~Copyable {
  var log = Log()
  var page = MappedStatusPage()
  var progress: ProgressBar
  var outage = Outage()
  /// What was last said of the connection that is there; empty: nothing.
  private var whyDown = Text(capacity: 256)
  /// Why the page is not kept; 0: it is.
  private var pageProblem: Int32 = 0

  init(isOnce: Bool) {
    progress = ProgressBar(isWanted: isOnce)
  }

  deinit {}

  /// Says in the log something that may come and go, see ``LogFolding``; and on the page if it is wrong.
  @inline(never)
  mutating func log(_ priority: Log.Priority, _ text: borrowing Text, about topic: Log.Topic) {
    page.record(priority, text.bytes)
    log.write(priority, text, about: topic)
  }

  /// Says of the connection on the page and to the service manager.
  @inline(never)
  func publish(_ connectivity: StatusPage.Connectivity, _ words: Span<UInt8>) {
    page.change(connectivity, words: words)
    var text = Text()
    text.append("STATUS=")
    if connectivity == .connecting { text.append("connecting to ") }
    text.append(bytes: words)
    text.withCString { clinux_notify($0) }
  }

  /// The same of a connection that the courier has ended: by what it said of that, or else by these words.
  func publishDown(_ words: Span<UInt8>) {
    if whyDown.count > 0 { publish(.down, whyDown.bytes) } else { publish(.down, words) }
  }

  /// The same of one that is up; whatever was said of the one before is over.
  mutating func publishUp(_ words: Span<UInt8>) {
    whyDown.clear()
    publish(.up, words)
  }

  /// Says what the courier has to report.
  ///
  /// - Parameter name: the file that a report on a token is about.
  @inline(never)
  mutating func log(_ report: Report, of name: Span<UInt8>) {
    var text = Text()
    let priority = report.describe(in: &text)
    switch report {
    case .tokenInvalid, .tokenGone, .tokenSpared:
      text.append(" (file ")
      text.append(printable: name)
      text.append(")")
      if report.suppressesToken {
        // The log has a line about the notification, which says so.
        return page.know(suppressed: text.bytes)
      }
    default: break
    }
    log(priority, text, about: report.topic)
    guard report.topic == .connection else { return }
    outage.ended()
    whyDown.clear()
    whyDown.append(text)
  }

  /// Keeps the page at `path`, and says once that it cannot be.
  @inline(never)
  mutating func keepPage(at path: borrowing CString) {
    let problem = page.keep(at: path.pointer)
    guard problem != pageProblem else { return }
    pageProblem = problem
    var text = Text()
    text.append("the status page ")
    text.append(printable: path.span)
    switch problem {
    case 0: text.append(" can be kept again")
    case MappedStatusPage.isAnotherAgents:
      text.append(" is another agent's: set status to another file for each agent")
    case MappedStatusPage.isSomethingElse:
      text.append(" cannot be kept: something else is there, which stays as it is")
    default:
      text.append(" cannot be kept: ")
      text.append(cString: clinux_error_text(problem))
    }
    log(problem == 0 ? .notice : .warning, text, about: .page)
  }
}
