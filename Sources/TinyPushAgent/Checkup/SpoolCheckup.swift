import CLinux
import TinyPush

extension Checkup {
  /// Checks the spool: its directories, their rights and the free space.
  @inline(never)
  mutating func checkSpool(_ config: borrowing Config) {
    report.begin("spool")
    let path = config.spool.pointer
    var error: Int32 = 0
    var information = stat()
    let root = Descriptor(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, error: &error)
    guard let root, fstat(root.number, &information) == 0 else {
      append(path, error)
      if error == ENOENT {
        adviseSpool(path)
      } else if error == EACCES, geteuid() != 0 {
        report.advice.append(Self.asRoot)
      } else {
        report.advice.append("make it a directory that the agent's user may write to, or set spool")
      }
      return report.report("directory", .wrong(Self.status(of: error)))
    }
    spoolDevice = information.st_dev
    reportDirectory(path, information)
    guard reportParts(root.number, path, information) else { return }
    reportFileSystem(root.number)
    reportRights(root.number, path)
    reportAgent(root.number)
  }

  /// Advises the commands that create a spool.
  @inline(never)
  private mutating func adviseSpool(_ path: UnsafePointer<CChar>) {
    advise("install -d -m 2750 -o tinypush -g tinypush ", path)
    advise(" ", path, "failed")
    advise(" && install -d -m 3770 -o tinypush -g tinypush ", path, "tmp")
    advise(" ", path, "new")
  }

  @inline(never)
  private mutating func reportDirectory(_ path: UnsafePointer<CChar>, _ file: borrowing stat) {
    report.message.append(printable: path)
    report.message.append(", ")
    appendRights(file)
    guard UInt32(file.st_mode) & 0o022 != 0 else { return report.report("directory") }
    report.message.append(
      ": other users may replace new/, tmp/ or failed/")
    advise("chmod go-w ", path)
    report.report("directory", .warning)
  }

  @inline(never)
  private mutating func appendRights(_ file: borrowing stat) {
    report.message.append("mode ")
    report.message.append(mode: UInt32(file.st_mode))
    report.message.append(", ")
    report.message.append(user: file.st_uid)
    report.message.append(":")
    report.message.append(group: file.st_gid)
  }

  // MARK: - Its directories

  /// Reports the spool's directories, and returns whether all of them exist.
  @inline(never)
  private mutating func reportParts(
    _ root: Int32, _ path: UnsafePointer<CChar>, _ rootFile: borrowing stat
  ) -> Bool {
    let names: InlineArray<4, StaticString> = ["tmp", "new", "failed", "later"]
    var device: dev_t?
    var isComplete = true
    for index in names.indices {
      var file = stat()
      let name = names[index]
      let result = fstatat(root, name.cString, &file, AT_SYMLINK_NOFOLLOW)
      // The agent creates later/ when the first notification has to wait.
      if index == 3, result != 0 { continue }
      guard result == 0, clinux_is_directory(&file) != 0 else {
        isComplete = false
        let error = result == 0 ? ENOTDIR : clinux_errno()
        reportMissing(name, path, error, rootFile, isDropBox: index < 2)
        continue
      }
      if index == 0 { device = file.st_dev }
      if index == 1, let device, device != file.st_dev {
        report.message.append(
          "on another file system than tmp/, so no file can be renamed into it")
        report.advice.append("put the whole spool on one file system")
        report.report(name, .wrong(.config))
        continue
      }
      if file.st_uid != rootFile.st_uid, file.st_uid != 0, file.st_uid != user.id {
        isComplete = false
        appendRights(file)
        advise("give it to the spool's owner: chown --reference=", path)
        advise(" ", path, name)
        report.report(
          name, .wrong(.noPermission), ": belongs to another user than the spool")
        continue
      }
      reportMode(name, path, file, isDropBox: index < 2)
    }
    return isComplete
  }

  @inline(never)
  private mutating func reportMissing(
    _ name: StaticString, _ path: UnsafePointer<CChar>, _ error: Int32,
    _ rootFile: borrowing stat, isDropBox: Bool
  ) {
    report.message.append(cString: clinux_error_text(error))
    report.advice.append(error == ENOTDIR ? "replace it by a directory: install" : "install")
    report.advice.append(" -d -m ", isDropBox ? "3770" : "2750", " -o ")
    report.advice.append(user: rootFile.st_uid)
    report.advice.append(" -g ")
    report.advice.append(group: rootFile.st_gid)
    advise(" ", path, name)
    report.report(name, .wrong(Self.status(of: error)))
  }

