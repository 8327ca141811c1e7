import CLinux
import TinyPush

/// A NUL-terminated copy of a string, for C functions.
public struct CString: ~Copyable {
  /// The address of the copy, which is valid as long as this value.
  public let pointer: UnsafePointer<CChar>

  /// Copies the bytes and adds a NUL.
  public init(_ bytes: Span<UInt8>) {
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
    for index in bytes.indices { copy[index] = CChar(bitPattern: bytes[index]) }
    copy[bytes.count] = 0
    pointer = UnsafePointer(copy)
  }

  /// Copies a literal.
  public init(_ text: StaticString) {
    self.init(text.span)
  }

  /// Copies a C string.
  public init(cString: UnsafePointer<CChar>) {
    self.init(Self.span(cString))
  }

  deinit { UnsafeMutablePointer(mutating: pointer).deallocate() }

  /// The bytes without the NUL.
  public var span: Span<UInt8> {
    @_lifetime(borrow self) get {
      _overrideLifetime(Self.span(pointer), borrowing: self)
    }
  }

  /// Overwrites a secret, which leaves an empty string.
  func wipe() { clinux_wipe(UnsafeMutablePointer(mutating: pointer), Int(strlen(pointer))) }

  /// Whether the string has no bytes.
  public var isEmpty: Bool { pointer.pointee == 0 }

  /// Returns the bytes of a C string, which must stay valid as long as they are used.
  @inline(never)
  @_lifetime(immortal)
  public static func span(_ pointer: UnsafePointer<CChar>) -> Span<UInt8> {
    let count = strlen(pointer)
    let bytes = UnsafeRawPointer(pointer).assumingMemoryBound(to: UInt8.self)
    return _overrideLifetime(Span(_unsafeStart: bytes, count: Int(count)), copying: ())
  }
}

extension Text {
  /// Writes the text to a descriptor, in ASCII if that is a terminal that shows nothing else.
  ///
  /// An error ends the writing; if standard output takes no more, the program says so at its end.
  @inline(never)
  public borrowing func write(to descriptor: Int32) {
    for index in bytes.indices where bytes[index] >= 0x80 {
      guard Terminal(descriptor).isPlain else { break }
      var plain = Text(capacity: count)
      plain.append(ascii: bytes)
      return Self.write(plain.bytes, to: descriptor)
    }
    Self.write(bytes, to: descriptor)
  }

  private static func write(_ bytes: Span<UInt8>, to descriptor: Int32) {
    let error = Descriptor.writeAll(descriptor, bytes)
    // A command that changes something ignores the signal of a broken pipe, and goes on.
    if error != 0, error != EPIPE, descriptor == STDOUT_FILENO {
      StandardStreams.outputError = error
    }
  }

  /// Writes the text to a descriptor, and clears it.
  @inline(never)
  public mutating func flush(to descriptor: Int32 = STDOUT_FILENO) {
    write(to: descriptor)
    clear()
  }

  /// Returns a NUL-terminated copy for C functions.
  public borrowing func cString() -> CString { CString(bytes) }

  /// Calls `body` with a NUL-terminated copy.
  public borrowing func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    let copy = CString(bytes)
    let result = body(copy.pointer)
    extendLifetime(copy)
    return result
  }
}

extension StaticString {
  /// The address of the literal, which ends with a NUL.
  public var cString: UnsafePointer<CChar> {
    UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
