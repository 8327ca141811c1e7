import CLinux
import TinyPush

extension Checkup {
  /// Checks the state directory, the status page and the recipients files.
  @inline(never)
  mutating func checkDirectories(_ config: borrowing Config) {
    report.begin("state")
    reportState(config)
    reportPage(config)
    report.begin("recipients")
    reportRecipients(config)
  }

  // MARK: - The suppression list

  @inline(never)
  private mutating func reportState(_ config: borrowing Config) {
    let path = config.state.pointer
    if leavesToAgent("directory", path) { return }
    var error: Int32 = 0
    guard let directory = Descriptor(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, error: &error) else {
      guard error == ENOENT, canMake(path) else { return reportStateError(config, error) }
      report.message.append(printable: path)
      return report.report("directory", .well, " does not exist yet: the agent creates it")
    }
    user.act {
      if faccessat(AT_FDCWD, path, R_OK | W_OK | X_OK, AT_EACCESS) != 0 { error = clinux_errno() }
    }
    guard error == 0 else { return reportStateError(config, error) }
    report.message.append(printable: path)
    report.report("directory")
    var file = stat()
    if fstat(directory.number, &file) == 0, spoolDevice != file.st_dev {
      reportFileSystem(directory.number)
    }
    reportList(path)
  }

  @inline(never)
  private mutating func reportStateError(_ config: borrowing Config, _ error: Int32) {
    let path = config.state.pointer
    report.message.append(printable: path)
    report.message.append(": ")
    report.message.append(user: user.id)
    report.message.append(" cannot write there: ", cString: clinux_error_text(error))
    report.advice.append(
      error == EROFS
        ? "mount it writable, or set state"
        : "make it a directory that this user may write to, or set state")
    report.report("directory", .wrong(Self.status(of: error)))
  }

  @inline(never)
  private mutating func reportList(_ path: UnsafePointer<CChar>) {
    var message = Text(capacity: 256)
    var error: Int32 = 0
    do throws(ExitStatus) {
      let store = try SuppressionDirectory(path, message: &message)
      error = errorOfReading(store.directory.number)
      guard error == 0 else { return reportClosedList(error) }
      let lists = SuppressionLists(store.directory.number, error: &error)
      if lists.isDamaged {
        report.advice.append(
          "start the agent: it takes over the list of version 0.2.0, or sets the damaged file aside and keeps the other lines"
        )
        return report.report(
          "list", .wrong(.inputOutput), "some of its lines are damaged, or version 0.2.0 wrote it")
      }
      let names: InlineArray<2, StaticString> = [
        SuppressionDirectory.damagedListName, SuppressionDirectory.damagedRecentName,
      ]
      for index in names.indices
      where faccessat(store.directory.number, names[index].cString, F_OK, 0) == 0 {
        report.message.append(names[index])
        report.advice.append(
          "the tokens of its damaged lines are sent to until the service refuses them: suppress them again (tinypush token suppress), then remove this file"
        )
        return report.report("list", .warning, " is a damaged list that was set aside")
      }
      extendLifetime(store)
      if error == 0 {
        return report.report(
          "list", .well, lists.isEmpty ? "no token is suppressed yet" : "not damaged")
      }
    } catch {}
    report.message.append("it cannot be read: ", cString: clinux_error_text(error))
    report.advice.append("give the agent's user the right to read it")
    report.report("list", .wrong(Self.status(of: error)))
  }

  /// Returns the error with which the agent reads the list's files; 0 if it can.
  @inline(never)
  private func errorOfReading(_ directory: Int32) -> Int32 {
    let names: InlineArray<2, StaticString> = [
      SuppressionDirectory.listName, SuppressionDirectory.recentName,
    ]
    var error: Int32 = 0
    user.act {
      for index in names.indices {
        let result = faccessat(directory, names[index].cString, R_OK, AT_EACCESS)
        if result != 0, clinux_errno() != ENOENT { error = clinux_errno() }
      }
    }
    return error
  }

  /// Reports that the agent cannot read the list, and works without it.
  @inline(never)
  private mutating func reportClosedList(_ error: Int32) {
    report.message.append(user: user.id)
    report.message.append(" cannot read it: ", cString: clinux_error_text(error))
    report.advice.append("give it to the agent's user (chown ")
    report.advice.append(user: user.id)
    report.advice.append(
      "): until then no token is suppressed, and the agent's changes to the list are lost when it stops"
    )
    report.report("list", .warning)
  }

  // MARK: - The page

  @inline(never)
  private mutating func reportPage(_ config: borrowing Config) {
    let path = config.status.pointer
    guard !config.status.isEmpty else {
      report.advice.append("set status = /run/tinypush/status")
      return report.report("page", .warning, "no page is set: tinypush status has nothing to read")
    }
    var isKept = false
    let problem = pageProblem(path, &isKept)
    if !isKept, leavesToAgent("page", path) { return }
    report.message.append(printable: path)
    if let problem {
      report.message.append(problem)
      report.advice.append(
        "remove it and restart the agent, which creates the page; or set status to another file")
      return report.report("page", .warning)
    }
    if isKept { return report.report("page") }
    var error: Int32 = 0
    user.act { if faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 { error = clinux_errno() } }
    guard error == 0 || error == ENOENT && canMake(path) else {
      report.message.append(": ")
      report.message.append(user: user.id)
      report.message.append(" cannot write it: ", cString: clinux_error_text(error))
      report.advice.append(
        "set status to a file in a directory where the agent's user may write: the service makes /run/tinypush"
      )
      return report.report("page", .warning)
    }
    guard isServed else { return report.report("page") }
    report.advice.append("restart the agent: systemctl restart tinypush")
    report.report("page", .warning, ": an agent is running, but does not write this page")
  }

