import CLinux
import TinyPush

/// A NUL-terminated string that it owns, for calls of C's.
public struct CString: ~Copyable {
  public let pointer: UnsafePointer<CChar>

  public init(_ bytes: Span<UInt8>) {
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
    for index in bytes.indices { copy[index] = CChar(bitPattern: bytes[index]) }
    copy[bytes.count] = 0
    pointer = UnsafePointer(copy)
  }

  public init(_ text: StaticString) {
    self.init(text.span)
  }

  public init(cString: UnsafePointer<CChar>) {
    self.init(Self.span(cString))
  }

  deinit { UnsafeMutablePointer(mutating: pointer).deallocate() }

  public var span: Span<UInt8> {
    @_lifetime(borrow self) get {
      _overrideLifetime(Self.span(pointer), borrowing: self)
    }
  }

  /// Overwrites a secret; it is empty from now on.
  func wipe() { clinux_wipe(UnsafeMutablePointer(mutating: pointer), Int(strlen(pointer))) }

  public var isEmpty: Bool { pointer.pointee == 0 }

  /// The bytes of a C string that outlives their use.
  @inline(never)
  @_lifetime(immortal)
  public static func span(_ pointer: UnsafePointer<CChar>) -> Span<UInt8> {
    let count = strlen(pointer)
    let bytes = UnsafeRawPointer(pointer).assumingMemoryBound(to: UInt8.self)
    return _overrideLifetime(Span(_unsafeStart: bytes, count: Int(count)), copying: ())
  }
}

extension Text {
  /// Writes it to a descriptor, whole if the descriptor takes it. A terminal that shows nothing but ASCII gets no more.
  @inline(never)
  public borrowing func write(to descriptor: Int32) {
    for index in bytes.indices where bytes[index] >= 0x80 {
      guard Terminal(descriptor).isPlain else { break }
      var plain = Text(capacity: count)
      plain.append(ascii: bytes)
      return plain.writeBytes(to: descriptor)
    }
    writeBytes(to: descriptor)
  }

  private borrowing func writeBytes(to descriptor: Int32) {
    var place = 0
    bytes.withUnsafeBytes { buffer in
      while place < buffer.count {
        let written = CLinux.write(descriptor, buffer.baseAddress! + place, buffer.count - place)
        if written < 0 && clinux_errno() == EINTR { continue }
        guard written > 0 else { return }
        place += Int(written)
      }
    }
  }

  /// The same bytes with a NUL behind them, for calls of C's.
  public borrowing func cString() -> CString { CString(bytes) }

  /// Calls `body` with the same bytes and a NUL behind them.
  public borrowing func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    let copy = CString(bytes)
    let result = body(copy.pointer)
    extendLifetime(copy)
    return result
  }
}

extension StaticString {
  /// Literals end with a NUL.
  public var cString: UnsafePointer<CChar> {
    UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
