import CLinux
import TinyPush

extension Checkup {
  /// The spool: its directories, who may do what there, and what room there is.
  @inline(never)
  mutating func checkSpool(_ config: borrowing Config) {
    report.begin("spool")
    let path = config.spool.pointer
    var error: Int32 = 0
    var information = stat()
    let root = Descriptor(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, error: &error)
    guard let root, fstat(root.number, &information) == 0 else {
      report.message.append(printable: path)
      report.message.append(": ")
      report.message.append(cString: clinux_error_text(error))
      if error == ENOENT {
        adviseSpool(path)
      } else if error == EACCES, geteuid() != 0 {
        report.advice.append(Self.asRoot)
      } else {
        report.advice.append("make it a directory that the agent's user may write to, or set spool")
      }
      return report.say("directory", .wrong(Self.status(of: error)))
    }
    spoolDevice = information.st_dev
    sayDirectory(path, information)
    guard sayParts(root.number, path, information) else { return }
    sayFileSystem(root.number)
    sayRights(root.number, path)
    sayAgent(root.number)
  }

  /// The commands that make a spool.
  @inline(never)
  private mutating func adviseSpool(_ path: UnsafePointer<CChar>) {
    let parts: InlineArray<4, StaticString> = ["", "/failed", "/tmp", "/new"]
    for index in parts.indices {
      switch index {
      case 0: report.advice.append("install -d -m 2750 -o tinypush -g tinypush")
      case 2: report.advice.append(" && install -d -m 3770 -o tinypush -g tinypush")
      default: break
      }
      report.advice.append(" ")
      report.advice.append(printable: path)
      report.advice.append(parts[index])
    }
  }

