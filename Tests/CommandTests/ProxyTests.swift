import Foundation
import Testing

/// An HTTP proxy for CONNECT (Tests/Tools/connectproxy.py).
struct ConnectProxy {
  let port: Int
  private let record: String

  init(in box: Box, _ script: [String] = [], name: String = "proxy") throws {
    record = "\(box.path)/\(name)"
    port = try Peer.port(
      box.start(["python3", Build.tools + "/connectproxy.py", "--record", record] + script))
  }

  /// Returns the request lines, without the protocol version.
  func requests() throws -> [String] {
    let text = String(
      decoding: try Data(contentsOf: URL(filePath: record + "/events")), as: UTF8.self)
    return try objects(soFar: text).map {
      try $0.member("request", as: String.self).replacing(" HTTP/1.1", with: "")
    }
  }
}

/// Connections through an HTTP proxy.
@Suite(.sideBySide) struct ProxyTests {
  private static let secret = "s%cr@t: x"

  private func setting(_ proxy: ConnectProxy, login: String = "") -> String {
    "proxy=http://\(login)localhost:\(proxy.port)"
  }

  // MARK: - Connections

  @Test(arguments: Build.all)
  func `the binary protocol goes through a proxy`(build: String) throws {
    let gateway = try Gateway(in: box)
    let proxy = try ConnectProxy(in: box, ["--login", "me:" + Self.secret])
    let login = "me:s%25cr%40t%3a%20x@"
    try box.drop((1...500).map { line($0, "Tank \($0)") }.joined(), as: "many")
    // A handshake that takes longer begins again.
    let settings = [setting(proxy, login: login), "connect-timeout=10m"]
    let done = try box.deliver(gateway, build: build, settings)
    #expect(done.status == 0, "\(done.errors)")
    #expect(!done.errors.contains("s%"))
    try gateway.readsAll()
    #expect(try gateway.alerts(in: box) == (1...500).map { "Tank \($0)" })
    #expect(try proxy.requests() == ["CONNECT localhost:\(gateway.port)"])
  }

  @Test(arguments: [1, 2, 1 << 20])
  func `HTTP/2 goes through a proxy whose answer arrives in pieces of any size`(piece: Int) throws {
    let gateway = try HTTP2Gateway(in: box)
    let answer = #"HTTP/1.0 100 Wait\n\nHTTP/1.1 200 OK\r\nProxy-agent: test\r\n\r\n"#
    let proxy = try ConnectProxy(in: box, ["--answer", answer, "--piece", "\(piece)"])
    try box.drop(line(1, "through"), as: "1")
    let done = try box.run(
      Build.command(Build.host) + ["run", "--once"]
        + box.settings(gateway.port, ["protocol=http2", setting(proxy)]))
    #expect(done.status == 0, "\(done.errors)")
    #expect(try gateway.alerts() == ["through"])
    #expect(try proxy.requests() == ["CONNECT localhost:\(gateway.port)"])
  }

  @Test func `the proxy resolves the gateway's name, and the certificate must be for that name`()
    throws
  {
    let right = try Gateway(in: box, certificate: "server-wrong-host")
    let wrong = try Gateway(in: box, name: "wrong")
    let proxy = try ConnectProxy(in: box)
    for (gateway, status) in [(right, Int32(0)), (wrong, 75)] {
      try box.drop(line(1, "elsewhere"), as: "1")
      let done = try box.deliver(
        gateway, ["gateway=elsewhere.example:\(gateway.port)", setting(proxy)])
      #expect(done.status == status, "\(done.errors)")
      #expect(try proxy.requests().last == "CONNECT elsewhere.example:\(gateway.port)")
    }
    #expect(try right.alerts(in: box) == ["elsewhere"])
    #expect(try wrong.events("open").isEmpty)
  }

  @Test func `an agent reconnects through the proxy`() throws {
    let gateway = try Gateway(in: box, ["--close-after", "1", "--first", "1"])
    let proxy = try ConnectProxy(in: box)
    _ = try box.agent(gateway, [setting(proxy), "settle=300ms"])
    for number in 1...2 {
      try box.drop(line(number, "hello \(number)"), as: "\(number)")
      try gateway.accepts("hello \(number)")
    }
    #expect(try proxy.requests().count >= 2)
  }

