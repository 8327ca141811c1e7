import TinyPush

/// Notifications that wait to be written into one file, and the messages that they come from.
struct MessageBatch: ~Copyable {
  /// Bytes of one notification file at most.
  private static let bytesMax = 512 * 1024

  /// The notifications, a line each.
  var text = Text(capacity: MessageBatch.bytesMax)
  var notifications: UInt64 = 0
  /// The messages that are acknowledged once the file is written.
  private(set) var openCount = 0
  /// Whether no more messages are waited for.
  var isDue = false

  init() {}

  @inline(never)
  deinit {}

  /// Whether another notification may have no room in the file.
  var isFull: Bool { text.count > Self.bytesMax - NotificationReader.objectBytesMax - 1024 }

  /// Counts a message whose notifications are in the text.
  mutating func count(_ message: BrokerSession.Message, openMax: Int) {
    if message.packetID != nil { openCount += 1 }
    if openCount >= openMax { isDue = true }
  }

  mutating func clear() {
    text.clear()
    notifications = 0
    openCount = 0
    isDue = false
  }
}