  /// Returns why the agent does not use the file as its page; nil if it does or can create it.
  @inline(never)
  private func pageProblem(
    _ path: UnsafePointer<CChar>, _ isKept: inout Bool
  ) -> StaticString? {
    var error: Int32 = 0
    var information = stat()
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
    guard let file = Descriptor(AT_FDCWD, path, flags, error: &error) else {
      return error == ELOOP || error == ENXIO ? ": not a regular file" : nil
    }
    guard fstat(file.number, &information) == 0, clinux_is_regular(&information) != 0 else {
      return ": not a regular file"
    }
    var layout: UInt32 = 0
    // The last byte of the layout number is the version.
    guard
      information.st_size == 0
        || pread(file.number, &layout, 4, 0) == 4 && layout >> 8 == StatusPage.layout >> 8
    else { return ": not a status page, so the agent does not overwrite it" }
    isKept = clinux_is_locked(file.number) == 1
    return nil
  }

  /// Whether the tested user can create a file in the parent directory of the path.
  @inline(never)
  private func canMake(_ path: UnsafePointer<CChar>) -> Bool {
    let bytes = CString.span(path)
    var end = bytes.count
    while end > 0, bytes[end - 1] == .slash { end -= 1 }
    while end > 0, bytes[end - 1] != .slash { end -= 1 }
    let parent = end == 0 ? CString(".") : CString(bytes.extracting(0..<end))
    var can = false
    user.act { can = faccessat(AT_FDCWD, parent.pointer, W_OK | X_OK, AT_EACCESS) == 0 }
    return can
  }

  // MARK: - Recipients files

  @inline(never)
  private mutating func reportRecipients(_ config: borrowing Config) {
    let path = config.recipients.pointer
    var files = 0
    var error: Int32 = 0
    var closed = 0
    user.act {
      guard let directory = Descriptor(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, error: &error)
      else { return }
      let room = FixedBuffer<UInt8>(capacity: 8192)
      DirectoryEntry.forEach(in: directory.number, room.room()) { entry in
        guard entry.mayBeFile, !entry.isHidden else { return }
        files += 1
        if faccessat(directory.number, entry.name, R_OK, AT_EACCESS) != 0 { closed += 1 }
      }
    }
    if error != 0 {
      if leavesToAgent("directory", path) { return }
      append(path, error)
      report.advice.append(
        "create the directory, or set recipients to another one: notifications that name a recipients file are refused"
      )
      return report.report("directory", .warning)
    }
    report.message.append(printable: path)
    report.message.append(", ", files)
    report.message.append(files == 1 ? " file" : " files")
    if closed > 0, user.isStranger {
      report.message.append("; this user may not read ", closed)
      return report.report("directory")
    }
    guard closed == 0 else {
      report.message.append(", of which ")
      report.message.append(user: user.id)
      report.message.append(" may not read ", closed)
      report.advice.append("let the agent's user read them: chgrp tinypush and chmod g+r")
      return report.report("directory", .warning)
    }
    report.report("directory")
    reportLines(config)
  }

  /// Warns of recipients files with wrong lines, and of those with which an alert reaches nobody.
  private mutating func reportLines(_ config: borrowing Config) {
    let files = RecipientsFiles(config.recipients.span, config.courier.rules.pushProtocol)
    var suppressed = SuppressedRecipients(config)
    let hasDevices = config.courier.hasDevices
    _ = files.forEachName { name in
      reportLines(of: name, files, &suppressed)
      if !hasDevices { reportDevice(in: name, files) }
    }
  }

  /// Warns of a device while there is no service for devices.
  private mutating func reportDevice(in name: Span<UInt8>, _ files: borrowing RecipientsFiles) {
    var device: UInt64?
    _ = files.forEachLine(in: name) { number, line, _ in
      if case .recipient(let recipient) = line, recipient.subscription.isEmpty { device = number }
      return device == nil
    }
    guard let device else { return }
    report.message.append(printable: name)
    report.message.append(", line ", device)
    report.advice.append(Rejection(.noDeviceService).advice)
    report.report("line", .warning, ": nothing is sent to this device")
  }

  private mutating func reportLines(
    of name: Span<UInt8>, _ files: borrowing RecipientsFiles,
    _ suppressed: inout SuppressedRecipients
  ) {
    var wrong: (line: UInt64, problem: RecipientsFile.Problem)?
    _ = files.forEachLine(in: name) { number, line, _ in
      if case .wrong(let problem, _) = line { wrong = (number, problem) }
      return wrong == nil
    }
    if let wrong {
      report.message.append(printable: name)
      report.message.append(", line ", wrong.line, ": ")
      report.message.append(wrong.problem.text)
      report.advice.append("correct the line: nothing is sent to its recipient")
      report.report("line", .warning)
    }
    let (recipients, reached) = suppressed.count(in: name)
    // A file with only wrong lines has its warning.
    guard reached == 0, recipients > 0 || wrong == nil else { return }
    report.message.append(printable: name)
    report.message.append(
      recipients == 0
        ? " has no recipient" : ": nothing is sent to its recipients, which are suppressed")
    report.advice.append(
      recipients == 0
        ? "add one with tinypush recipient add, or remove the file"
        : "tinypush recipient list shows them; tinypush token register registers a device token again, and tinypush recipient invite a browser"
    )
    report.report("reach", .warning)
  }
}
