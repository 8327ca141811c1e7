import CLinux
import CommandArguments
import TinyPush

/// `tinypush status`: what the agent says of itself.
enum StatusCommand {
  static let usage: StaticString = """
    Usage: tinypush status [--json] [OPTION]...
    Says whether the agent runs, to whom it is connected, and what became of the notifications
    since it started. It reads a page that the agent keeps up to date, and does not wake it.

      --json                as a line of JSON
      -c, --config FILE     the configuration (/etc/tinypush/tinypush.conf)
      -o KEY=VALUE          a setting over it
      -h, --help            print this

    Ends with 0 when the agent is connected, with 75 when it is not, and with 69 when it does
    not run.

    """

  static func run(
    _ count: Int32, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  ) -> Int32 {
    let options: InlineArray<1, Option> = [Option("json")]
    var arguments = Arguments("status", count, values, options: options.span, usage: usage)
    do throws(ExitStatus) {
      var config = Config()
      var isJSON = false
      while try arguments.next() != nil { isJSON = true }
      try arguments.readConfig(into: &config)
      let page: StatusPage
      do throws(StatusPage.Problem) {
        page = try StatusPage.read(config.status.pointer)
      } catch {
        var text = Text()
        text.append(printable: config.status.span)
        switch error {
        case .cannotOpen(let number):
          text.append(": ")
          text.append(cString: clinux_error_text(number))
          text.append(": has the agent been started with this configuration?")
        case .notAPage: text.append(": is not the status page of this version: restart the agent")
        }
        throw arguments.fail(.unavailable, text)
      }
      var text = Text(capacity: 4096)
      if isJSON { writeJSON(page, in: &text) } else { write(page, in: &text) }
      text.write(to: STDOUT_FILENO)
      guard page.isAlive else { return ExitStatus.unavailable.rawValue }
      return page.link == StatusPage.Link.up.rawValue ? 0 : ExitStatus.tryLater.rawValue
    } catch {
      return error.rawValue
    }
  }

  private static func state(_ page: StatusPage) -> StaticString {
    guard page.isAlive else { return "not running" }
    switch StatusPage.Link(rawValue: page.link) {
    case .up: return "connected"
    case .connecting: return "connecting"
    case .down, nil: return "not connected"
    }
  }

  private static func counters(_ page: StatusPage) -> InlineArray<
    13, (StaticString, StaticString, UInt64)
  > {
    let counters = page.counters
    return [
      ("in flight", "in_flight", page.inFlight),
      ("sent", "sent", counters.sent),
      ("delivered, proved", "settled_by_proof", counters.settledByProof),
      ("delivered, by time", "settled_by_time", counters.settledByTime),
      ("refused by the gateway", "refused", counters.refused),
      ("failed the check", "failed_check", counters.failedCheck),
      ("repeated", "repeated", counters.repeated),
      ("uncertain", "uncertain", counters.uncertain),
      ("expired", "expired", counters.expired),
      ("suppressed", "suppressed", counters.suppressed),
      ("superseded", "superseded", counters.superseded),
      ("put aside", "postponed", counters.postponed),
      ("connections", "connections", counters.connections),
    ]
  }

  private static func write(_ page: StatusPage, in text: inout Text) {
    text.append(state(page))
    if page.isAlive {
      text.append(" for ")
      duration(Clock.wallSeconds() - page.changedAt, in: &text)
      text.append(", running for ")
      duration(Clock.wallSeconds() - page.startedAt, in: &text)
    }
    text.append("\n  ")
    text.append(bytes: words(page))
    text.append("\n\n")
    let rows = counters(page)
    for index in rows.indices {
      let (label, _, number) = rows[index]
      text.append("  ")
      text.append(label)
      for _ in label.utf8CodeUnitCount..<26 { text.append(" ") }
      text.append(number)
      text.append("\n")
    }
  }

  private static func writeJSON(_ page: StatusPage, in text: inout Text) {
    text.append("{\"state\":\"")
    text.append(state(page))
    text.append("\",\"pid\":")
    text.append(page.processID)
    text.append(",\"started_at\":")
    text.append(page.startedAt)
    text.append(",\"changed_at\":")
    text.append(page.changedAt)
    text.append(",\"detail\":")
    text.append(json: words(page))
    let rows = counters(page)
    for index in rows.indices {
      text.append(",\"")
      text.append(rows[index].1)
      text.append("\":")
      text.append(rows[index].2)
    }
    text.append("}\n")
  }

  @_lifetime(borrow page)
  static func words(_ page: borrowing StatusPage) -> Span<UInt8> {
    var count = 0
    while count < page.words.count, page.words[count] != 0 { count += 1 }
    return page.words.span.extracting(0..<count)
  }

  static func duration(_ seconds: Int64, in text: inout Text) {
    if seconds < 120 {
      text.append(max(seconds, 0))
      text.append(" s")
    } else if seconds < 7200 {
      text.append(seconds / 60)
      text.append(" min")
    } else if seconds < 172_800 {
      text.append(seconds / 3600)
      text.append(" h")
    } else {
      text.append(seconds / 86_400)
      text.append(" days")
    }
  }
}