  @Test func `feedback goes through the proxy`() throws {
    let service = try FeedbackService(in: box, ["--tuples", "3"])
    let proxy = try ConnectProxy(in: box)
    let asked = try box.run(
      Build.command(Build.host) + ["feedback"]
        + box.settings(1, ["feedback=localhost:\(service.port)", setting(proxy)]))
    #expect(asked.status == 0, "\(asked.errors)")
    #expect(asked.output.contains("3 devices are gone"))
    #expect(try proxy.requests() == ["CONNECT localhost:\(service.port)"])
  }

  @Test func `delivery through tinyproxy works, with a login`() throws {
    let gateway = try Gateway(in: box)
    let port = try box.port()
    let config = try box.write(
      """
      Port \(port.number)
      Listen 127.0.0.1
      Timeout 60
      LogLevel Connect
      BasicAuth me secret
      ConnectPort \(gateway.port)

      """, to: "tinyproxy.conf")
    let proxy = try box.start(["tinyproxy", "-d", "-c", config])
    let setting = "proxy=http://me:secret@127.0.0.1:\(port.number)"
    try wait(for: "tinyproxy; \(proxy.output)\(proxy.errors)") { port.isOpen }
    try box.drop(line(1, "by tinyproxy"), as: "1")
    let done = try box.deliver(gateway, [setting])
    #expect(done.status == 0, "\(done.errors)")
    #expect(try gateway.alerts(in: box) == ["by tinyproxy"])
    try box.drop(line(2, "to nobody"), as: "2")
    let refused = try box.deliver(gateway, [setting.replacing("secret", with: "wrong")])
    #expect(refused.status == 78, "\(refused.errors)")
    let closed = try box.deliver(gateway, [setting, "gateway=localhost:1"])
    #expect(closed.status == 75)
    #expect(closed.errors.contains("(status 403)"), "\(closed.errors)")
  }

  // MARK: - Refusals

  struct Refusal: Sendable, CustomTestStringConvertible {
    var script: [String]
    var login = ""
    var status: Int32 = 75
    var words: String
    var advice: String
    var testDescription: String { script.joined(separator: " ") }
  }

  private static func answer(_ text: String, _ words: String, _ advice: String) -> Refusal {
    Refusal(script: ["--answer", text], words: words, advice: advice)
  }

  static let refusals = [
    Refusal(
      script: ["--login", "me:secret"], status: 78,
      words: "requires a user and a password (status 407)",
      advice: "Set proxy = http://USER:PASSWORD@HOST:PORT."),
    Refusal(
      script: ["--login", "me:secret"], login: "me:Secret@", status: 78,
      words: "refuses the user and the password (status 407)",
      advice: "Correct them in proxy; the proxy must accept Basic authentication."),
    answer(
      #"HTTP/1.1 403 <b>\x1b[2J\r\nX: y\r\n\r\n"#, "refuses a tunnel to GATEWAY (status 403)",
      "Its administrator must allow CONNECT to this host and port."),
    answer(
      #"HTTP/1.1 405 Not here\r\n\r\n"#, "refuses a tunnel to GATEWAY (status 405)",
      "Is it a proxy that accepts CONNECT, and is the port right?"),
    answer(
      #"HTTP/1.1 502 Bad Gateway\r\n\r\n"#, "cannot reach GATEWAY (status 502)",
      "Can it look up that name, and does a firewall let it through?"),
    answer(
      #"HTTP/1.1 302 Portal\r\nLocation: http://portal\r\n\r\n"#,
      "refuses a tunnel to GATEWAY (status 302)", "Its log says why."),
    answer(
      #"\x15\x03\x03\x00\x02\x02\x16"#,
      "sent an answer that is not HTTP, or more than 8 KB of headers",
      "Are its host and port right?"),
    Refusal(
      script: ["--endless"], words: "sent an answer that is not HTTP, or more than 8 KB of headers",
      advice: "Are its host and port right?"),
    Refusal(
      script: ["--close"], words: "closed the connection without an answer",
      advice: "Its log says why; are its host and port right?"),
    answer(
      #"HTTP/1.1 40"#, "closed the connection without an answer",
      "Its log says why; are its host and port right?"),
  ]

