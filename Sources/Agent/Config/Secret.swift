import CLinux

/// A setting that is secret. One that stands in a file is looked up there whenever it is needed, and does not stay in memory.
struct Secret: ~Copyable {
  static let bytesMax = 1024

  private let key: StaticString
  /// Where it is not in a file that can be read again.
  private var value = CString("")
  private var file = CString("")

  init(_ key: StaticString) {
    self.key = key
  }

  // Commands that fail for many reasons destroy it in many places.
  @inline(never)
  deinit { value.wipe() }

  var isEmpty: Bool { value.isEmpty && file.isEmpty }

  /// - Parameter file: where the value stands; empty: it must be kept.
  @inline(never)
  mutating func set(_ value: Span<UInt8>, file: borrowing CString) {
    self.value.wipe()
    self.value = file.isEmpty ? CString(value) : CString("")
    self.file = value.isEmpty ? CString("") : CString(file.span)
  }

  /// Calls `body` with the secret or nil, and leaves none in memory.
  @inline(never)
  borrowing func with<Result>(_ body: (UnsafePointer<CChar>?) -> Result) -> Result {
    guard !file.isEmpty else { return body(value.isEmpty ? nil : value.pointer) }
    let secret = UnsafeMutablePointer<CChar>.allocate(capacity: Self.bytesMax)
    clinux_ini_value(file.pointer, key.cString, secret, Self.bytesMax)
    let result = body(secret[0] == 0 ? nil : UnsafePointer(secret))
    clinux_wipe(secret, Self.bytesMax)
    clinux_wipe_stack()
    secret.deallocate()
    return result
  }
}
