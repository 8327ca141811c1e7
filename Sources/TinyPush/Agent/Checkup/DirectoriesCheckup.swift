import CLinux

extension Checkup {
  /// What else the agent reads and writes: its state, its page, and the recipients files.
  @inline(never)
  mutating func checkDirectories() {
    report.begin("state")
    sayState()
    sayPage()
    report.begin("recipients")
    sayRecipients()
  }

  // MARK: - The suppression list

  @inline(never)
  private mutating func sayState() {
    let path = config.pointee.state.pointer
    var error: Int32 = 0
    guard let directory = Descriptor(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, error: &error) else {
      guard error == ENOENT, canMake(path) else { return sayStateError(error) }
      report.message.append(printable: path)
      return report.say("directory", .well, " is not there yet: the agent makes it")
    }
    var failure: Int32?
    user.act {
      guard faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) == 0 else {
        failure = clinux_errno()
        return
      }
      failure = Self.make(".check", in: directory.number)
      if failure == nil { unlinkat(directory.number, (".check" as StaticString).cString, 0) }
    }
    if let failure { return sayStateError(failure) }
    report.message.append(printable: path)
    report.say("directory")
    var file = stat()
    if fstat(directory.number, &file) == 0, spoolDevice != file.st_dev {
      sayFileSystem(directory.number)
    }
    sayList(path)
  }

  @inline(never)
  private mutating func sayStateError(_ error: Int32) {
    let path = config.pointee.state.pointer
    report.message.append(printable: path)
    report.message.append(": ")
    report.message.append(user: user.id)
    report.message.append(" cannot write there: ")
    report.message.append(cString: clinux_error_text(error))
    report.advice.append(
      error == ENOSPC || error == EDQUOT
        ? "make room there"
        : error == EROFS
          ? "mount it writable, or set state"
          : "make it a directory that this user may write to, or set state")
    report.say("directory", .wrong(Self.status(of: error)))
  }

  @inline(never)
  private mutating func sayList(_ path: UnsafePointer<CChar>) {
    var message = Text(capacity: 256)
    var error: Int32 = 0
    do throws(ExitStatus) {
      let store = try SuppressionDirectory(path, message: &message)
      if let (recent, list) = store.sources(error: &error) {
        while list?.nextRecord() != nil {}
        while recent?.nextRecord() != nil {}
        if list?.isDamaged == true || recent?.isDamaged == true {
          report.advice.append(
            "the agent makes it anew when it comes upon the damage; or tinypush token forget does")
          return report.say("list", .wrong(.inputOutput), "it is damaged")
        }
        return report.say(
          "list", .well, list == nil ? "nothing is suppressed yet" : "it can be read to its end")
      }
    } catch {}
    report.message.append("it cannot be read: ")
    report.message.append(cString: clinux_error_text(error))
    report.advice.append("give the agent's user the right to read it")
    report.say("list", .wrong(Self.status(of: error)))
  }

  // MARK: - The page

  @inline(never)
  private mutating func sayPage() {
    let path = config.pointee.status.pointer
    guard !config.pointee.status.isEmpty else {
      report.advice.append("set status = /run/tinypush/status")
      return report.say("page", .warning, "none is set: tinypush status has nothing to read")
    }
    report.message.append(printable: path)
    var isWritable = false
    var error: Int32 = 0
    user.act {
      isWritable = faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0
      if !isWritable { error = clinux_errno() }
    }
    guard !isWritable, error != ENOENT || !canMake(path) else { return report.say("page") }
    report.message.append(": ")
    report.message.append(user: user.id)
    report.message.append(" cannot write it: ")
    report.message.append(cString: clinux_error_text(error))
    report.advice.append(
      "tinypush status will have nothing to read; in /run it is the service that makes the directory"
    )
    report.say("page", .warning)
  }

  /// Whether something can be made in the directory that the path names.
  @inline(never)
  private func canMake(_ path: UnsafePointer<CChar>) -> Bool {
    let bytes = CString.span(path)
    var end = bytes.count
    while end > 0, bytes[end - 1] == 0x2F { end -= 1 }
    while end > 0, bytes[end - 1] != 0x2F { end -= 1 }
    let parent = end == 0 ? CString(".") : CString(bytes.extracting(0..<end))
    var can = false
    user.act { can = faccessat(AT_FDCWD, parent.pointer, W_OK | X_OK, AT_EACCESS) == 0 }
    return can
  }

  // MARK: - Recipients files

  @inline(never)
  private mutating func sayRecipients() {
    let path = config.pointee.recipients.pointer
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
    report.message.append(printable: path)
    if error != 0 {
      report.message.append(": ")
      report.message.append(cString: clinux_error_text(error))
      report.advice.append("a notification that names a recipients file is refused")
      return report.say("directory", .warning)
    }
    report.message.append(", ")
    report.message.append(files)
    report.message.append(files == 1 ? " file" : " files")
    guard closed == 0 else {
      report.message.append(", of which ")
      report.message.append(user: user.id)
      report.message.append(" may not read ")
      report.message.append(closed)
      report.advice.append("let the agent's user read them: chmod go+r")
      return report.say("directory", .warning)
    }
    report.say("directory")
  }
}
