import CLinux

extension Checkup {
  /// What else the agent reads and writes: its state, its page, and the recipients files.
  mutating func checkDirectories() {
    report.begin("state")
    sayState()
    sayPage()
    report.begin("recipients")
    sayRecipients()
  }

  // MARK: - The suppression list

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
    sayFileSystem(directory.number, "room")
    sayList(path)
  }

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

  private mutating func sayList(_ path: UnsafePointer<CChar>) {
    var ignored = Text(capacity: 256)
    var suppressed = 0
    var listing = SuppressionDirectory.Listing.failed(0)
    do throws(ExitStatus) {
      listing = try SuppressionDirectory(path, message: &ignored).list { _, reason, _ in
        if reason != .registered { suppressed += 1 }
      }
    } catch {}
    switch listing {
    case .whole:
      report.message.append(suppressed)
      report.message.append(
        suppressed == 1 ? " token is not sent to" : " tokens are not sent to")
      report.say("suppressed")
    case .damaged:
      report.advice.append(
        "the agent makes the list anew when it comes upon the damage; or tinypush token forget does"
      )
      report.say("suppressed", .wrong(.inputOutput), "the list is damaged")
    case .failed(let error):
      report.message.append("the list cannot be read: ")
      report.message.append(cString: clinux_error_text(error))
      report.advice.append("give the agent's user the right to read it")
      report.say("suppressed", .wrong(Self.status(of: error)))
    }
  }

  // MARK: - The page

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

  private mutating func sayRecipients() {
    let path = config.pointee.recipients.pointer
    var files = 0
    var error: Int32 = 0
    var closed = Text(capacity: 256)
    user.act {
      guard let directory = Descriptor(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, error: &error)
      else { return }
      let room = FixedBuffer<UInt8>(capacity: 8192)
      DirectoryEntry.forEach(in: directory.number, room.room()) { entry in
        guard entry.mayBeFile, !entry.isHidden else { return }
        files += 1
        guard closed.count == 0,
          faccessat(directory.number, entry.name, R_OK, AT_EACCESS) != 0
        else { return }
        closed.append(printable: entry.name)
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
    guard closed.count == 0 else {
      report.message.append("; ")
      report.message.append(user: user.id)
      report.message.append(" may not read ")
      report.message.append(closed)
      report.advice.append("let the agent's user read it")
      return report.say("directory", .warning)
    }
    report.say("directory")
  }
}
