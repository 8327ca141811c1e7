import CLinux
import TinyPush

/// Looks into recipients files, for whoever only wants to know what they are good for.
struct RecipientsLookup: ~Copyable {
  /// What was found in one.
  struct Found {
    /// Why it cannot be read (errno); 0: it was.
    var error: Int32 = 0
    /// It names somebody.
    var hasRecipients = false
    /// The token is among them, and this is its language.
    var language: LanguageTag?
  }

  private let directory: UnsafePointer<CChar>
  private let buffer = FixedBuffer<UInt8>(capacity: 32_768)

  /// - Parameter directory: of the recipients files; outlives this.
  init(_ directory: UnsafePointer<CChar>) {
    self.directory = directory
  }

  deinit {}

  /// - Parameter token: whose language is looked for; nil: nobody's.
  @inline(never)
  func look(into name: Span<UInt8>, for token: DeviceToken?) -> Found {
    var found = Found()
    guard RecipientsFile.isName(name) else {
      found.error = EINVAL
      return found
    }
    var path = Text(capacity: 4200)
    path.append(cString: directory)
    path.append("/")
    path.append(bytes: name)
    let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY
    let file = path.withCString { clinux_open(AT_FDCWD, $0, flags, 0) }
    guard file >= 0 else {
      found.error = -file
      return found
    }
    defer { close(file) }
    var count = 0
    var offset: Int64 = 0
    var isSkipping = false
    while true {
      let taken = Descriptor.read(file, buffer.room(from: count), at: offset)
      guard taken >= 0 else {
        found.error = Int32(-taken)
        return found
      }
      count += taken
      offset += Int64(taken)
      var start = 0
      for index in 0..<count where buffer[index] == .lineFeed || taken == 0 && index + 1 == count {
        let end = buffer[index] == .lineFeed ? index : index + 1
        if !isSkipping { take(buffer.span(start..<end), token, &found) }
        isSkipping = false
        start = index + 1
      }
      if taken == 0 || found.language != nil { return found }
      // No line is so long.
      if start == 0, count == buffer.capacity {
        isSkipping = true
        start = count
      }
      count -= start
      buffer.move(from: start, to: 0, count: count)
    }
  }

  private func take(_ line: Span<UInt8>, _ token: DeviceToken?, _ found: inout Found) {
    guard case .recipient(let device, let language) = RecipientsFile.read(line) else { return }
    found.hasRecipients = true
    if device == token { found.language = language }
  }
}