  @inline(never)
  private mutating func reportMode(
    _ name: StaticString, _ path: UnsafePointer<CChar>, _ file: borrowing stat, isDropBox: Bool
  ) {
    let mode = UInt32(file.st_mode)
    appendRights(file)
    var change: StaticString?
    if mode & 0o002 != 0 {
      report.message.append(": anybody on this machine may write there")
      change = "o-w"
    } else if isDropBox, mode & 0o2020 == 0o020, file.st_gid != 0 {
      report.message.append(
        ": the agent may be unable to read files from members of the group")
      change = "g+s"
    } else if isDropBox, mode & 0o1000 != 0, file.st_uid != user.id {
      report.message.append(": the agent cannot remove files from other users")
      change = "-t"
    } else if isDropBox, mode & 0o1020 == 0o020 {
      report.message.append(": members of the group may remove each other's files")
      change = "+t"
    } else if !isDropBox, mode & 0o020 != 0 {
      report.message.append(": members of the group may change the agent's files")
      change = "g-w"
    }
    guard let change else { return report.report(name) }
    report.advice.append("chmod ", change)
    advise(" ", path, name)
    report.report(name, .warning)
  }

  // MARK: - The file system

  @inline(never)
  mutating func reportFileSystem(_ directory: Int32) {
    let item: StaticString = "room"
    guard let disk = FileSystem(directory) else { return }
    if disk.isReadOnly {
      report.advice.append("mount it writable (mount -o remount,rw), or use another directory")
      return report.report(item, .wrong(.inputOutput), "mounted read-only")
    }
    disk.describe(in: &report.message)
    if disk.isFull {
      report.advice.append("free some space: until then no file can be written there")
      return report.report(item, .wrong(.inputOutput), ": it is full")
    }
    if disk.isLow {
      report.advice.append("free some space")
      return report.report(item, .warning, ": nearly full")
    }
    guard disk.isVolatile else { return report.report(item) }
    report.report(item, .warning, ", in memory: its files do not survive a power cut or a restart")
  }

  // MARK: - Rights

  /// Reports whether senders and the agent may create and remove files.
  @inline(never)
  private mutating func reportRights(_ root: Int32, _ path: UnsafePointer<CChar>) {
    guard !user.isStranger else { return reportSender(root) }
    let names: InlineArray<5, StaticString> = [".", "tmp", "new", "failed", SpoolLock.name]
    var error: Int32 = 0
    var failed = 0
    let isActing = user.act {
      // Root may have opened the directory through a parent that is closed to others.
      if faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) != 0 { error = clinux_errno() }
      for index in 1..<5 where error == 0 {
        let mode = index == 4 ? W_OK : R_OK | W_OK | X_OK
        guard faccessat(root, names[index].cString, mode, AT_EACCESS) != 0 else { continue }
        // The lock file is missing until the first agent runs.
        if index < 4 || clinux_errno() != ENOENT { (error, failed) = (clinux_errno(), index) }
      }
    }
    report.message.append(user: user.id)
    if user.isAnother {
      report.message.append(isActing ? " (the spool's owner)" : " (tested as root)")
    }
    guard error != 0 else {
      return report.report("rights", .well, " may write, rename and remove files")
    }
    report.message.append(failed == 0 ? " cannot open " : " cannot write to ")
    report.message.append(failed == 0 ? "the spool" : names[failed])
    report.message.append(": ", cString: clinux_error_text(error))
    report.advice.append(
      error == EROFS
        ? "mount it writable"
        : "give that user the right to write to the spool and all its directories")
    report.report("rights", .wrong(Self.status(of: error)))
  }

  /// Reports whether this user, who is not the agent's, may send.
  @inline(never)
  private mutating func reportSender(_ root: Int32) {
    let names: InlineArray<2, StaticString> = ["tmp", "new"]
    report.message.append(user: geteuid())
    for index in names.indices
    where faccessat(root, names[index].cString, W_OK | X_OK, AT_EACCESS) != 0 {
      let error = clinux_errno()
      report.message.append(" cannot send: ", cString: clinux_error_text(error))
      report.advice.append("add the user to the spool's group, and log in again")
      return report.report("rights", .wrong(Self.status(of: error)))
    }
    report.message.append(" may send; ")
    report.message.append(rootAnd: user.id)
    report.report("rights", .well, " can test what the agent may do")
  }

  // MARK: - The agent

  @inline(never)
  private mutating func reportAgent(_ root: Int32) {
    switch SpoolLock.isServed(root) {
    case true?:
      isServed = true
      report.message.append("an agent is running")
    case false?:
      report.advice.append("systemctl start tinypush, or tinypush run")
      return report.report("agent", .warning, "no agent is running: nothing is delivered")
    case nil:
      report.advice.append("run the check as root")
      return report.report("agent", .skipped, "this user cannot see whether an agent is running")
    }
    report.report("agent")
  }
}
