import CLinux
import TinyPush
import TinyPushAgent

/// What an app on a device brought along, each of it optional:
///
/// | file | holds |
/// |---|---|
/// | `Localizable.strings` | the texts that `loc-key`, `title-loc-key` and `subtitle-loc-key` name, in the device's language |
/// | `categories` | buttons, a line a category: `NAME=Button,Button` |
///
/// In the latter `#` begins a comment. They are read anew for each notification that needs them, so that they may be
/// edited at any time.
struct AppBundle: ~Copyable {
  /// Inferred: above what apps have, and little enough for a sandbox on a small machine.
  static let stringsBytesMax = 262_144
  static let listBytesMax = 16_384

  /// The files' text; empty where there is none.
  private(set) var strings = Text(capacity: 0)
  private(set) var categories = Text(capacity: 0)
  /// What could not be read, a line each.
  private(set) var notes = Text(capacity: 512)

  /// From text that somebody has in hand.
  init(strings: Span<UInt8>, categories: Span<UInt8>) {
    self.strings = Text(strings)
    self.categories = Text(categories)
  }

  /// Reads what a notification needs of the files in `directory`; nil: the app brought nothing.
  init(_ directory: UnsafePointer<CChar>?, for summary: PayloadSummary) {
    guard let directory else { return }
    if summary.titleLocKey != nil || summary.subtitleLocKey != nil || summary.locKey != nil {
      strings = read("Localizable.strings", in: directory, bytesMax: Self.stringsBytesMax)
    }
    if summary.category != nil {
      categories = read("categories", in: directory, bytesMax: Self.listBytesMax)
    }
  }

  private mutating func read(
    _ name: StaticString, in directory: UnsafePointer<CChar>, bytesMax: Int
  ) -> Text {
    var path = Text(capacity: 8192)
    path.append(cString: directory)
    path.append("/", name)
    let descriptor = path.withCString {
      clinux_open(AT_FDCWD, $0, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0)
    }
    guard descriptor >= 0 else {
      if descriptor != -ENOENT { record(name, clinux_error_text(-descriptor)) }
      return Text(capacity: 0)
    }
    defer { close(descriptor) }
    var information = stat()
    guard fstat(descriptor, &information) == 0, clinux_is_regular(&information) != 0 else {
      record(name, ("it is no regular file" as StaticString).cString)
      return Text(capacity: 0)
    }
    guard information.st_size <= bytesMax else {
      notes.append(name)
      notes.append(" is larger than ", bytesMax, " bytes, and is not read\n")
      return Text(capacity: 0)
    }
    // What is added to the file from now on is left for the next time.
    let buffer = FixedBuffer<UInt8>(capacity: Int(information.st_size))
    var count = 0
    while count < buffer.capacity {
      let room = buffer.room(from: count)
      let got = CLinux.read(descriptor, room.baseAddress, room.count)
      if got < 0, clinux_errno() == EINTR { continue }
      if got < 0 { record(name, clinux_error_text(clinux_errno())) }
      guard got > 0 else { break }
      count += got
    }
    var text = Text(capacity: count)
    text.append(buffer, count: count)
    return text
  }

  private mutating func record(_ name: StaticString, _ why: UnsafePointer<CChar>) {
    notes.append(name)
    notes.append(" cannot be read: ", cString: why, "\n")
  }
}

/// The lines of a text less their comments and the white space at both sides; what is empty then is passed over.
struct LineReader {
  private var index = 0
  /// Of the line that was read last, from 1 on.
  private(set) var number = 0

  mutating func next(_ text: Span<UInt8>) -> Range<Int>? {
    while index < text.count {
      let start = index
      while index < text.count, text[index] != .lineFeed { index += 1 }
      var end = start
      while end < index, text[end] != .hash { end += 1 }
      number += 1
      index += 1
      let line = text.trimmed(start..<end)
      if !line.isEmpty { return line }
    }
    return nil
  }
}
