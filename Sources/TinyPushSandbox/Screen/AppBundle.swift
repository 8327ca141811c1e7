import CLinux
import TinyPush
import TinyPushAgent

/// The files of an app on a device, each of which is optional.
///
/// | file | content |
/// |---|---|
/// | `Localizable.strings` | the texts for `loc-key`, `title-loc-key` and `subtitle-loc-key` |
/// | `categories` | buttons, one category a line: `NAME=Button,Button` |
/// | `encryption-key` | the key that is set in the app Bark |
///
/// The texts are in the device's language. In `categories`, `#` begins a comment. The files are
/// read for each notification that needs them, so that they may be edited at any time.
struct AppBundle: ~Copyable {
  /// The largest strings file, in bytes.
  ///
  /// Inferred: above the files of apps, and small enough for a sandbox on a small machine.
  static let stringsBytesMax = 262_144
  static let listBytesMax = 16_384

  /// The text of `Localizable.strings`; empty if absent.
  private(set) var strings = Text(capacity: 0)
  /// The text of `categories`; empty if absent.
  private(set) var categories = Text(capacity: 0)
  /// The key under which the payload was encrypted; empty if absent.
  private(set) var encryptionKey = Text(capacity: 0)
  /// Notes about files that cannot be read, one a line.
  private(set) var notes = Text(capacity: 512)

  /// Creates a bundle from texts in memory.
  init(strings: Span<UInt8>, categories: Span<UInt8>) {
    self.strings = Text(strings)
    self.categories = Text(categories)
  }

  /// Reads the files in `directory` that a notification needs; nil: the app has no files.
  init(_ directory: UnsafePointer<CChar>?, for summary: PayloadSummary) {
    guard let directory else { return }
    if summary.titleLocKey != nil || summary.subtitleLocKey != nil || summary.locKey != nil {
      strings = read("Localizable.strings", in: directory, bytesMax: Self.stringsBytesMax)
    }
    if summary.category != nil {
      categories = read("categories", in: directory, bytesMax: Self.listBytesMax)
    }
    if summary.ciphertext != nil {
      encryptionKey = read("encryption-key", in: directory, bytesMax: Self.listBytesMax)
    }
  }

  /// Notes that the app cannot decrypt the payload.
  mutating func noteSealed() {
    notes.append(
      encryptionKey.count > 0
        ? "the alert was encrypted under another key, or in another mode\n"
        : "the alert is encrypted, and the app has no key\n")
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
      record(name, ("it is not a regular file" as StaticString).cString)
      return Text(capacity: 0)
    }
    guard information.st_size <= bytesMax else {
      notes.append(name)
      notes.append(" is ignored, since it is larger than ", bytesMax, " bytes\n")
      return Text(capacity: 0)
    }
    // Bytes that are appended while the file is read are ignored.
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

/// Reads the lines of a text, without comments and surrounding white space, and skips empty lines.
struct LineReader {
  private var index = 0
  /// The number of the last line, from 1.
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
