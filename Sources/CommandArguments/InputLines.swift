import CLinux
import TinyPush
import TinyPushAgent

/// The lines of standard input, of a file, or of a command's output.
public struct InputLines: ~Copyable {
  private var file: UnsafeMutablePointer<FILE>?
  private let isCommand: Bool
  private var line: UnsafeMutablePointer<CChar>?
  private var room = 0
  /// Why not all lines can be read: an errno; 0: they can.
  public private(set) var error: Int32 = 0

  private static let mode: StaticString = "re"

  /// Opens a file; nil or `-` is standard input.
  public init?(_ path: UnsafePointer<CChar>? = nil) {
    if let path, !CString.span(path).equals("-") {
      file = fopen(path, Self.mode.cString)
    } else {
      file = fdopen(dup(STDIN_FILENO), Self.mode.cString)
    }
    isCommand = false
    guard file != nil else { return nil }
  }

  /// Runs a command of the shell.
  public init?(outputOf command: StaticString) {
    isCommand = true
    file = popen(command.cString, Self.mode.cString)
    guard file != nil else { return nil }
  }

  deinit {
    free(line)
    if let file { _ = isCommand ? pclose(file) : fclose(file) }
  }

  /// Returns the next line without the byte that ends lines, valid until the next call.
  @inline(never)
  @_lifetime(immortal)
  public mutating func next(end: UInt8 = 0x0A) -> Span<UInt8>? {
    guard let file else { return nil }
    let count = getdelim(&line, &room, Int32(end), file)
    guard count > 0, let line else {
      if ferror(file) != 0 { error = clinux_errno() }
      return nil
    }
    let isEnded = line[Int(count) - 1] == CChar(bitPattern: end)
    let bytes = UnsafeRawPointer(line).assumingMemoryBound(to: UInt8.self)
    return _overrideLifetime(
      Span(_unsafeStart: bytes, count: Int(count) - (isEnded ? 1 : 0)), copying: ())
  }

  /// Closes the input, and waits for the end of the command; returns whether that succeeded.
  public mutating func close() -> Bool {
    guard let file = file.take() else { return false }
    return (isCommand ? pclose(file) : fclose(file)) == 0
  }
}
