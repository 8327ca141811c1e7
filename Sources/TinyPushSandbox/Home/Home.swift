import CLinux
import TinyPush

/// The sandbox's directory: its lock, and the absolute paths of the files in it.
final class Home {
  let directory: UnsafeMutablePointer<CChar>
  let descriptor: Int32

  /// Creates the directory and the directories in it if they are missing, and locks it.
  init(_ wanted: UnsafePointer<CChar>) throws(SandboxFailure) {
    try Self.makeParents(of: wanted)
    try Self.make(wanted, mode: 0o755)
    guard let directory = realpath(wanted, nil) else { throw Self.refuse(wanted, clinux_errno()) }
    let descriptor = clinux_open(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY, 0)
    guard descriptor >= 0 else {
      let failure = Self.refuse(directory, -descriptor)
      free(directory)
      throw failure
    }
    self.directory = directory
    self.descriptor = descriptor
    try lock()
    try make("/spool", mode: 0o2750)
    try make("/spool/tmp", mode: 0o3770)
    try make("/spool/new", mode: 0o3770)
    try make("/spool/failed", mode: 0o2750)
    try make("/state", mode: 0o750)
    try make("/recipients", mode: 0o755)
  }

  deinit {
    close(descriptor)
    free(directory)
  }

  /// Calls `body` with the path of `name`, which begins with a slash, in the directory.
  func withPath<Result>(
    _ name: StaticString, _ body: (UnsafePointer<CChar>) -> Result
  ) -> Result {
    let length = strlen(directory)
    let path = FixedBuffer<CChar>(capacity: length + name.utf8CodeUnitCount + 1)
    let room = path.room(from: 0).baseAddress!
    memcpy(room, directory, length)
    memcpy(room + length, name.utf8Start, name.utf8CodeUnitCount)
    room[length + name.utf8CodeUnitCount] = 0
    return body(UnsafePointer(room))
  }

  /// Appends the path of `name` to a text.
  func write(_ name: StaticString, in text: inout Text) {
    text.append(cString: directory)
    text.append(name)
  }

  /// Locks the directory: two sandboxes would overwrite each other's ports in the configuration.
  private func lock() throws(SandboxFailure) {
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
    var text = Text()
    text.append("another sandbox uses ", cString: directory)
    text.append(": stop it, or give another directory with --dir")
    SandboxFailure.print(text)
    throw .tryLater
  }

  /// Creates a directory in the sandbox's directory if it is missing.
  func make(_ name: StaticString, mode: mode_t) throws(SandboxFailure) {
    let error = withPath(name) { path in Self.makeOne(path, mode: mode) }
    guard error != 0 else { return }
    var text = Text(capacity: 8192)
    write(name, in: &text)
    throw Self.refuse(text, error)
  }

  // MARK: - Creating directories

  private static func makeParents(of path: UnsafePointer<CChar>) throws(SandboxFailure) {
    let length = strlen(path)
    let part = FixedBuffer<CChar>(capacity: length + 1)
    for index in 0..<length {
      if index > 0 && path[index] == CChar(UInt8.slash) {
        part[index] = 0
        try make(UnsafePointer(part.room(from: 0).baseAddress!), mode: 0o755)
      }
      part[index] = path[index]
    }
  }

  private static func make(_ path: UnsafePointer<CChar>, mode: mode_t) throws(SandboxFailure) {
    let error = makeOne(path, mode: mode)
    if error != 0 { throw refuse(path, error) }
  }

  /// Creates a directory if it is missing, and returns 0 or an errno.
  ///
  /// The mode is set by chmod, since the umask changes the mode of mkdir.
  static func makeOne(_ path: UnsafePointer<CChar>, mode: mode_t) -> Int32 {
    if mkdir(path, mode) == 0 {
      return mode == 0o755 || chmod(path, mode) == 0 ? 0 : clinux_errno()
    }
    let error = clinux_errno()
    guard error == EEXIST else { return error }
    var file = stat()
    guard stat(path, &file) == 0 else { return clinux_errno() }
    return clinux_is_directory(&file) != 0 ? 0 : ENOTDIR
  }

  private static func refuse(_ path: UnsafePointer<CChar>, _ error: Int32) -> SandboxFailure {
    var text = Text(capacity: 8192)
    text.append(cString: path)
    return refuse(text, error)
  }

  private static func refuse(_ path: borrowing Text, _ error: Int32) -> SandboxFailure {
    var text = Text(capacity: 8192)
    text.append("cannot create the directory ", bytes: path.bytes)
    text.append(": ", cString: clinux_error_text(error))
    text.append(": give another directory with --dir")
    SandboxFailure.print(text)
    return .cannotCreate
  }
}
