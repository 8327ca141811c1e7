import CLinux
import TinyPush

/// A secret setting.
///
/// A secret from the configuration file is read from the file whenever it is needed, and does not
/// stay in memory.
///
/// Public because Embedded Swift sees only public deinitializers of another module.
public struct Secret: ~Copyable {
  static let bytesMax = 1024

  private let key: StaticString
  /// The value, if it is not from a file that can be read again.
  private var value = CString("")
  private var file = CString("")

  package init(_ key: StaticString) {
    self.key = key
  }

  // Inlined, this code would be repeated at each way out of a command.
  @inline(never)
  deinit { value.wipe() }

  package var isEmpty: Bool { value.isEmpty && file.isEmpty }

  /// Sets the value.
  ///
  /// - Parameter file: the file with the value; empty if the value must be kept.
  @inline(never)
  package mutating func set(
    _ value: Span<UInt8>, file: borrowing CString
  ) throws(Config.Problem) {
    guard value.count < Self.bytesMax else { throw .value("a text of at most 1023 bytes") }
    self.value.wipe()
    self.value = file.isEmpty ? CString(value) : CString("")
    self.file = value.isEmpty ? CString("") : CString(file.span)
  }

  /// Calls `body` with the secret or nil, and erases the secret from memory.
  @inline(never)
  package borrowing func with<Result>(_ body: (UnsafePointer<CChar>?) -> Result) -> Result {
    guard !file.isEmpty else { return body(value.isEmpty ? nil : value.pointer) }
    var secret = Text(capacity: Self.bytesMax)
    ConfigFile.value(of: key, in: file.pointer, &secret)
    let word = secret.cString()
    let result = body(word.isEmpty ? nil : word.pointer)
    word.wipe()
    secret.wipe()
    clinux_wipe_stack()
    return result
  }
}

extension Text {
  /// Erases the text from memory.
  package mutating func wipe() {
    unsafeBytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      clinux_wipe(UnsafeMutableRawPointer(mutating: start), bytes.count)
    }
    clear()
  }
}
