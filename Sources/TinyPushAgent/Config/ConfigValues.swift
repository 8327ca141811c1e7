import CLinux
import TinyPush

/// The kinds of values.
extension Config {
  @inline(never)
  package static func path(_ value: Span<UInt8>) throws(Problem) -> CString {
    guard value.count > 0, value.count < 4096 else { throw .value("a path") }
    return CString(value)
  }

  /// Reads the path of a credential or another file.
  ///
  /// A relative path names a credential of the service if there is one, and else starts from the
  /// directory of the configuration file. systemd names a credential from a directory `ID_FILE`,
  /// with an underscore for the slash of the path.
  @inline(never)
  package func credential(_ value: Span<UInt8>) throws(Problem) -> CString {
    let given = try Self.path(value)
    guard value[0] != .slash else { return given }
    var path = Text(capacity: 8192)
    if let directory = EnvironmentVariable.credentials.pointer {
      path.append(cString: directory)
      path.append("/")
      for index in value.indices {
        path.append(byte: value[index] == .slash ? .underscore : value[index])
      }
      if path.withCString({ access($0, F_OK) }) == 0 { return path.cString() }
      path.clear()
    }
    path.append(bytes: directory.span)
    path.append(bytes: value)
    return path.cString()
  }

  /// Reads `HOST` or `HOST:PORT`, with brackets around an address that contains colons.
  @inline(never)
  package static func address(_ value: Span<UInt8>) throws(Problem) -> CString {
    var host = value.count
    var colons = 0
    var isPlain = true
    for index in value.indices {
      if value[index] <= .space || value[index] == .delete { isPlain = false }
      if value[index] == .closeBracket { colons = 0 }
      guard value[index] == .colon else { continue }
      colons += 1
      host = index
    }
    let isBare = colons == 0
    if isBare { host = value.count }
    let port = isBare ? 1 : number(value.extracting(host + 1..<value.count)) ?? 0
    guard isPlain, host > 0, value.count < 260, colons < 2, port > 0, port < 65_536 else {
      throw .value("HOST or HOST:PORT, the port from 1 to 65535, an IPv6 address in brackets")
    }
    return CString(value)
  }

  /// Sets the proxy, and keeps only the host and the port; an empty value means no proxy.
  mutating func setProxy(_ value: Span<UInt8>) throws(Problem) {
    let none = ("" as StaticString).span
    guard value.count > 0 else {
      proxy = CString("")
      return try proxyLogin.set(none, file: file)
    }
    guard let setting = ProxySetting(value),
      let address = try? Self.address(value.extracting(setting.address))
    else {
      throw .value("http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, with %25 for a % in these")
    }
    proxy = address
    try proxyLogin.set(setting.login.isEmpty ? none : value, file: file)
  }

  /// Reads the ID of a signing key or a team.
  @inline(never)
  static func appleID(_ value: Span<UInt8>) throws(Problem) -> CString {
    var isPlain = value.count == 10
    for index in value.indices where !value[index].isLetterOrDigit { isPlain = false }
    guard isPlain else { throw .value("the 10 letters and digits that Apple assigned") }
    return CString(value)
  }

  /// Reads the bundle ID of an app, which becomes the value of a header.
  static func topic(_ value: Span<UInt8>) throws(Problem) -> CString {
    var isPlain = value.count > 0 && value.count < 128
    for index in value.indices {
      let byte = value[index]
      if !byte.isLetterOrDigit, byte != .dot, byte != .hyphen, byte != .underscore {
        isPlain = false
      }
    }
    guard isPlain else {
      throw .value("the bundle ID of an app, such as com.example.app")
    }
    return CString(value)
  }

  /// The most bytes of a key with which alerts are encrypted.
  static let sealKeyBytesMax = 32

  /// Whether a text is a key of AES.
  static func isSealKey(_ value: Span<UInt8>) -> Bool {
    guard value.count == 16 || value.count == 24 || value.count == sealKeyBytesMax else {
      return false
    }
    for index in value.indices where value[index] < .space || value[index] >= .delete {
      return false
    }
    return true
  }

  /// Reads a whole number in decimal digits; nil for anything else.
  @inline(never)
  public static func number(_ value: Span<UInt8>) -> UInt64? {
    value.count <= 15 ? value.wholeNumber : nil
  }

