import CLinux

/// Looks into recipients files, for whoever only wants to know what they are good for.
struct RecipientsLookup: ~Copyable {
  /// What was found in one.
  struct Found {
    /// Why it cannot be read (errno); 0: it was.
    var error: Int32 = 0
    /// It names somebody.
    var hasRecipients = false
  }

  private let directory: UnsafePointer<CChar>
  private let buffer = FixedBuffer<UInt8>(capacity: 32_768)

  /// - Parameter directory: of the recipients files; outlives this.
  init(_ directory: UnsafePointer<CChar>) {
    self.directory = directory
  }

  deinit {}

  @inline(never)
  func look(into name: Span<UInt8>) -> Found {
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
      for index in 0..<count where buffer[index] == 0x0A || taken == 0 && index + 1 == count {
        let end = buffer[index] == 0x0A ? index : index + 1
        if !isSkipping, case .recipient = RecipientsFile.read(buffer.looseSpan(start..<end)) {
          found.hasRecipients = true
        }
        isSkipping = false
        start = index + 1
      }
      if taken == 0 || found.hasRecipients { return found }
      // No line is so long.
      if start == 0, count == buffer.capacity {
        isSkipping = true
        start = count
      }
      count -= start
      buffer.move(from: start, to: 0, count: count)
    }
  }
}
