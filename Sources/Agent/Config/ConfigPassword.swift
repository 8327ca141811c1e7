import CLinux

/// The password of the key.
extension Config {
  var hasKeyPassword: Bool { !keyPassword.isEmpty || !keyPasswordFile.isEmpty }

  private static var passwordMax: Int { 1024 }

  /// Calls `body`, which reads the key, with its password or nil, and leaves none in memory.
  @inline(never)
  borrowing func withKeyPassword<Result>(
    _ body: (UnsafePointer<CChar>?) -> Result
  ) -> Result {
    guard !keyPasswordFile.isEmpty else {
      return body(keyPassword.isEmpty ? nil : keyPassword.pointer)
    }
    let password = UnsafeMutablePointer<CChar>.allocate(capacity: Self.passwordMax)
    clinux_ini_value(keyPasswordFile.pointer, "key-password", password, Self.passwordMax)
    let result = body(password[0] == 0 ? nil : UnsafePointer(password))
    clinux_wipe(password, Self.passwordMax)
    clinux_wipe_stack()
    password.deallocate()
    return result
  }
}
