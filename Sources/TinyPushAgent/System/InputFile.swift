import CLinux
import TinyPush

/// A file that the user names, or `-` for standard input.
public enum InputFile {
  /// Why a file cannot be read.
  public enum Problem: Error {
    case cannotRead(Int32)
    case tooLarge(Int)

    /// Whether there is no such file.
    public var isMissing: Bool {
      if case .cannotRead(ENOENT) = self { return true }
      return false
    }

    /// The exit status for the problem.
    public var status: ExitStatus {
      switch self {
      case .cannotRead(EACCES): .noPermission
      case .cannotRead: .noInput
      case .tooLarge: .dataRefused
      }
    }

    /// Returns the message for the user.
    @inline(never)
    public func text(_ path: UnsafePointer<CChar>) -> Text {
      var text = Text()
      text.append(printable: CString.span(path))
      text.append(": ")
      describe(in: &text)
      return text
    }

    /// Appends the message without the path.
    public func describe(in text: inout Text) {
      switch self {
      case .cannotRead(let error): text.append(cString: clinux_error_text(error))
      case .tooLarge(let limit):
        text.append("the file has more than ", limit, " bytes: is it the right file?")
      }
    }
  }

  /// Opens the file and returns a descriptor.
  @inline(never)
  public static func open(_ path: UnsafePointer<CChar>) throws(Problem) -> Int32 {
    if path[0] == CChar(UInt8.hyphen), path[1] == 0 { return dup(STDIN_FILENO) }
    let descriptor = clinux_open(AT_FDCWD, path, O_RDONLY, 0)
    guard descriptor >= 0 else { throw .cannotRead(-descriptor) }
    return descriptor
  }

  /// Returns the first byte of a regular file that is not white space, within its first 4096 bytes.
  ///
  /// The position for the next read stays the same.
  public static func firstByte(of descriptor: Int32) -> UInt8? {
    var file = stat()
    guard fstat(descriptor, &file) == 0, clinux_is_regular(&file) != 0 else { return nil }
    let buffer = FixedBuffer<UInt8>(capacity: 4096)
    let count = Descriptor.read(descriptor, buffer.room(), at: 0)
    var index = 0
    while index < count {
      if buffer[index] > .space { return buffer[index] }
      index += 1
    }
    return nil
  }

  /// Appends the file's contents, at most `bytesMax` bytes.
  public static func read(
    _ path: UnsafePointer<CChar>, to text: inout Text, bytesMax: Int
  ) throws(Problem) {
    try read(open(path), to: &text, bytesMax: bytesMax)
  }

  /// Appends the contents of an open file, at most `bytesMax` bytes, and closes the file.
  @inline(never)
  static func read(
    _ descriptor: Int32, to text: inout Text, bytesMax: Int
  ) throws(Problem) {
    defer { close(descriptor) }
    let buffer = FixedBuffer<UInt8>(capacity: 4096)
    // The file may have a password.
    defer { clinux_wipe(buffer.room().baseAddress, buffer.capacity) }
    var total = 0
    while true {
      let count = CLinux.read(descriptor, buffer.room().baseAddress, buffer.capacity)
      if count < 0 && clinux_errno() == EINTR { continue }
      guard count >= 0 else { throw .cannotRead(clinux_errno()) }
      if count == 0 { return }
      total += Int(count)
      guard total <= bytesMax else { throw .tooLarge(bytesMax) }
      text.append(buffer, count: Int(count))
    }
  }
}