  /// Reads a number of bytes: `64`, `16K`, `4M`; nil for anything else or if it is too large.
  @inline(never)
  public static func size(_ value: Span<UInt8>) -> UInt64? {
    guard value.count > 1 else { return number(value) }
    let scale: UInt64
    switch value[value.count - 1] {
    case UInt8(ascii: "K"), UInt8(ascii: "k"): scale = 1024
    case UInt8(ascii: "M"), UInt8(ascii: "m"): scale = 1_048_576
    default: return number(value)
    }
    guard let number = number(value.extracting(0..<value.count - 1)) else { return nil }
    let bytes = number.multipliedReportingOverflow(by: scale)
    return bytes.overflow ? nil : bytes.partialValue
  }

  /// Returns the number of a value among words with `|` between them.
  @inline(never)
  package static func choice(
    _ value: Span<UInt8>, _ words: StaticString
  ) throws(Problem) -> Int {
    let text = words.span
    var (number, start) = (0, 0)
    for end in 0...text.count where end == text.count || text[end] == .bar {
      if text.extracting(start..<end).equals(value) { return number }
      (number, start) = (number + 1, end + 1)
    }
    throw .choice(words)
  }

  /// Returns a number if it is in a range.
  @inline(never)
  static func count(
    _ number: UInt64?, _ range: ClosedRange<UInt64>, _ expected: StaticString
  ) throws(Problem) -> UInt64 {
    guard let number, range.contains(number) else { throw .value(expected) }
    return number
  }

  /// Reads a duration: `20ms`, `10s`, `5m`, `2h`, `1d`.
  ///
  /// - Parameter least: the smallest duration: 0, 100, 1000, 5000 or 60,000 ms.
  @inline(never)
  package static func duration(
    _ value: Span<UInt8>, min least: UInt64 = 0, max: UInt64
  ) throws(Problem) -> Duration {
    var digits = 0
    while digits < value.count, value[digits].isDigit { digits += 1 }
    let unit = value.extracting(digits..<value.count)
    let units: WordList = "ms s m h d"
    let scales: InlineArray<5, UInt64> = [1, 1000, 60_000, 3_600_000, 86_400_000]
    guard let scale = units.index(of: unit).map({ scales[$0] }),
      let number = number(value.extracting(0..<digits)), number <= max / scale
    else {
      throw .value("a time with its unit, such as 20ms, 10s, 5m, 2h or 1d, and not too long")
    }
    guard number * scale >= least else {
      switch least {
      case 100: throw .value("at least 100ms")
      case 1000: throw .value("at least 1s")
      case 5000: throw .value("at least 5s")
      default: throw .value("at least 1m")
      }
    }
    return .milliseconds(number * scale)
  }

  /// Returns a value without the quotes around it.
  @_lifetime(copy value)
  package static func unquoted(_ value: Span<UInt8>) -> Span<UInt8> {
    let isQuoted = value.count > 1 && value[0] == .quote && value[value.count - 1] == .quote
    return isQuoted ? value.extracting(1..<value.count - 1) : value
  }

  /// Reads a limit such as `20/10m`, a number of alerts per period; nil for `off`.
  @inline(never)
  static func rateLimit(_ value: Span<UInt8>) throws(Problem) -> RateLimit? {
    if value.equals("off") { return nil }
    var digits = 0
    while digits < value.count, value[digits].isDigit { digits += 1 }
    if digits < value.count, value[digits] == .slash,
      let count = number(value.extracting(0..<digits)), count >= 1, count <= RateLimit.countMax,
      let period = try? duration(
        value.extracting(digits + 1..<value.count), max: RateLimit.periodMax.milliseconds),
      period >= .seconds(1)
    {
      return RateLimit(count: UInt32(count), period: period)
    }
    throw .value(
      "a number of alerts from 1 to 10000 and a time from 1s to 1d, such as 20/10m, or off")
  }

  /// Reads a time to live: `30s`, `10m`, `1d`.
  public static func lifetime(_ value: Span<UInt8>) throws(Problem) -> Duration {
    try duration(value, max: 4_000_000_000_000)
  }
}

extension UInt8 {
  fileprivate var isLetterOrDigit: Bool {
    isDigit || UInt8.capitals.contains(self) || UInt8.smallLetters.contains(self)
  }
}
