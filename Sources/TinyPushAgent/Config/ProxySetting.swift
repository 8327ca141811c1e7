import TinyPush

/// The setting `proxy`: `http://[USER:PASSWORD@]HOST:PORT`.
///
/// Any byte of the user and the password may be written as `%XX`.
struct ProxySetting {
  /// The part before the `@`; empty if absent.
  let login: Range<Int>
  /// The part `HOST:PORT`.
  let address: Range<Int>

  private static let scheme: StaticString = "http://"

  init?(_ value: Span<UInt8>) {
    let start = Self.scheme.utf8CodeUnitCount
    var end = value.count
    guard end < Secret.bytesMax, value.begins(with: Self.scheme.span) else { return nil }
    // A copied URL often ends with a slash.
    if value[end - 1] == .slash { end -= 1 }
    var at: Int?
    for index in start..<max(end, start) where value[index] == .at { at = index }
    login = start..<(at ?? start)
    address = (at.map { $0 + 1 } ?? start)..<max(end, start)
    var colons = 0
    for index in address {
      if value[index] == .closeBracket { colons = 0 }
      if value[index] == .colon { colons += 1 }
    }
    guard colons == 1, Self.decode(value.extracting(login), { _ in }) else { return nil }
  }

  /// Passes each byte of the user and the password to `body`, and returns whether all can be sent.
  static func decode(_ login: Span<UInt8>, _ body: (UInt8) -> Void) -> Bool {
    var index = 0
    while index < login.count {
      var byte = login[index]
      if byte == .percent {
        guard index + 2 < login.count, let high = DeviceToken.hexValue(login[index + 1]),
          let low = DeviceToken.hexValue(login[index + 2])
        else { return false }
        byte = high << 4 | low
        index += 2
      }
      guard byte >= .space, byte != .delete else { return false }
      body(byte)
      index += 1
    }
    return true
  }
}
