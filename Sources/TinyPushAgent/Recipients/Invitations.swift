import CLinux
import TinyPush

/// The invitations to register a recipient for a recipients file.
///
/// Each has a code, which works once, for an hour. An invitation is a hidden file beside the recipients
/// files, since only a program that may change these can use it. The name of the file has the SHA-256 of
/// the code, so that somebody who can read the directory cannot register.
public struct Invitations: ~Copyable {
  /// An invitation that was found by its code.
  public struct Found: ~Copyable {
    /// The name of the recipients file.
    public let list: Text
    fileprivate let file: CString
  }

  /// How long a code works, in seconds.
  public static let lifetime: Int64 = 3600
  /// The characters of a code: 16 bytes in base64url.
  public static let codeCharacters = 22
  private static let mark: StaticString = ".invitation-"
  /// Behind the name of an invitation that is being used.
  private static let usedMark: StaticString = ".used"
  private static let fileBytesMax = Envelope.listNameBytesMax + 32

  private let directory: Descriptor

  /// Opens the directory of the recipients files.
  ///
  /// - Parameter error: on failure, the errno.
  @inline(never)
  public init?(_ path: Span<UInt8>, error: inout Int32) {
    let path = CString(path)
    guard let directory = Descriptor(AT_FDCWD, path.pointer, O_RDONLY | O_DIRECTORY, error: &error)
    else { return nil }
    self.directory = directory
  }

  deinit {}

  /// Makes an invitation, and removes those that have ended; returns 0 or an errno.
  ///
  /// - Parameter code: receives the code.
  @inline(never)
  public func make(for list: Span<UInt8>, until end: Int64, code: inout Text) -> Int32 {
    removeEnded(at: end - Self.lifetime)
    var random = InlineArray<16, UInt8>(repeating: 0)
    let got = withUnsafeMutableBytes(of: &random) { getrandom($0.baseAddress, $0.count, 0) }
    guard got == random.count else { return clinux_errno() }
    code.append(base64URL: random.span)
    let name = Self.file(of: code.bytes)
    var content = Text(capacity: Self.fileBytesMax)
    content.append(end)
    content.append(" ", bytes: list, "\n")
    var error: Int32 = 0
    guard let file = Descriptor.make(directory.number, name.pointer, mode: 0o600, error: &error)
    else { return error }
    // The umask counts for nothing: the service that takes registrations must read the file.
    fchmod(file.number, 0o644)
    error = Descriptor.writeAll(file.number, content.bytes)
    if error != 0 { unlinkat(directory.number, name.pointer, 0) }
    return error
  }

  /// Finds the invitation with a code; nil: there is none, it was used, or it has ended.
  @inline(never)
  public func find(code: Span<UInt8>, at now: Int64) -> Found? {
    guard code.count == Self.codeCharacters else { return nil }
    let file = Self.file(of: code)
    var list = Text(capacity: Self.fileBytesMax)
    let end = Self.read(file.pointer, in: directory.number, list: &list)
    // A time that is too far ahead is from before the clock was set back.
    guard end > now, end <= now + Self.lifetime, RecipientsFile.isName(list.bytes) else {
      return nil
    }
    return Found(list: list, file: file)
  }

  /// Uses an invitation to make a change in its recipients file.
  ///
  /// - Parameters:
  ///   - path: the directory of the recipients files.
  ///   - message: on failure, after which the invitation works again, what is wrong.
  @inline(never)
  public func use(
    _ found: borrowing Found, for change: inout RecipientChange, in path: Span<UInt8>,
    message: inout Text
  ) throws(ExitStatus) {
    let used = Self.used(found.file.span)
    // Of several requests with the code, only one can rename the file.
    guard renameat(directory.number, found.file.pointer, directory.number, used.pointer) == 0 else {
      throw RecipientsEditor.explain(clinux_errno(), path, nil, in: &message)
    }
    do throws(ExitStatus) {
      let editor = try RecipientsEditor(path, found.list.bytes, message: &message)
      try editor.make(&change, message: &message)
    } catch {
      renameat(directory.number, used.pointer, directory.number, found.file.pointer)
      throw error
    }
    unlinkat(directory.number, used.pointer, 0)
  }

  private static func used(_ file: Span<UInt8>) -> CString {
    var name = Text(capacity: 128)
    name.append(bytes: file)
    name.append(usedMark)
    return name.cString()
  }

  private static func file(of code: Span<UInt8>) -> CString {
    let digest = SHA256.digest(code)
    var name = Text(capacity: 128)
    name.append(mark)
    name.append(hex: digest.span)
    return name.cString()
  }

  /// Reads when an invitation ends, and for which recipients file it is; 0: it cannot be read.
  private static func read(
    _ file: UnsafePointer<CChar>, in directory: Int32, list: inout Text
  ) -> Int64 {
    let file = clinux_open(directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0)
    guard file >= 0 else { return 0 }
    var content = Text(capacity: fileBytesMax)
    do throws(InputFile.Problem) {
      try InputFile.read(file, to: &content, bytesMax: fileBytesMax)
    } catch { return 0 }
    return parse(content.bytes, list: &list)
  }

  private static func parse(_ text: Span<UInt8>, list: inout Text) -> Int64 {
    var space = 0
    while space < text.count, text[space] != .space { space += 1 }
    guard space < text.count, text[text.count - 1] == .lineFeed,
      let end = text.extracting(0..<space).wholeNumber
    else { return 0 }
    list.append(bytes: text.extracting(space + 1..<text.count - 1))
    return Int64(clamping: end)
  }

  private func removeEnded(at now: Int64) {
    let directory = directory.number
    let room = FixedBuffer<UInt8>(capacity: 4096)
    DirectoryEntry.forEach(in: directory, room.room()) { entry in
      Self.remove(entry.name, in: directory, ifEndedAt: now)
    }
  }

  private static func remove(
    _ name: UnsafePointer<CChar>, in directory: Int32, ifEndedAt now: Int64
  ) {
    guard CString.span(name).begins(with: mark.span) else { return }
    var list = Text(capacity: fileBytesMax)
    var information = stat()
    let end = read(name, in: directory, list: &list)
    guard end <= now, fstatat(directory, name, &information, AT_SYMLINK_NOFOLLOW) == 0 else {
      return
    }
    // Another program may be writing the invitation.
    let modified = clinux_modify_time_ns(&information) / 1_000_000_000
    if end > 0 || !(now - lifetime..<now + lifetime).contains(modified) {
      unlinkat(directory, name, 0)
    }
  }
}
