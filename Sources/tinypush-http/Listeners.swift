import CLinux
import TinyPush
import TinyPushAgent

/// The sockets that requests come from: those that systemd passes, or those of `--listen`.
struct Listeners: ~Copyable {
  static var countMax: Int { 8 }
  /// The first descriptor that systemd passes (sd_listen_fds(3)).
  private static var firstPassed: Int32 { 3 }
  /// The connections that wait to be accepted: a local socket refuses those beyond.
  private static var backlog: Int32 { 128 }
  private static var port: UInt16 { 8077 }

  private var descriptors: InlineArray<8, Int32> = .init(repeating: -1)
  private(set) var count = 0
  /// Whether systemd keeps the sockets, so that the service can end without losing a request.
  private(set) var isPassed = false
  /// Whether other machines can reach one of the sockets.
  private(set) var isReachable = false

  init() {}

  deinit { for index in 0..<count { close(descriptors[index]) } }

  subscript(index: Int) -> Int32 { descriptors[index] }

  /// Whether a listener is a UNIX socket.
  func isUNIX(_ index: Int) -> Bool {
    var family: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptors[index], SOL_SOCKET, SO_DOMAIN, &family, &size) == 0
      && family == AF_UNIX
  }

  /// Listens on an address of `--listen`.
  ///
  /// - Parameter problem: on failure, what is wrong.
  mutating func add(_ address: Span<UInt8>, _ problem: inout Text) -> Bool {
    var descriptor = -EINVAL
    if count == Self.countMax {
      descriptor = -E2BIG
    } else if address.count > 0, address[0] == .slash {
      descriptor = Self.listen(path: address)
    } else if let colon = Self.lastColon(in: address),
      let port = Config.number(address.extracting(colon + 1..<address.count)),
      port <= UInt64(UInt16.max)
    {
      var host = address.extracting(0..<colon)
      if host.count > 1, host[0] == .openBracket, host[host.count - 1] == .closeBracket {
        host = host.extracting(1..<host.count - 1)
      }
      let text = CString(host)
      descriptor = clinux_listen_address(text.pointer, UInt16(port), Self.backlog)
    }
    guard descriptor >= 0 else {
      problem.append("cannot listen on ", printable: address, ": ")
      if descriptor == -EINVAL {
        problem.append("give HOST:PORT with a numeric host, such as 127.0.0.1:8077, or a path")
        problem.append(" that begins with /")
      } else {
        problem.append(cString: clinux_error_text(-descriptor))
      }
      return false
    }
    append(descriptor)
    return true
  }

  /// Listens on a UNIX socket; returns a descriptor or -errno.
  private static func listen(path: Span<UInt8>) -> Int32 {
    var slash = path.count - 1
    while path[slash] != .slash { slash -= 1 }
    guard slash + 1 < path.count else { return -EISDIR }
    let parent = CString(path.extracting(0..<slash + 1))
    let name = CString(path.extracting(slash + 1..<path.count))
    let directory = clinux_open(AT_FDCWD, parent.pointer, O_RDONLY | O_DIRECTORY, 0)
    guard directory >= 0 else { return directory }
    defer { close(directory) }
    return clinux_listen_local(directory, name.pointer, backlog)
  }

  /// Takes systemd's sockets if there are no others, or else listens on the loopback addresses.
  mutating func complete(_ problem: inout Text) -> Bool {
    guard count == 0 else { return true }
    let passed = Self.passedCount()
    guard passed > 0 else { return listenOnLoopback(&problem) }
    guard passed <= Self.countMax else {
      problem.append("too many sockets: at most ", Self.countMax, " are possible")
      return false
    }
    isPassed = true
    for index in 0..<passed {
      let descriptor = Self.firstPassed + Int32(index)
      guard clinux_is_reachable(descriptor) >= 0 else {
        problem.append("the sockets must be streams that listen: ListenStream= with Accept=no")
        return false
      }
      clinux_adopt(descriptor)
      append(descriptor)
    }
    return true
  }

  private mutating func listenOnLoopback(_ problem: inout Text) -> Bool {
    guard add(("127.0.0.1:8077" as StaticString).span, &problem) else { return false }
    // A machine may be without IPv6.
    let descriptor = clinux_listen_address(
      ("::1" as StaticString).cString, Self.port, Self.backlog)
    if descriptor >= 0 { append(descriptor) }
    return true
  }

  private mutating func append(_ descriptor: Int32) {
    descriptors[count] = descriptor
    count += 1
    if clinux_is_reachable(descriptor) != 0 { isReachable = true }
  }

  /// Returns the number of sockets that systemd has passed to this process.
  private static func passedCount() -> Int {
    guard EnvironmentVariable.listenProcess.number == UInt64(getpid()),
      let number = EnvironmentVariable.listenCount.number
    else { return 0 }
    return Int(clamping: number)
  }

  private static func lastColon(in text: Span<UInt8>) -> Int? {
    var index = text.count
    while index > 0 {
      index -= 1
      if text[index] == .colon { return index }
    }
    return nil
  }
}
