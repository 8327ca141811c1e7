/// What waits in the spool with a `collapse-id`: for each key the file that was found to hold it last. It is looked for only
/// when a notification with a `collapse-id` is about to be sent, and each file once.
struct Survey: ~Copyable {
  struct Entry: BitwiseCopyable {
    var key: UInt64
    var file: FileIdentity
    /// Where the last notification of the key begins in the file.
    var offset: Int64
    var nameBytes: UInt8
  }

  /// Keys beyond are not known: what they would replace is sent all the same.
  static let capacity = 512
  private static let slotBytes = 256
  private let entries = FixedBuffer<Entry>(capacity: capacity)
  private let names = FixedBuffer<UInt8>(capacity: capacity * slotBytes)
  private var count = 0

  // The file that is being looked through.
  private let name = FixedBuffer<UInt8>(capacity: slotBytes)
  private var nameBytes = 0
  private let input = FixedBuffer<UInt8>(capacity: 2 * NotificationReader.objectBytesMax)
  private var offset: Int64 = 0
  private var bytes = 0
  private var reader = NotificationReader()
  private(set) var isReading = false
  private var file: FileIdentity?

  // All that waits has been looked through up to this name.
  private let last = FixedBuffer<UInt8>(capacity: slotBytes)
  private var lastBytes = 0
  /// Something came meanwhile that may have to be looked through before.
  private var wasReset = false

  init() {}

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(names.bytes)
    body(input.bytes)
  }

  /// Up to which name everything has been looked through.
  @_lifetime(immortal)
  func through() -> Span<UInt8> { last.looseSpan(0..<lastBytes) }

  /// A file has come: one that comes before those that were looked through is looked for.
  mutating func appeared(_ name: Span<UInt8>) {
    if !through().sorts(before: name) || isReading { forgetOrder() }
  }

  /// Everything that waits is looked through anew: what was found may be gone.
  mutating func forget() {
    forgetOrder()
    count = 0
  }

  private mutating func forgetOrder() {
    lastBytes = 0
    wasReset = isReading
  }

  // MARK: - Looking through a file

  mutating func begin(_ name: Span<UInt8>, at offset: Int64 = 0) {
    self.name.store(name, at: 0)
    nameBytes = name.count
    self.name[nameBytes] = 0
    self.offset = offset
    bytes = 0
    reader = NotificationReader()
    file = nil
    isReading = true
  }

  /// Its name, of which a NUL follows; where to read on, and to where.
  @_lifetime(immortal)
  func fileName() -> Span<UInt8> { name.looseSpan(0..<nameBytes) }
  var readOffset: Int64 { offset + Int64(bytes) }
  var room: UnsafeMutableBufferPointer<UInt8> { input.room(from: bytes) }

  /// More of it is there.
  mutating func filled(
    _ identity: FileIdentity, bytes count: Int, isWhole: Bool, _ rules: Rules,
    _ findings: inout Findings
  ) {
    guard file == nil || file == identity else {
      isReading = false
      return
    }
    file = identity
    bytes += count
    while true {
      switch reader.next(in: input.looseSpan(0..<bytes), isWhole: isWhole, rules, &findings) {
      case .notification(let notification):
        guard notification.collapseKey != 0 else { continue }
        note(notification.collapseKey, identity, offset + Int64(notification.object.lowerBound))
      case .refused: continue
      case .more(let from):
        bytes -= from
        input.move(from: from, to: 0, count: bytes)
        offset += Int64(from)
        reader.resume(at: 0)
        return
      case .end:
        isReading = false
        return
      }
    }
  }

  /// It cannot be looked through.
  mutating func abandon() { isReading = false }

  /// Of what waits, the file is done.
  mutating func passed() {
    if !wasReset {
      last.store(fileName(), at: 0)
      lastBytes = nameBytes
    }
    wasReset = false
  }

  // MARK: - What was found

  private mutating func note(_ key: UInt64, _ file: FileIdentity, _ offset: Int64) {
    let index = index(of: key) ?? count
    guard index < Self.capacity else { return }
    if index == count { count += 1 }
    entries[index] = Entry(key: key, file: file, offset: offset, nameBytes: UInt8(nameBytes))
    names.store(fileName(), at: index * Self.slotBytes)
    names[index * Self.slotBytes + nameBytes] = 0
  }

  func entry(_ key: UInt64) -> Entry? { index(of: key).map { entries[$0] } }

  /// The name of the file that holds it, of which a NUL follows.
  @_lifetime(immortal)
  func name(of key: UInt64) -> Span<UInt8> {
    let index = index(of: key)!
    let start = index * Self.slotBytes
    return names.looseSpan(start..<start + Int(entries[index].nameBytes))
  }

  mutating func remove(_ key: UInt64) {
    guard let index = index(of: key) else { return }
    count -= 1
    guard index < count else { return }
    entries[index] = entries[count]
    names.move(
      from: count * Self.slotBytes, to: index * Self.slotBytes, count: Self.slotBytes)
  }

  private func index(of key: UInt64) -> Int? {
    for index in 0..<count where entries[index].key == key { return index }
    return nil
  }
}
