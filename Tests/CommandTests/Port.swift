import Foundation

/// A TCP port of 127.0.0.1 that belongs to a test until the test's box ends.
///
/// A socket is bound to the port, and never listens. So the kernel gives the port to nobody else,
/// connections are refused while no server listens there, and servers that set SO_REUSEADDR can
/// listen there one after the other.
final class Port {
  let number: Int
  private let descriptor: Int32

  init() throws {
    let holder = makeSocket(AF_INET, SOCK_STREAM)
    var isShared: Int32 = 1
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    var found = Self.address(0)
    let isBound =
      setsockopt(holder, SOL_SOCKET, SO_REUSEADDR, &isShared, 4) == 0 && call(bind, holder, found)
      && withUnsafeMutableBytes(of: &found) {
        getsockname(holder, $0.bindMemory(to: sockaddr.self).baseAddress, &size) == 0
      }
    descriptor = holder
    number = Int(in_port_t(bigEndian: found.sin_port))
    guard isBound else { throw Failure("no free port: errno \(errno)") }
  }

  deinit { close(descriptor) }

  /// Whether a server listens.
  var isOpen: Bool {
    let client = makeSocket(AF_INET, SOCK_STREAM)
    defer { close(client) }
    return call(connect, client, Self.address(number))
  }

  private static func address(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}

/// The address of a UNIX socket.
func socketAddress(_ path: String) -> sockaddr_un {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
  return address
}

/// Makes a socket that children do not inherit.
func makeSocket(_ family: Int32, _ type: __socket_type) -> Int32 {
  socket(family, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
}

/// Calls `bind` or `connect`, and returns whether it succeeds.
func call<Address>(
  _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32, _ descriptor: Int32,
  _ address: Address
) -> Bool {
  withUnsafeBytes(of: address) {
    function(descriptor, $0.bindMemory(to: sockaddr.self).baseAddress, socklen_t($0.count)) == 0
  }
}
