import CLinux
import TinyPush

/// The addresses of a host, each dialled at the same time as the others.
final class HostAddresses {
  /// Of more the agent might use one that is not looked at here.
  static let countMax = 8

  struct Address {
    var socket: Int32 = -1
    var isPending = false
    /// Why it cannot be reached.
    var error: Int32 = 0
    var roundTripUs: UInt32 = 0
    var isConnected: Bool { socket >= 0 && !isPending }
  }

  private let found: UnsafeMutablePointer<addrinfo>?
  /// EAI_*; 0: it has some.
  let failure: Int32
  private(set) var count = 0
  private(set) var list: InlineArray<8, Address> = .init(repeating: Address())

  /// Looks the name up.
  init(_ host: UnsafePointer<CChar>, _ port: UnsafePointer<CChar>) {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV
    var found: UnsafeMutablePointer<addrinfo>?
    failure = getaddrinfo(host, port, &hints, &found)
    self.found = failure == 0 ? found : nil
  }

  deinit {
    for index in 0..<count where list[index].socket >= 0 { close(list[index].socket) }
    if let found { freeaddrinfo(found) }
  }

  /// Connects to each, and waits until it is known of every one whether it could be, for so long at most.
  func connect(within limit: Duration) {
    var next = found
    while let address = next, count < Self.countMax {
      next = address.pointee.ai_next
      list[count] = Self.dial(address)
      count += 1
    }
    let deadline = Clock.now() + limit
    while isPending {
      let now = Clock.now()
      guard now < deadline else { break }
      wait(Int32(clamping: now.until(deadline).milliseconds))
    }
    for index in 0..<count where list[index].isPending { fail(index, ETIMEDOUT) }
  }

  private static func dial(_ address: UnsafePointer<addrinfo>) -> Address {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let socket = CLinux.socket(address.pointee.ai_family, kind, 0)
    guard socket >= 0 else { return Address(error: clinux_errno()) }
    guard
      CLinux.connect(socket, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0
        || clinux_errno() == EINPROGRESS
    else {
      let error = clinux_errno()
      close(socket)
      return Address(error: error)
    }
    return Address(socket: socket, isPending: true)
  }

  private var isPending: Bool {
    for index in 0..<count where list[index].isPending { return true }
    return false
  }

  private func wait(_ milliseconds: Int32) {
    var polled: InlineArray<8, pollfd> = .init(repeating: pollfd(fd: -1, events: 0, revents: 0))
    for index in 0..<count where list[index].isPending {
      polled[index] = pollfd(fd: list[index].socket, events: Int16(POLLOUT), revents: 0)
    }
    let number = nfds_t(count)
    var span = polled.mutableSpan
    _ = span.withUnsafeMutableBufferPointer { poll($0.baseAddress, number, milliseconds) }
    for index in 0..<count where polled[index].revents != 0 {
      let error = clinux_socket_error(list[index].socket)
      guard error == 0 else {
        fail(index, error)
        continue
      }
      list[index].isPending = false
      var since: UInt32 = 0
      _ = clinux_tcp_times(list[index].socket, &list[index].roundTripUs, &since)
    }
  }

  private func fail(_ index: Int, _ error: Int32) {
    close(list[index].socket)
    list[index] = Address(error: error)
  }

  /// The first that was reached.
  var firstConnected: Int? {
    for index in 0..<count where list[index].isConnected { return index }
    return nil
  }

  /// Its socket, which is the caller's now.
  func takeSocket(_ index: Int) -> Int32 {
    let socket = list[index].socket
    list[index].socket = -1
    return socket
  }

  /// An address as people write it.
  func describe(_ index: Int, in text: inout Text) {
    var next = found
    for _ in 0..<index { next = next?.pointee.ai_next }
    guard let address = next else { return }
    var words: InlineArray<64, CChar> = .init(repeating: 0)
    var span = words.mutableSpan
    let result = span.withUnsafeMutableBufferPointer {
      getnameinfo(
        address.pointee.ai_addr, address.pointee.ai_addrlen, $0.baseAddress, 64, nil, 0,
        NI_NUMERICHOST)
    }
    guard result == 0 else { return }
    for index in words.indices {
      guard words[index] != 0 else { return }
      text.append(byte: UInt8(bitPattern: words[index]))
    }
  }
}
