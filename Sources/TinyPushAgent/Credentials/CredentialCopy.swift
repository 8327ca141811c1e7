import CLinux
import TinyPush

/// Copies a key to a place where only its owner can read it.
public enum CredentialCopy {
  private static let bytesMax = 65_536

  /// Copies a file, unless both paths are the same file; returns 0 or an errno.
  ///
  /// Unless it may be replaced, it is an error, EEXIST, if another key has the name.
  @inline(never)
  public static func copy(
    _ source: UnsafePointer<CChar>, to target: UnsafePointer<CChar>, replacing: Bool
  ) -> Int32 {
    var (from, there) = (stat(), stat())
    if stat(source, &from) == 0, stat(target, &there) == 0, from.st_dev == there.st_dev,
      from.st_ino == there.st_ino
    {
      return 0
    }
    var text = Text(capacity: bytesMax)
    defer { text.wipe() }
    do throws(InputFile.Problem) {
      try InputFile.read(source, to: &text, bytesMax: bytesMax)
    } catch {
      if case .cannotRead(let error) = error { return error }
      return EFBIG
    }
    if !replacing {
      var old = Text(capacity: bytesMax)
      defer { old.wipe() }
      try? InputFile.read(target, to: &old, bytesMax: bytesMax)
      guard old.count == 0 || old.bytes.equals(text.bytes) else { return EEXIST }
    }
    return write(text.bytes, to: target)
  }

  /// Writes a file that only its owner can read; returns 0 or an errno.
  ///
  /// - Parameter replaces: whether a file that is there is replaced; otherwise that is the error
  ///   EEXIST.
  @inline(never)
  public static func write(
    _ text: Span<UInt8>, to target: UnsafePointer<CChar>, replaces: Bool = true
  ) -> Int32 {
    Replacement.write(text, to: target, mode: 0o600, replaces: replaces)
  }
}
