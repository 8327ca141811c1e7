import CLinux
import TinyPush

/// The stored provider token: a line in the file `provider-token` of the directory `state`.
///
/// Only the agent's user may read it.
///
/// ```
/// UNIX-SECONDS KEY-ID TEAM-ID SHA-256-OF-THE-PUBLIC-KEY TOKEN
/// ```
struct ProviderTokenFile: ~Copyable {
  static let name: StaticString = "provider-token"

  let state: CString
  private let makesState: Bool

  /// - Parameter makesState: whether to make the directory if it is missing.
  init(_ state: Span<UInt8>, makesState: Bool) {
    self.state = CString(state)
    self.makesState = makesState
  }

  deinit {}

  /// Reads the stored token and returns when it was made; nil if there is none of this key and
  /// team.
  ///
  /// - Parameter text: is set to the token.
  @inline(never)
  func read(
    _ keyID: Span<UInt8>, _ teamID: Span<UInt8>, _ digest: Span<UInt8>, into text: inout Text
  ) -> Int64? {
    var bytes: InlineArray<512, UInt8> = .init(repeating: 0)
    var room = bytes.mutableSpan
    let count = room.withUnsafeMutableBufferPointer { load(into: $0) }
    let line = bytes.span.extracting(0..<count)
    var wanted = Text(capacity: 256)
    Self.writeKey(keyID, teamID, digest, in: &wanted)
    var digits = 0
    while digits < line.count, line[digits].isDigit { digits += 1 }
    let rest = line.extracting(digits..<line.count)
    guard let issuedAt = Config.number(line.extracting(0..<digits)),
      rest.begins(with: wanted.bytes)
    else { return nil }
    let token = rest.extracting(wanted.count..<rest.count)
    // A complete token has two dots, and its line a line feed.
    var dots = 0
    for index in token.indices where token[index] == .dot { dots += 1 }
    guard dots == 2, token.count < ProviderToken.textMax, token[token.count - 1] == .lineFeed else {
      return nil
    }
    text.clear()
    text.append(bytes: token.extracting(0..<token.count - 1))
    return Int64(issuedAt)
  }

  /// Replaces the stored token; returns 0 or an errno.
  @inline(never)
  func write(
    _ issuedAt: Int64, _ keyID: Span<UInt8>, _ teamID: Span<UInt8>, _ digest: Span<UInt8>,
    _ token: borrowing Text
  ) -> Int32 {
    var line = Text(capacity: 512)
    line.append(issuedAt)
    Self.writeKey(keyID, teamID, digest, in: &line)
    line.append(token)
    line.append("\n")
    var error: Int32 = 0
    if makesState { mkdir(state.pointer, 0o750) }
    guard let directory = open(error: &error) else { return error }
    error = Self.write(line.bytes, in: directory.number)
    extendLifetime(directory)
    return error
  }

  private static func write(_ line: Span<UInt8>, in directory: Int32) -> Int32 {
    let draft = Replacement.draftName(of: name.span)
    defer { extendLifetime(draft) }
    return Replacement.make(directory, name.cString, draft.pointer, mode: 0o600) {
      Descriptor.writeAll($0, line)
    }
  }

  // MARK: - Parts

  private func open(error: inout Int32) -> Descriptor? {
    Descriptor(AT_FDCWD, state.pointer, O_RDONLY | O_DIRECTORY, error: &error)
  }

  /// Reads the file up to the size of the buffer, and returns the number of bytes.
  ///
  /// A file of another user is ignored.
  private func load(into room: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var error: Int32 = 0
    guard let directory = open(error: &error) else { return 0 }
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    var owner = stat()
    var information = stat()
    guard let file = Descriptor(directory.number, Self.name.cString, flags, error: &error),
      fstat(directory.number, &owner) == 0, fstat(file.number, &information) == 0,
      clinux_is_regular(&information) != 0,
      information.st_uid == geteuid() || information.st_uid == owner.st_uid
    else { return 0 }
    return max(Descriptor.read(file.number, room, at: 0), 0)
  }

  /// Appends the part of the line that identifies the key and the team.
  private static func writeKey(
    _ keyID: Span<UInt8>, _ teamID: Span<UInt8>, _ digest: Span<UInt8>, in text: inout Text
  ) {
    text.append(" ", bytes: keyID, " ")
    text.append(bytes: teamID)
    text.append(" ")
    text.append(hex: digest)
    text.append(" ")
  }
}
