import TinyPush

/// A host and a port in the form of getaddrinfo.
struct HostPort: ~Copyable {
  let host: CString
  let port: CString

  /// Splits an address.
  ///
  /// - Parameters:
  ///   - address: `HOST` or `HOST:PORT`, the latter with brackets if the host has colons.
  ///   - port: the default port.
  init(_ address: Span<UInt8>, port standard: StaticString) {
    var end = address.count
    var colon = -1
    for index in address.indices where address[index] == .colon { colon = index }
    let isBracketed = address.count > 1 && address[0] == .openBracket
    if colon > 0, !isBracketed || address[colon - 1] == .closeBracket { end = colon }
    let from = isBracketed && address[end - 1] == .closeBracket ? 1 : 0
    host = CString(address.extracting(from..<end - from))
    port =
      end < address.count ? CString(address.extracting(end + 1..<address.count)) : CString(standard)
  }

  deinit {}

  var isEmpty: Bool { host.isEmpty }

  /// Appends the address as people write it, with brackets around an IPv6 address.
  @inline(never)
  func append(to text: inout Text) {
    let bytes = host.span
    var isAddress = false
    for index in bytes.indices where bytes[index] == .colon { isAddress = true }
    if isAddress { text.append("[") }
    text.append(printable: bytes)
    if isAddress { text.append("]") }
    text.append(":", printable: port.span)
  }
}