  @inline(never)
  private mutating func sayDirectory(_ path: UnsafePointer<CChar>, _ file: borrowing stat) {
    report.message.append(printable: path)
    report.message.append(", ")
    appendRights(file)
    guard UInt32(file.st_mode) & 0o022 != 0 else { return report.say("directory") }
    report.message.append(
      ": others may put another directory in the place of new/, tmp/ or failed/")
    report.advice.append("chmod go-w ")
    report.advice.append(printable: path)
    report.say("directory", .warning)
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

  /// Whether all of them are there.
  @inline(never)
  private mutating func sayParts(
    _ root: Int32, _ path: UnsafePointer<CChar>, _ rootFile: borrowing stat
  ) -> Bool {
    let names: InlineArray<4, StaticString> = ["tmp", "new", "failed", "later"]
    var device: dev_t?
    var isComplete = true
    for index in names.indices {
      var file = stat()
      let name = names[index]
      let result = fstatat(root, name.cString, &file, AT_SYMLINK_NOFOLLOW)
      // The agent makes later/ when something has to wait.
      if index == 3, result != 0 { continue }
      guard result == 0, clinux_is_directory(&file) != 0 else {
        isComplete = false
        let error = result == 0 ? ENOTDIR : clinux_errno()
        sayMissing(name, path, error, rootFile, isDropBox: index < 2)
        continue
      }
      if index == 0 { device = file.st_dev }
      if index == 1, let device, device != file.st_dev {
        report.message.append(
          "it is another file system than tmp/ is: nothing can be renamed into it")
        report.advice.append("mount one file system for all of the spool")
        report.say(name, .wrong(.config))
        continue
      }
      if file.st_uid != rootFile.st_uid, file.st_uid != 0, file.st_uid != user.id {
        isComplete = false
        appendRights(file)
        report.advice.append("give it to the spool's owner: chown --reference=")
        report.advice.append(printable: path)
        report.advice.append(" ")
        report.advice.append(printable: path)
        report.advice.append("/")
        report.advice.append(name)
        report.say(name, .wrong(.noPermission), ": it belongs to another user than the spool does")
        continue
      }
      sayMode(name, path, file, isDropBox: index < 2)
    }
    return isComplete
  }

  @inline(never)
  private mutating func sayMissing(
    _ name: StaticString, _ path: UnsafePointer<CChar>, _ error: Int32,
    _ rootFile: borrowing stat, isDropBox: Bool
  ) {
    report.message.append(cString: clinux_error_text(error))
    report.advice.append(error == ENOTDIR ? "put a directory in its place: install" : "install")
    report.advice.append(" -d -m ")
    report.advice.append(isDropBox ? "3770" : "2750")
    report.advice.append(" -o ")
    report.advice.append(user: rootFile.st_uid)
    report.advice.append(" -g ")
    report.advice.append(group: rootFile.st_gid)
    report.advice.append(" ")
    report.advice.append(printable: path)
    report.advice.append("/")
    report.advice.append(name)
    report.say(name, .wrong(Self.status(of: error)))
  }

  @inline(never)
  private mutating func sayMode(
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
        ": what members of the group put there, the agent may not be able to read")
      change = "g+s"
    } else if isDropBox, mode & 0o1000 != 0, file.st_uid != user.id {
      report.message.append(": the agent cannot remove what others put there")
      change = "-t"
    } else if isDropBox, mode & 0o1020 == 0o020 {
      report.message.append(": members of the group may remove each other's files")
      change = "+t"
    } else if !isDropBox, mode & 0o020 != 0 {
      report.message.append(": members of the group may change what the agent keeps there")
      change = "g-w"
    }
    guard let change else { return report.say(name) }
    report.advice.append("chmod ")
    report.advice.append(change)
    report.advice.append(" ")
    report.advice.append(printable: path)
    report.advice.append("/")
    report.advice.append(name)
    report.say(name, .warning)
  }

  // MARK: - The file system

  @inline(never)
  mutating func sayFileSystem(_ directory: Int32) {
    let item: StaticString = "room"
    guard let disk = FileSystem(directory) else { return }
    report.message.append(cString: disk.name ?? ("an unknown file system" as StaticString).cString)
    if disk.isReadOnly {
      report.advice.append("mount it writable (mount -o remount,rw), or keep this elsewhere")
      return report.say(item, .wrong(.inputOutput), ", mounted read-only")
    }
    report.message.append(", ")
    disk.describe(in: &report.message)
    if disk.isFull {
      report.advice.append("make room: until then nothing new can be put there")
      return report.say(item, .wrong(.inputOutput), ": it is full")
    }
    if disk.isLow {
      report.advice.append("make room")
      return report.say(item, .warning, ": that is little")
    }
    guard let remark = disk.remark else { return report.say(item) }
    report.say(item, .warning, remark)
  }

  // MARK: - Rights

  /// Does what writers and the agent do: makes a file in `tmp/`, renames it into `new/`, removes it there, and likewise in
  /// `failed/`. Its name begins with a dot, so that nobody takes it up.
  @inline(never)
  private mutating func sayRights(_ root: Int32, _ path: UnsafePointer<CChar>) {
    var failure: (error: Int32, what: StaticString)?
    let isActing = user.act { failure = Self.probe(root, path) }
    report.message.append(user: user.id)
    if user.isAnother { report.message.append(isActing ? ", whose it is," : ", as root,") }
    guard let failure else {
      report.message.append(" may write, rename and remove files")
      if user.isStranger {
        report.message.append("; it belongs to another, who is the agent most likely")
        report.advice.append("run this as root, or as that user, to see what he may do")
        return report.say("rights", .warning)
      }
      return report.say("rights")
    }
    report.message.append(" cannot ")
    report.message.append(failure.what)
    report.message.append(": ")
    report.message.append(cString: clinux_error_text(failure.error))
    switch failure.error {
    case EACCES, EPERM:
      report.advice.append(
        user.isStranger
          ? "run this as root, or as whom it belongs to; who is to send must be a member of its group"
          : "give that user the right to write to the spool and all its directories")
    case ENOSPC, EDQUOT: report.advice.append("make room there")
    case EROFS: report.advice.append("mount it writable")
    default: report.advice.append("what does the system say of the disk? See dmesg")
    }
    report.say("rights", .wrong(Self.status(of: failure.error)))
  }

  /// What could not be done, and why.
  private static func probe(
    _ root: Int32, _ path: UnsafePointer<CChar>
  ) -> (Int32, StaticString)? {
    let file = probeName()
    let name = file.pointer
    // Root may have opened it by way of a directory that is closed to others.
    guard faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) == 0 else {
      return (clinux_errno(), "open it")
    }
    var error: Int32 = 0
    guard let tmp = Descriptor(root, part: "tmp", error: &error) else {
      return (error, "read tmp/")
    }
    guard let new = Descriptor(root, part: "new", error: &error) else {
      return (error, "read new/")
    }
    guard let failed = Descriptor(root, part: "failed", error: &error) else {
      return (error, "read failed/")
    }
    if let error = make(name, in: tmp.number) { return (error, "make a file in tmp/") }
    guard renameat(tmp.number, name, new.number, name) == 0 else {
      let error = clinux_errno()
      unlinkat(tmp.number, name, 0)
      return (error, "rename a file from tmp/ into new/")
    }
    guard unlinkat(new.number, name, 0) == 0 else {
      return (clinux_errno(), "remove a file from new/")
    }
    if let error = make(name, in: failed.number) { return (error, "make a file in failed/") }
    guard unlinkat(failed.number, name, 0) == 0 else {
      return (clinux_errno(), "remove a file from failed/")
    }
    extendLifetime(file)
    // Not made here: it must be the agent's.
    if faccessat(root, SpoolLock.name.cString, W_OK, AT_EACCESS) != 0,
      clinux_errno() != ENOENT
    {
      return (clinux_errno(), "write to .agent")
    }
    return nil
  }

  /// The name of a file that this process makes to try whether it can, and nobody else does.
  static func probeName() -> CString {
    var name = Text(capacity: 24)
    name.append(".check-")
    name.append(getpid())
    return name.cString()
  }

  /// Makes a file, and puts a block into it; why it could not.
  @inline(never)
  static func make(_ name: UnsafePointer<CChar>, in directory: Int32) -> Int32? {
    // One that was left by a check that was cut short, whose process had the same id.
    unlinkat(directory, name, 0)
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
    var error: Int32 = 0
    guard let file = Descriptor(directory, name, flags, 0o600, error: &error) else {
      return error
    }
    error = posix_fallocate(file.number, 0, 4096)
    if error == EOPNOTSUPP || error == EINVAL { error = 0 }
    if error != 0 { unlinkat(directory, name, 0) }
    return error == 0 ? nil : error
  }

  // MARK: - The agent

  @inline(never)
  private mutating func sayAgent(_ root: Int32) {
    switch SpoolLock.isServed(root) {
    case true?:
      isServed = true
      report.message.append("one is at work here")
    case false?:
      report.advice.append("systemctl start tinypush, or tinypush run")
      return report.say("agent", .warning, "none is at work here: nothing is delivered")
    case nil:
      report.advice.append("run this as root to know")
      return report.say("agent", .skipped, "whether one is at work this user may not know")
    }
    report.say("agent")
  }
}
