import CLinux
import TinyPush

/// The agent's outputs: the log, the service manager, the status page and, with `--once`, the
/// progress bar.
struct AgentOutput: ~Copyable {
  var log = Log()
  var page = MappedStatusPage()
  var progress: ProgressBar
  /// The reason why the status page cannot be written; 0 if it can.
  private var pageProblem: Int32 = 0

  init(isOnce: Bool) {
    progress = ProgressBar(isWanted: isOnce)
  }

  deinit {}

  /// Logs a line through ``LogFolding``, and records an error or warning on the status page.
  @inline(never)
  mutating func log(_ priority: Log.Priority, _ text: borrowing Text, about topic: Log.Topic) {
    page.record(priority, text.bytes)
    log.write(priority, text, about: topic)
  }

  /// Publishes the state of a connection to the service manager.
  @inline(never)
  func tell(_ connectivity: StatusPage.Connectivity, _ words: Span<UInt8>) {
    var text = Text()
    text.append("STATUS=")
    if connectivity == .connecting { text.append("connecting to ") }
    text.append(bytes: words)
    text.withCString { clinux_notify($0) }
  }

  /// Logs a report of the courier or the link.
  ///
  /// - Parameters:
  ///   - name: the file that a report about a token belongs to.
  ///   - host: the service that the report is about; empty: that of devices.
  @inline(never)
  mutating func log(_ report: Report, of name: Span<UInt8>, at host: Span<UInt8>) {
    var text = Text()
    if host.count > 0 {
      text.append(printable: host)
      text.append(": ")
    }
    let priority = report.describe(in: &text)
    switch report {
    case .tokenInvalid, .tokenGone, .tokenSpared:
      text.append(" (file ", printable: name, ")")
      if report.suppressesToken {
        // The log already has a line about the notification.
        return page.publish(suppressed: text.bytes)
      }
    default: break
    }
    log(priority, text, about: report.topic)
  }

  /// Opens the status page at `path`, and logs when that begins or ceases to fail.
  @inline(never)
  mutating func keepPage(at path: borrowing CString) {
    let problem = page.keep(at: path.pointer)
    guard problem != pageProblem else { return }
    pageProblem = problem
    var text = Text()
    text.append("the status page ", printable: path.span)
    switch problem {
    case 0: text.append(" can be written again")
    case MappedStatusPage.hasOtherAgent:
      text.append(" belongs to another agent: set status to a different file for each agent")
    case MappedStatusPage.isNoPage:
      text.append(
        " cannot be written: the file is not a status page, and stays unchanged: remove the file, or set status to another one"
      )
    default:
      text.append(" cannot be written: ", cString: clinux_error_text(problem))
    }
    log(problem == 0 ? .notice : .warning, text, about: .page)
  }
}
