import CLinux
import TinyPush

/// Changes settings in a configuration file, and leaves all other lines as they are.
public enum ConfigEditor {
  /// The result of a change.
  public enum Outcome {
    case unchanged
    case written
    /// The errno of what failed; nothing has changed.
    case failed(Int32)
  }

  private static let bytesMax = 1 << 20

  /// Sets the settings of `wanted`, lines `KEY = VALUE`, and makes comments of lines that set one
  /// of `unwanted`.
  ///
  /// A file that is missing is made. A program that reads the file meanwhile sees all changes or
  /// none.
  @inline(never)
  public static func change(
    _ path: UnsafePointer<CChar>, _ wanted: borrowing Text, without unwanted: [WordList]
  ) -> Outcome {
    var text = Text(capacity: bytesMax)
    do throws(InputFile.Problem) {
      try InputFile.read(path, to: &text, bytesMax: bytesMax)
    } catch {
      guard error.isMissing else {
        if case .cannotRead(let error) = error { return .failed(error) }
        return .failed(EFBIG)
      }
    }
    defer { text.wipe() }
    var changed = Text(capacity: text.count + wanted.count + 4096)
    defer { changed.wipe() }
    change(text.bytes, wanted.bytes, without: unwanted, to: &changed)
    guard !changed.isCut, !text.isCut else { return .failed(EFBIG) }
    guard !changed.bytes.equals(text.bytes) else { return .unchanged }
    // A link stays, and leads to the new file.
    let resolved = realpath(path, nil)
    defer { free(resolved) }
    let target = resolved.map { UnsafePointer($0) } ?? path
    let error = Replacement.write(changed.bytes, to: target, mode: 0o644, isAlike: true)
    return error == 0 ? .written : .failed(error)
  }

  /// Appends the changed text of a file.
  static func change(
    _ text: Span<UInt8>, _ wanted: Span<UInt8>, without unwanted: [WordList], to changed: inout Text
  ) {
    var place = 0
    while place < text.count {
      var end = place
      while end < text.count, text[end] != .lineFeed { end += 1 }
      append(text.extracting(place..<end), wanted, without: unwanted, to: &changed)
      changed.append("\n")
      place = end + 1
    }
    var lines = ConfigLines()
    while let line = lines.next(in: wanted) {
      guard case .setting(let name, let value) = line,
        Self.value(of: wanted.extracting(name), in: text) == nil
      else { continue }
      append(wanted.extracting(name), wanted.extracting(value), to: &changed)
      changed.append("\n")
    }
  }

  /// Appends a line of a file, without its line end, as it is or changed.
  private static func append(
    _ line: Span<UInt8>, _ wanted: Span<UInt8>, without unwanted: [WordList], to changed: inout Text
  ) {
    var lines = ConfigLines()
    guard case .setting(let name, let old) = lines.next(in: line) else {
      return changed.append(bytes: line)
    }
    let key = line.extracting(name)
    var isUnwanted = false
    for list in unwanted where list.index(of: key) != nil { isUnwanted = true }
    if isUnwanted {
      changed.append("#", bytes: line)
    } else if let new = value(of: key, in: wanted),
      !wanted.extracting(new).equals(
        line.extracting(ConfigLines.withoutComment(old, in: line)))
    {
      append(key, wanted.extracting(new), to: &changed)
    } else {
      changed.append(bytes: line)
    }
  }

  private static func append(_ name: Span<UInt8>, _ value: Span<UInt8>, to text: inout Text) {
    text.append(bytes: name)
    text.append(" = ", bytes: value)
  }

  /// Returns the last value of a setting in a text; nil: the text does not set it.
  private static func value(of name: Span<UInt8>, in text: Span<UInt8>) -> Range<Int>? {
    var lines = ConfigLines()
    var found: Range<Int>?
    while let line = lines.next(in: text) {
      if case .setting(let key, let value) = line, text.extracting(key).equals(name) {
        found = value
      }
    }
    return found
  }
}
