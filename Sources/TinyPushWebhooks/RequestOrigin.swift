import TinyPush

/// Whether a request may come from a web page of another site.
///
/// A browser says so for most requests, but not an old one, and not for a `GET`. A page whose name
/// leads to this machine by a trick with DNS has its own name in `Host`.
public enum RequestOrigin {
  /// Returns whether the header `Host` names this machine, or has an address.
  ///
  /// - Parameter machine: the machine's host name.
  public static func isOfMachine(host: Span<UInt8>, machine: Span<UInt8>) -> Bool {
    let name = withoutPort(host)
    if name.count > 0, name[0] == .openBracket { return true }
    if isIPv4(name) || matches(name, ("localhost" as StaticString).span) { return true }
    guard machine.count > 0 else { return false }
    if matches(name, machine) { return true }
    var label = 0
    while label < machine.count, machine[label] != .dot { label += 1 }
    let first = machine.extracting(0..<label)
    if matches(name, first) { return true }
    // Names of multicast DNS (RFC 6762) belong to the machines of the network itself.
    let ending: StaticString = ".local"
    let rest = name.count - ending.utf8CodeUnitCount
    return rest > 0 && matches(name.extracting(rest..<name.count), ending.span)
      && matches(name.extracting(0..<rest), first)
  }

  /// Returns whether the header `Referer` names another site than `Host`.
  public static func isForeign(referer: Span<UInt8>, host: Span<UInt8>?) -> Bool {
    guard let host else { return true }
    var start = 0
    while start + 2 < referer.count, !isMark(referer, at: start) { start += 1 }
    guard start + 2 < referer.count else { return true }
    start += 3
    var end = start
    while end < referer.count, referer[end] != .slash, referer[end] != UInt8(ascii: "?") {
      end += 1
    }
    return !matches(referer.extracting(start..<end), host)
  }

  /// Whether `://` is at an index.
  private static func isMark(_ text: Span<UInt8>, at index: Int) -> Bool {
    text[index] == .colon && text[index + 1] == .slash && text[index + 2] == .slash
  }

  @_lifetime(copy host)
  private static func withoutPort(_ host: Span<UInt8>) -> Span<UInt8> {
    var end = host.count
    while end > 0, host[end - 1].isDigit { end -= 1 }
    guard end > 0, host[end - 1] == .colon else { return host }
    return host.extracting(0..<end - 1)
  }

  /// Whether a name has only digits and dots: no other name ends with a number (RFC 3986 and the
  /// URL standard read it as an address).
  private static func isIPv4(_ name: Span<UInt8>) -> Bool {
    for index in name.indices where !name[index].isDigit && name[index] != .dot { return false }
    return name.count > 0
  }

  private static func matches(_ name: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
    guard name.count == other.count else { return false }
    for index in name.indices where folded(name[index]) != folded(other[index]) { return false }
    return true
  }

  private static func folded(_ byte: UInt8) -> UInt8 {
    UInt8.capitals.contains(byte) ? byte | 0x20 : byte
  }
}
