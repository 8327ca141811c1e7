import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush check`, which checks notification files, or all that the agent needs.
enum CheckCommand {
  static let command = Command(
    "check", "check notification files, or the configuration", options: "json recipients settings",
    usage: """
      Usage: tinypush check [OPTION]... [FILE|-]...
      With files: checks notification files and the recipients files that they name,
      and prints where they are wrong, how to correct them, and what they waste.
      Without a file: checks the configuration, the clock, the certificate, the spool
      and the other directories, and the connections to the push service and the
      feedback service, and prints what to do about each problem.

        --json                print a line of JSON for each problem: file, line,
                              column, end_column, offset, severity (error or
                              warning), code, message; without a file, a line for
                              each check: name, state (ok, warning, error or
                              skipped), message, advice
        --recipients          the files are recipients files; those in the directory
                              of recipients files need no option
        --settings            check only the configuration, and print nothing if it
                              has no mistake
      \t\

      Exit status with files: 0 no errors; 65 something would be refused. Without a
      file: 0 no errors, or the first of these that applies: 78 the configuration or
      the certificate is wrong; 77 a permission is missing; 66 a file is missing; 74
      the disk is full or read-only; 69 the push service cannot be reached; 75 the
      clock is not set.
      As root, it checks the spool with the rights of the spool's owner. To see
      whether the service answers, it sends a notification that the service must
      refuse; nothing is delivered. With protocol = binary and confirm = settle it
      sends none.

      """, run)

  static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var config = Config()
    var isJSON = false
    var isRecipients = false
    var isSettings = false
    while let option = try arguments.next() {
      switch option {
      case 0: isJSON = true
      case 1: isRecipients = true
      default: isSettings = true
      }
    }
    guard arguments.operand(0) != nil else {
      guard !isRecipients else {
        throw arguments.fail(.usage, "--recipients needs a recipients file to check")
      }
      try readSettings(arguments, into: &config, isJSON: isJSON)
      return isSettings
        ? .ok : Checkup.run(config, file: arguments.configPath, isJSON: isJSON)
    }
    guard !isSettings else {
      throw arguments.fail(.usage, "--settings checks the configuration, and takes no file")
    }
    try arguments.readConfig(into: &config, for: .command)
    var report = CheckReport(isJSON: isJSON)
    var lists = CheckedLists(config.recipients.pointer, config.courier.rules.pushProtocol)
    var failure: ExitStatus?
    var index = 0
    while let path = arguments.operand(index) {
      index += 1
      do throws(InputFile.Problem) {
        let file = try InputFile.open(path)
        var source = SourceText(path, file)
        if !isRecipients, isConfig(path, file) {
          report.flush()
          failure = refuse(configIn: path, arguments)
          continue
        }
        if isRecipients || lists.holds(path) {
          RecipientsCheck.run(&source, config.courier.rules.pushProtocol, &report)
        } else {
          NotificationsCheck.run(&source, config.courier.rules, &lists, &report)
        }
        if let failure = source.failure { throw failure }
      } catch {
        report.flush()
        failure = arguments.fail(error.status, error.text(path))
      }
    }
    report.flush()
    return failure ?? (report.hasErrors ? .dataRefused : .ok)
  }

  /// Whether a file is a configuration: its name ends with `.conf`, and its first byte is not `{`.
  private static func isConfig(_ path: UnsafePointer<CChar>, _ file: Int32) -> Bool {
    let name = CString.span(path)
    let ending: StaticString = ".conf"
    let start = name.count - ending.utf8CodeUnitCount
    return start >= 0 && name.extracting(start..<name.count).equals(ending)
      && InputFile.firstByte(of: file) != .openBrace
  }

  private static func refuse(
    configIn path: UnsafePointer<CChar>, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    var text = Text(capacity: 2048)
    text.append(printable: CString.span(path))
    text.append(" is a configuration: check it with tinypush check --config ")
    text.append(shell: CString.span(path))
    return arguments.fail(.usage, text)
  }

  /// Reads the configuration as the agent does.
  private static func readSettings(
    _ arguments: borrowing Arguments, into config: inout Config, isJSON: Bool
  ) throws(ExitStatus) {
    var message = Text()
    do throws(ExitStatus) {
      try arguments.readConfig(into: &config, for: .agent, message: &message)
    } catch {
      if isJSON { Checkup.refuse(message, error) }
      throw arguments.fail(error, message)
    }
  }
}

/// The check of a notification file.
enum NotificationsCheck {
  /// The most findings that are printed about one notification.
  private static let findingsMax = 1000

  @inline(never)
  static func run(
    _ source: inout SourceText, _ rules: Rules, _ lists: inout CheckedLists,
    _ report: inout CheckReport
  ) {
    var findings = Findings(capacity: findingsMax)
    var reader = NotificationReader()
    var tally = CheckReport.Tally()
    reading: while true {
      var start = 0
      switch reader.next(in: source.text, isWhole: source.isWhole, rules, &findings) {
      case .notification(let notification):
        start = notification.object.lowerBound
        if notification.lists > 0 {
          look(at: notification, in: source.text, &lists, &findings, &report)
        }
      case .refused(_, let object): start = object.lowerBound
      case .more(let from):
        reader.resume(at: source.readOn(from: from, &report))
        continue
      case .end:
        if tally.count > 0 || source.failure != nil { break reading }
        start = source.text.count
        findings.add(Finding(.nothing, at: start))
      }
      tally.count += 1
      tally.refused += findings.refusals > 0 ? 1 : 0
      tally.warnings += UInt64(findings.warnings)
      source.go(to: start)
      let line = source.line
      for index in 0..<findings.count {
        let finding = findings[index]
        report.take(finding)
        if finding.reason.isOfDirectory { lists.appendDirectory(to: &report.message) }
        report.report(
          &source, finding.offset, isWarning: finding.isWarning, notificationLine: line)
      }
      report.printMore(source.path, findings.refusals + findings.warnings - findings.count)
    }
    if source.failure == nil { report.sum(source.path, tally, "notification") }
  }

  /// Adds findings about the recipients files that a notification names.
  @inline(never)
  private static func look(
    at notification: Notification, in text: Span<UInt8>, _ lists: inout CheckedLists,
    _ findings: inout Findings, _ report: inout CheckReport
  ) {
    notification.forEachList(in: text) { name, place in
      let state = lists.state(of: name, &report)
      let isDefaultMissing = state == .missing && notification.isForDefault
      if let reason = isDefaultMissing ? .listMissingDefault : state.reason {
        findings.add(Finding(reason, at: place))
      }
    }
  }
}

/// The check of a recipients file.
enum RecipientsCheck {
  @inline(never)
  static func run(
    _ source: inout SourceText, _ pushProtocol: PushProtocol, _ report: inout CheckReport
  ) {
    var tally = read(&source, pushProtocol, &report)
    if tally.count == 0, source.failure == nil {
      tally = CheckReport.Tally(count: 1, refused: 1)
      report.take(Finding(.listEmpty, at: 0))
      report.report(&source, source.text.count, isWarning: false)
    }
    if source.failure == nil { report.sum(source.path, tally, "recipient") }
  }

  /// Reads the lines of a recipients file, and reports the wrong ones.
  static func read(
    _ source: inout SourceText, _ pushProtocol: PushProtocol, _ report: inout CheckReport
  ) -> CheckReport.Tally {
    var tally = CheckReport.Tally()
    var start = 0
    var isSkipping = false
    while true {
      let text = source.text
      var end = start
      while end < text.count, text[end] != .lineFeed { end += 1 }
      if end == text.count, !source.isWhole {
        // Refuse a line that is too long before its end is read, and skip the rest.
        if end - start > RecipientsFile.lineBytesMax {
          if !isSkipping { refuse(.tooLong, at: start, &source, &tally, &report) }
          isSkipping = true
          start = end
        }
        start = source.readOn(from: start, &report)
        continue
      }
      if isSkipping {
        isSkipping = false
      } else if end - start > RecipientsFile.lineBytesMax {
        refuse(.tooLong, at: start, &source, &tally, &report)
      } else {
        switch RecipientsFile.read(text.extracting(start..<end), for: pushProtocol) {
        case .nothing: break
        case .recipient: tally.count += 1
        case .wrong(let problem, let at):
          refuse(problem, at: start + at, &source, &tally, &report)
        }
      }
      guard end < text.count else { break }
      start = end + 1
    }
    return tally
  }

  @inline(never)
  private static func refuse(
    _ problem: RecipientsFile.Problem, at place: Int, _ source: inout SourceText,
    _ tally: inout CheckReport.Tally, _ report: inout CheckReport
  ) {
    tally.count += 1
    tally.refused += 1
    report.code.append(problem.code)
    report.message.append(problem.text)
    report.report(&source, place, isWarning: false)
  }
}
