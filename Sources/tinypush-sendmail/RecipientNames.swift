import TinyPush
import TinyPushAgent

/// The recipients files to which a mail goes, each once.
struct RecipientNames: ~Copyable {
  private static var countMax: Int { 8000 }

  private let directory: Text
  private var names = TextList(countMax + 1, bytes: (countMax + 1) * Envelope.listNameBytesMax)
  /// Whether there is an address without a recipients file.
  private var hasOther = false

  /// Creates an empty list.
  init(_ directory: Span<UInt8>) {
    var text = Text(capacity: directory.count)
    text.append(bytes: directory)
    self.directory = text
  }

  deinit {}

  /// Adds the recipients file for the local part of an address.
  ///
  /// For mail, the case of letters and what follows a `+` do not matter.
  mutating func add(_ local: Span<UInt8>) {
    guard !insert(local) else { return }
    var name = Text(capacity: local.count)
    for index in local.indices {
      if local[index] == .plus { break }
      name.append(byte: local[index].lowerCase)
    }
    if !insert(name.unsafeBytes) { hasOther = true }
  }

  /// Adds a recipients file; returns false if there is none of this name, or no more room.
  private mutating func insert(_ name: Span<UInt8>) -> Bool {
    guard RecipientsFile.exists(name, in: directory.bytes) else { return false }
    guard !names.contains(name) else { return true }
    // Room for `default` is left.
    return names.count < Self.countMax ? names.append(name) : false
  }

  /// Adds `default` if there is no other name, or for the addresses that name no recipients file.
  ///
  /// Returns false if there is no recipients file at all.
  mutating func complete() -> Bool {
    let standard = Notification.defaultList.span
    if hasOther || names.count == 0, !names.contains(standard),
      RecipientsFile.mayExist(standard, in: directory.bytes)
    {
      _ = names.append(standard)
    }
    return names.count > 0
  }

  /// Gives names to a notification, which holds only some, from a number on.
  ///
  /// Returns false if there are no further names.
  func add(to draft: inout Draft, from first: Int) -> Bool {
    guard first < names.count else { return false }
    for number in first..<min(first + Envelope.listsMax, names.count) {
      draft.add(list: names[number])
    }
    return true
  }
}
