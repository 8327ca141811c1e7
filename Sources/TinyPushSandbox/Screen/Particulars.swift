import TinyPush

/// A short line for developers about how a notification arrived.
///
/// Such as `00000000..0007, priority 10, kept for 24 h, connection 1 no. 3, 44 bytes`.
struct Particulars {
  var arrival: Arrival
  /// The size of the payload.
  var bytes: Int

  func write(token: Span<UInt8>, now: Int64, to text: inout Text) {
    text.append(shortToken: token)
    if let push = arrival.push {
      text.append(", ", push.kind.name)
      if push.type == nil { text.append(" urgency") }
    }
    if arrival.push == nil || arrival.push?.type != nil {
      text.append(", priority ", arrival.priority)
      if arrival.priority == 1 { text.append(" (does not wake the device)") }
    }
    text.append(", ")
    writeExpiration(now: now, to: &text)
    text.append(", connection ", arrival.connection)
    if let identifier = arrival.identifier {
      text.append(arrival.push == nil ? " no. " : " stream ")
      text.append(identifier)
    }
    text.append(", ", bytes)
    text.append(bytes == 1 ? " byte" : " bytes")
  }

  private func writeExpiration(now: Int64, to text: inout Text) {
    guard let expiration = arrival.expiration else { return text.append("no expiration") }
    guard expiration > 0 else { return text.append("not stored") }
    let left = Int64(expiration) - now
    guard left > 0 else { return text.append("already expired") }
    text.append("kept for ")
    text.append(seconds: left)
  }
}

extension Text {
  /// Appends the beginning and the end of a token.
  mutating func append(shortToken token: Span<UInt8>) {
    guard token.count > 8 else { return append(hex: token) }
    append(hex: token.extracting(0..<4))
    append("..")
    append(hex: token.extracting(token.count - 2..<token.count))
  }
}