  @Test(arguments: refusals)
  func `a proxy's refusal is reported with its address, its status and the remedy`(
    row: Refusal
  ) throws {
    let gateway = try Gateway(in: box)
    let proxy = try ConnectProxy(in: box, row.script)
    let settings = [setting(proxy, login: row.login), "connect-timeout=10m"]
    let words = row.words.replacing("GATEWAY", with: "localhost:\(gateway.port)")
    try box.drop(line(1), as: "1")
    let done = try box.deliver(gateway, settings)
    #expect(done.status == row.status, "\(done.errors)")
    let said = "the proxy localhost:\(proxy.port) \(words). \(row.advice)"
    #expect(done.errors.contains(said), "\(done.errors)")
    #expect(!done.errors.contains("Secret"))
    #expect(box.queued == ["1"])

    let asked = try box.run(
      Build.command(Build.host) + ["feedback"]
        + box.settings(1, ["feedback=localhost:\(gateway.port)"] + settings))
    #expect(asked.status == (row.status == 78 ? 78 : 69))
    #expect(asked.errors.contains(said), "\(asked.errors)")

    let checkup = try box.checkup(gateway.port, settings)
    #expect(checkup.status == (row.status == 78 ? 78 : 69))
    #expect(checkup["gateway.proxy"].state == "error")
    #expect(checkup["gateway.proxy"].message == "the proxy localhost:\(proxy.port) \(words)")
    #expect(checkup["gateway.proxy"].advice == row.advice)
    #expect(checkup["gateway.handshake"].state == "skipped")
    #expect(checkup["feedback.proxy"].state == "warning")
    #expect(try gateway.events("open").isEmpty)
  }

  @Test func `connect-timeout limits the wait for a silent proxy`() throws {
    let gateway = try Gateway(in: box)
    let proxy = try ConnectProxy(in: box, ["--silent"])
    try box.drop(line(1), as: "1")
    let done = try box.deliver(gateway, [setting(proxy), "connect-timeout=1s"])
    #expect(done.status == 75)
    #expect(done.errors.contains("proxy localhost:\(proxy.port): Connection timed out"))
  }

  @Test func `the log tells a proxy that is not there from a gateway that is not there`() throws {
    let gateway = try Gateway(in: box)
    try box.drop(line(1), as: "1")
    let done = try box.deliver(gateway, ["proxy=http://localhost:1"])
    #expect(done.status == 75)
    #expect(
      done.errors.contains("proxy localhost:1: Connection refused: nothing listens there"),
      "\(done.errors)")
    let unknown = try box.deliver(gateway, ["proxy=http://proxy.invalid:1"])
    #expect(unknown.errors.contains("proxy proxy.invalid: "), "\(unknown.errors)")
  }

  // MARK: - Check

  @Test func `check goes through the proxy and shows no password`() throws {
    let gateway = try Gateway(in: box)
    let proxy = try ConnectProxy(in: box, ["--login", "me:Secret"])
    let checkup = try box.checkup(gateway.port, [setting(proxy, login: "me:Secret@")])
    #expect(checkup.status == 0)
    #expect(
      checkup["config.environment"].message.hasSuffix(", through the proxy localhost:\(proxy.port)")
    )
    #expect(checkup["gateway.name"].message == "proxy localhost, port \(proxy.port)")
    #expect(
      checkup["gateway.proxy"].message.hasPrefix(
        "opens a tunnel to localhost, port \(gateway.port), in "))
    #expect(checkup["gateway.answer"].state == "ok")
    #expect(checkup["feedback.proxy"].state == "ok")
    let target = "CONNECT localhost:\(gateway.port)"
    #expect(try proxy.requests() == [target, target])
    let shown = try box.run(
      Build.command(Build.host) + ["check"]
        + box.wellSettings(gateway.port, [setting(proxy, login: "me:Secret@")]))
    #expect(!(shown.output + shown.errors).contains("Secret"))
  }

  @Test func `check warns of a proxy password that anybody may read`() throws {
    let config = try box.write(
      "proxy = http://me:Secret@localhost:1\nenvironment = local\n", to: "tinypush.conf")
    for (mode, state) in [(mode_t(0o644), "warning"), (0o640, "ok")] {
      chmod(config, mode)
      let child = try box.run(
        Build.command(Build.host) + ["check", "--json", "--config", config]
          + ["-o", "spool=" + box.spool, "-o", "state=" + box.state])
      let checkup = try Checkup(child)
      #expect(checkup["config.file"].state == state)
      #expect(!child.output.contains("Secret"))
      guard state == "warning" else { continue }
      #expect(
        checkup["config.file"].message
          == "\(config), in which anybody may read the password of the proxy")
      #expect(
        checkup["config.file"].advice
          == "let only root and the agent read it: chgrp tinypush-agent \(config) && chmod 640 \(config)"
      )
    }
  }
}
