import CLinux
import TinyPush

/// A tunnel through a proxy to a server: the request and the meaning of the answer.
struct ProxyTunnel: ~Copyable {
  enum Progress {
    case waiting
    case open
    /// The proxy ended the connection without an answer; another address may be another machine.
    case ended
    /// The proxy does not open the tunnel.
    case refused
  }

  /// The size of a request with the longest host, and the longest user and password in base64.
  private static let requestBytesMax = 4096

  private var answer = ProxyAnswer()
  private var hasLogin = false
  /// The status of a proxy that refuses; 0 for none.
  private(set) var status = 0

  /// Whether the setting `proxy` must be corrected.
  var isOurFault: Bool { Self.isLoginRefused(status) }
  /// Whether the proxy may work at another address.
  var isProxyBroken: Bool { status >= 500 }

  deinit {}

  /// Resets the state for another connection.
  mutating func reset() {
    answer = ProxyAnswer()
    status = 0
  }

  /// Asks the proxy on a connected socket for a tunnel to the server; returns 0 or an errno.
  mutating func ask(
    _ socket: Int32, server: borrowing HostPort, _ config: borrowing Config
  ) -> Int32 {
    var request = Text(capacity: Self.requestBytesMax)
    request.append("CONNECT ")
    server.append(to: &request)
    request.append(" HTTP/1.1\r\nHost: ")
    server.append(to: &request)
    var login = Text(capacity: Secret.bytesMax)
    config.proxyLogin.with { setting in
      guard let setting, let parts = ProxySetting(CString.span(setting)) else { return }
      let value = CString.span(setting).extracting(parts.login)
      var hasColon = false
      for index in value.indices where value[index] == .colon { hasColon = true }
      _ = ProxySetting.decode(value) { login.append(byte: $0) }
      if !hasColon, login.count > 0 { login.append(":") }
    }
    hasLogin = login.count > 0
    if hasLogin {
      request.append("\r\nProxy-Authorization: Basic ")
      request.append(base64: login.bytes)
    }
    request.append("\r\n\r\n")
    // The buffer of a new socket has room for the whole request.
    let error = request.bytes.withUnsafeBytes { bytes in
      let sent = send(socket, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      return sent == bytes.count ? 0 : sent < 0 ? clinux_errno() : ENOBUFS
    }
    login.wipe()
    request.wipe()
    clinux_wipe_stack()
    return error
  }

  /// Reads the proxy's answer so far, and nothing after its headers.
  mutating func readAnswer(_ socket: Int32) -> (progress: Progress, outcome: ProxyAnswer.Outcome?) {
    let room = FixedBuffer<UInt8>(capacity: 512)
    while true {
      let peeked = recv(socket, room.room().baseAddress, room.capacity, Int32(MSG_PEEK))
      if peeked < 0, clinux_errno() == EINTR { continue }
      if peeked < 0, clinux_errno() == EAGAIN { return (.waiting, nil) }
      guard peeked > 0 else { return (.ended, nil) }
      var outcome: ProxyAnswer.Outcome?
      var count = 0
      while outcome == nil, count < peeked {
        outcome = answer.take(room[count])
        count += 1
      }
      guard recv(socket, room.room().baseAddress, count, 0) == count else { return (.ended, nil) }
      guard let outcome else { continue }
      if case .refused(let status) = outcome { self.status = status }
      return (outcome == .open ? .open : .refused, outcome)
    }
  }

  /// Appends why the tunnel is not open, and what to do.
  func explain(
    _ outcome: ProxyAnswer.Outcome?, proxy: borrowing HostPort, server: borrowing HostPort,
    in text: inout Text
  ) {
    text.append("the proxy ")
    proxy.append(to: &text)
    switch outcome {
    case nil, .open:
      text.append(
        " closed the connection without an answer. Its log says why; are its host and port right?")
    case .garbage:
      text.append(
        " sent an answer that is not HTTP, or more than 8 KB of headers. Are its host and port right?"
      )
    case .refused(let status):
      text.append(Self.refusal(status, hasLogin: hasLogin))
      if !Self.isLoginRefused(status) { server.append(to: &text) }
      text.append(" (status ", status)
      text.append("). ", Self.advice(status, hasLogin: hasLogin))
    }
  }

  /// Whether the status refuses the login; some proxies use 401, like a server.
  private static func isLoginRefused(_ status: Int) -> Bool { status == 407 || status == 401 }

  private static func refusal(_ status: Int, hasLogin: Bool) -> StaticString {
    switch status {
    case _ where isLoginRefused(status):
      hasLogin ? " refuses the user and the password" : " requires a user and a password"
    case 500...: " cannot reach "
    default: " refuses a tunnel to "
    }
  }

  private static func advice(_ status: Int, hasLogin: Bool) -> StaticString {
    switch status {
    case _ where isLoginRefused(status):
      hasLogin
        ? "Correct them in proxy; the proxy must accept Basic authentication."
        : "Set proxy = http://USER:PASSWORD@HOST:PORT."
    case 403: "Its administrator must allow CONNECT to this host and port."
    case 400, 404, 405, 501: "Is it a proxy that accepts CONNECT, and is the port right?"
    case 500...: "Can it look up that name, and does a firewall let it through?"
    default: "Its log says why."
    }
  }
}
