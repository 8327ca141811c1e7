/// What is looked at with arbitrary bytes. Each says what it found wrong, or nil; a crash says it too.
public enum Property: String, CaseIterable, Sendable {
  /// The scanner and the reader of notifications.
  case notification
  /// What comes from the other side of a connection, and how bytes are shown.
  case wire
  /// What the feedback service sends, and the suppression list as it lies on a disk.
  case suppression
  /// Numbers as they stand in records, names and settings.
  case numbers

  /// - Parameter input: `cut:2 | text…`, the cut being little-endian and taken modulo the places that the text has.
  public func violation(_ input: [UInt8]) -> String? {
    guard input.count >= 2 else { return nil }
    let text = Array(input[2...])
    let cut = (Int(input[0]) | Int(input[1]) << 8) % (text.count + 1)
    return switch self {
    case .notification: scannerViolation(text, cut: cut) ?? readerViolation(text, cut: cut)
    case .wire: wireViolation(text, cut: cut) ?? textViolation(text)
    case .suppression:
      feedbackViolation(text, cut: cut) ?? chunkViolation(text) ?? listViolation(text)
    case .numbers: numbersViolation(text)
    }
  }
}

/// The ends of the pieces in which a text comes: whole, in two, and byte by byte (or nearly, if it is long).
func pieces(of count: Int, cut: Int) -> [[Int]] {
  [[count], [cut, count], Array(stride(from: 0, to: count, by: count / 500 + 1)) + [count]]
}
