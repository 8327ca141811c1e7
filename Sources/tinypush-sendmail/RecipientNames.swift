import TinyPush
import TinyPushAgent

/// The recipients files to which a mail goes, each once.
struct RecipientNames: ~Copyable {
  private static var bytesMax: Int { 65_536 }

  private let directory: Text
  /// The names, each behind a NUL.
  private var names = Text(capacity: bytesMax)
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
    guard !contains(name) else { return true }
    // Room for `default` is left.
    guard names.count + name.count + 16 <= Self.bytesMax else { return false }
    append(name)
    return true
  }

  private mutating func append(_ name: Span<UInt8>) {
    names.append(byte: 0)
    names.append(bytes: name)
  }

  /// Adds `default` if there is no other name, or for the addresses that name no recipients file.
  ///
  /// Returns false if there is no recipients file at all.
  mutating func complete() -> Bool {
    let standard = Notification.defaultList.span
    if hasOther || names.count == 0, !contains(standard),
      RecipientsFile.mayExist(standard, in: directory.bytes)
    {
      append(standard)
    }
    return names.count > 0
  }

  /// Gives names to a notification, which holds only some, from a number on.
  ///
  /// Returns false if there are no further names.
  func add(to draft: inout Draft, from first: Int) -> Bool {
    var number = 0
    forEach {
      if first..<first + Envelope.listsMax ~= number { draft.add(list: $0) }
      number += 1
    }
    return first < number
  }

  private func contains(_ name: Span<UInt8>) -> Bool {
    var isFound = false
    forEach { if $0.equals(name) { isFound = true } }
    return isFound
  }

  private func forEach(_ body: (Span<UInt8>) -> Void) {
    var start = 1
    while start < names.count {
      var end = start
      while end < names.count, names.bytes[end] != 0 { end += 1 }
      body(names.bytes.extracting(start..<end))
      start = end + 1
    }
  }
}
