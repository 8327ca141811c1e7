import Foundation
import Testing

/// The sandbox's devices: their tokens, stored notifications and feedback.
@Suite(.sideBySide) struct DeviceTests {
  /// Sends frames, and waits until the gateway has processed the last of them.
  private func send(_ frames: [String], to sandbox: Sandbox, in box: Box) throws {
    let before = try sandbox.events("closed").count
    // The refusal of the last frame proves that the gateway accepted all before it.
    let client = try sandbox.client(box, frames + [frame(token: "00", identifier: 99)])
    #expect(try client.wait() == 0, "\(client.errors)")
    #expect(client.output == "connected\n080500000063\n")
    try wait(for: "the end") { try sandbox.events("closed").count > before }
  }

  private let soon = Int(Date.now.timeIntervalSince1970) + 3600

  // MARK: - Tokens

  enum Token: CaseIterable, Sendable {
    case otherApp, otherSandbox, madeUp, changed
  }

  @Test(arguments: Token.allCases)
  func `the sandbox refuses a foreign token as invalid and says why`(kind: Token) throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let own = try sandbox.token(box, "token", "phone")
    let (token, words) =
      switch kind {
      case .otherApp:
        try (
          sandbox.token(box, "add", "phone", "--topic", "com.example.mail"),
          "belongs to another app"
        )
      case .otherSandbox: try (tokenOfAnother(in: box), "this sandbox has not issued")
      case .madeUp: (CommandTests.token(7), "this sandbox has not issued")
      case .changed:
        (own.dropLast() + (own.hasSuffix("0") ? "1" : "0"), "this sandbox has not issued")
      }
    let frames = [
      frame(token: own, identifier: 1), frame(token: token, identifier: 2),
      frame(token: own, identifier: 3),
    ]
    let client = try sandbox.client(box, frames)
    #expect(try client.wait() == 0, "\(client.errors)")
    #expect(client.output == "connected\n080800000002\n")
    #expect(try sandbox.child.terminate() == 0)
    let refused = try sandbox.events("refused")
    #expect(refused.count == 1)
    #expect(refused.first?["status"] as? Int == 8)
    let text = refused.first?["text"] as? String ?? ""
    #expect(text.contains(words), "\(text)")
    #expect(refused.first?["token"] as? String == token)
    try #expect(sandbox.story("delivered") == ["delivered phone 1"])
  }

  private func tokenOfAnother(in box: Box) throws -> String {
    let child = try box.start(
      Build.command(Build.host) + ["sandbox", "--json", "--dir", "other", "--port", "0"])
    try child.line(#""event":"listening""#)
    let printed = try box.tinypush("sandbox", "device", "token", "phone", "--dir", "other")
    #expect(try child.terminate() == 0)
    return String(printed.output.dropLast())
  }

  @Test func `a device of version 0.2.0 gets a token, and stays as it is`() throws {
    try box.write(
      "identifier 0123456789abcdef\nonline no\n", to: "sandbox/devices/pad/device")
    try box.write(
      "installed yes\nregistered 1700000000\nlisted no\ngone 0\nbadge 3\n",
      to: "sandbox/devices/pad/com.example.tinypush/app")
    let first = try Sandbox(in: box, hasDevices: true)
    let token = try first.token(box, "token", "pad")
    let listed = try objects(first.device(box, "list", "--json").output)
    #expect(listed.map { $0["device"] as? String } == ["pad"])
    #expect(listed.first?["online"] as? Bool == false)
    #expect(try first.child.terminate() == 0)
    let second = try Sandbox(in: box, hasDevices: true)
    #expect(try second.token(box, "token", "pad") == token)
  }

  @Test func `a message without a recipient goes to the device made at the first start`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let sent = try box.tinypush("send", "Tank low", "--config", sandbox.config)
    #expect(sent.status == 0, "\(sent.errors)")
    let agent = try box.tinypush("run", "--once", "--config", sandbox.config)
    #expect(agent.status == 0, "\(agent.errors)")
    #expect(try sandbox.child.terminate() == 0)
    let delivered = try sandbox.events("delivered")
    #expect(delivered.map { $0["device"] as? String } == ["phone"])
    #expect(delivered.first?["topic"] as? String == "com.example.tinypush")
    let late = try #require(delivered.first?["late"] as? Double)
    #expect(late >= 0)
  }

  // MARK: - Store and forward

  @Test func `the sandbox keeps the newest notification of each app for an offline device`() throws
  {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try box.makeCertificate("mail", topic: "com.example.mail", in: sandbox)
    let phone = try sandbox.token(box, "token", "phone")
    let pad = try sandbox.token(box, "add", "pad")
    let mail = try sandbox.token(box, "add", "phone", "--topic", "com.example.mail")
    #expect(try sandbox.device(box, "offline", "phone").status == 0)
    try send(
      [
        frame(token: phone, identifier: 1, expiration: soon),
        frame(token: phone, identifier: 2, expiration: soon),
        frame(token: phone, identifier: 3, expiration: 0),
        frame(token: pad, identifier: 4, expiration: 0),
        frame(
          token: phone, payload: #"{"aps":{"content-available":1}}"#, identifier: 5, priority: 5),
      ], to: sandbox, in: box)
    let client = try sandbox.client(
      box, [frame(token: mail, identifier: 6, expiration: soon), frame(token: "00")],
      certificate: "mail")
    #expect(try client.wait() == 0, "\(client.errors)")
    try #expect(
      sandbox.story("stored", "replaced", "expired", "delivered") == [
        "stored phone 1", "replaced phone 1", "stored phone 2", "expired phone 3",
        "delivered pad 4", "replaced phone 2", "stored phone 5", "stored phone 6",
      ])
    #expect(try sandbox.device(box, "online", "phone").status == 0)
    #expect(try sandbox.device(box, "offline", "phone").status == 0)
    #expect(try sandbox.device(box, "online", "phone").status == 0)
    #expect(try sandbox.child.terminate() == 0)
    let delivered = try sandbox.events("delivered").dropFirst()
    #expect(Set(delivered.map { $0["identifier"] as? Int }) == [5, 6], "each once")
    #expect(delivered.count == 2)
    #expect(delivered.allSatisfy { ($0["late"] as? Double ?? 0) > 0 })
    let sums = try #require(sandbox.events("stopped").first)
    #expect(sums["accepted"] as? Int == 6)
    #expect(sums["delivered"] as? Int == 3)
    #expect(sums["stored"] as? Int == 4)
    #expect(sums["dropped"] as? Int == 3)
  }

  @Test func `the sandbox drops a stored notification when it expires, without feedback`() throws {
    let clocks = try Clocks(in: box, [.wall])
    let now = Int(Date.now.timeIntervalSince1970)
    try clocks.set(.wall, to: now)
    let sandbox = try Sandbox(in: box, hasDevices: true, environment: clocks.environment)
    let phone = try sandbox.token(box, "token", "phone")
    try sandbox.device(box, "offline", "phone")
    try send([frame(token: phone, identifier: 1, expiration: now + 2)], to: sandbox, in: box)
    try sandbox.child.line(#""event":"stored""#)
    try clocks.set(.wall, to: now + 2)
    try clocks.announceChange()
    let expired = try objects(sandbox.child.line(#""event":"expired""#)).at(0)
    #expect(expired["identifier"] as? Int == 1)
    #expect(expired["time"] as? Double ?? 0 >= Double(now + 2))
    try sandbox.device(box, "online", "phone")
    try #expect(sandbox.readFeedback(box).isEmpty)
    // A notification that expired long ago is still delivered to an online device.
    try send([frame(token: phone, identifier: 2, expiration: 1000)], to: sandbox, in: box)
    #expect(try sandbox.child.terminate() == 0)
    try #expect(sandbox.story("delivered") == ["delivered phone 2"])
  }

  @Test func `devices and their stored notifications survive a restart of the sandbox`() throws {
    let first = try Sandbox(in: box, hasDevices: true)
    let phone = try first.token(box, "token", "phone")
    let pad = try first.token(box, "add", "pad")
    try first.device(box, "add", "pad", "--topic", "com.example.mail")
    try first.device(box, "uninstall", "pad", "--topic", "com.example.mail")
    try first.device(box, "offline", "phone")
    try first.device(box, "add", "old")
    let old = try first.token(box, "token", "old")
    try first.device(box, "offline", "old")
    let payload = #"{"aps":{"alert":"ü \"1\"\n"}}"#
    try send(
      [
        frame(token: phone, payload: payload, identifier: 1, expiration: soon),
        frame(token: old, identifier: 2, expiration: soon),
      ], to: first, in: box)
    let before = try first.device(box, "list", "--json").output
    first.child.kill()
    // This notification expires while no sandbox runs.
    let stored = "sandbox/devices/old/com.example.tinypush/stored"
    try box.write(box.text(stored).replacing(" \(soon) ", with: " 1000 "), to: stored)
    let second = try Sandbox(in: box, hasDevices: true)
    func devices(_ lines: String) -> [Substring] {
      // The stored state may differ: an expired notification is dropped.
      lines.replacing(#""stored":true"#, with: "…").replacing(#""stored":false"#, with: "…")
        .split(separator: "\n").sorted()
    }
    try #expect(devices(second.device(box, "list", "--json").output) == devices(before))
    try #expect(second.token(box, "token", "phone") == phone)
    try second.child.line(#""event":"expired""#)
    try second.device(box, "online", "phone")
    try second.device(box, "online", "old")
    try send([frame(token: pad, identifier: 3)], to: second, in: box)
    #expect(try second.child.terminate() == 0)
    try #expect(second.story("delivered") == ["delivered phone 1", "delivered pad 3"])
  }

  // MARK: - Feedback

  @Test func `feedback lists an uninstalled app once, and again only after another delivery`()
    throws
  {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let start = Int(Date.now.timeIntervalSince1970)
    let phone = try sandbox.token(box, "token", "phone")
    try #expect(sandbox.device(box, "uninstall", "phone").status == 0)
    try #expect(sandbox.readFeedback(box).isEmpty, "nothing was sent to the app yet")
    for _ in 1...2 {
      try send(
        [frame(token: phone, identifier: 1), frame(token: phone, identifier: 2)],
        to: sandbox, in: box)
      let told = try sandbox.readFeedback(box)
      #expect(told.map(\.token) == [phone], "accepted twice, listed once")
      #expect(told.allSatisfy { $0.time >= start && $0.time <= start + 3600 })
      try #expect(sandbox.readFeedback(box).isEmpty)
    }
    try #expect(
      sandbox.token(box, "reregister", "phone") == phone, "the token stays as it was")
    let listed = try objects(sandbox.device(box, "list", "--json").output).at(0)
    let registered = try #require(listed["registered"] as? Int)
    #expect(registered >= start)
    try send([frame(token: phone, identifier: 3)], to: sandbox, in: box)
    try #expect(sandbox.readFeedback(box).isEmpty)
    #expect(try sandbox.child.terminate() == 0)
    try #expect(
      sandbox.story("undeliverable", "delivered") == [
        "undeliverable phone 1", "undeliverable phone 2", "undeliverable phone 1",
        "undeliverable phone 2", "delivered phone 3",
      ])
  }

  @Test func `the agent sends to a suppressed token again after its app registers`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let phone = try sandbox.token(box, "token", "phone")
    func deliver(_ text: String, registered: Int? = nil) throws -> Child {
      let member = registered.map { #","registered":\#($0)"# } ?? ""
      let line = #"{"token":"\#(phone)","payload":{"aps":{"alert":"\#(text)"}}\#(member)}"#
      try box.write(line, to: "sandbox/spool/tmp/x")
      _ = rename(box.path + "/sandbox/spool/tmp/x", box.path + "/sandbox/spool/new/x")
      return try box.tinypush("run", "--once", "--config", sandbox.config)
    }
    try sandbox.device(box, "uninstall", "phone")
    try #expect(deliver("one").status == 0)
    let told = try box.tinypush("feedback", "--config", sandbox.config)
    #expect(told.status == 0, "\(told.errors)")
    _ = try deliver("two")
    try #expect(sandbox.story("undeliverable", "accepted").count == 2, "the token is suppressed")
    try sandbox.device(box, "reregister", "phone")
    let listed = try objects(sandbox.device(box, "list", "--json").output).at(0)
    let registered = try #require(listed["registered"] as? Int)
    let again = try deliver("three", registered: registered)
    #expect(again.status == 0, "\(again.errors)")
    // The sandbox reports what a device shows with a delay.
    try wait(for: "the device to show it") {
      try sandbox.story("delivered") == ["delivered phone 1"]
    }
  }

  @Test func `feedback lists an uninstalled app only once its device is online`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let phone = try sandbox.token(box, "token", "phone")
    try sandbox.device(box, "offline", "phone")
    try sandbox.device(box, "uninstall", "phone")
    try #expect(sandbox.device(box, "reregister", "phone").status == 65)
    try send([frame(token: phone, identifier: 1, expiration: soon)], to: sandbox, in: box)
    try #expect(sandbox.readFeedback(box).isEmpty)
    try sandbox.device(box, "online", "phone")
    try #expect(sandbox.readFeedback(box).map(\.token) == [phone])
    try #expect(
      sandbox.story("stored", "undeliverable") == ["stored phone 1", "undeliverable phone 1"])
  }

  @Test func `each topic has a feedback list of its own`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try box.makeCertificate("mail", topic: "com.example.mail", in: sandbox)
    let phone = try sandbox.token(box, "token", "phone")
    let mail = try sandbox.token(box, "add", "phone", "--topic", "com.example.mail")
    try sandbox.device(box, "uninstall", "phone", "--topic", "com.example.mail")
    try sandbox.device(box, "uninstall", "phone", "--topic", "com.example.tinypush")
    try send([frame(token: phone)], to: sandbox, in: box)
    try sandbox.client(box, [frame(token: mail), frame(token: "00")], certificate: "mail").wait()
    try #expect(sandbox.readFeedback(box, certificate: "mail").map(\.token) == [mail])
    try #expect(sandbox.readFeedback(box).map(\.token) == [phone])
  }

  @Test func `the sandbox sends a million feedback lines in 16 MB and keeps one added meanwhile`()
    throws
  {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let phone = try sandbox.token(box, "token", "phone")
    try sandbox.device(box, "uninstall", "phone")
    let list = sandbox.directory + "/feedback"
    let written = try box.run([
      "python3", "-c",
      """
      with open("\(list)", "w") as file:
          file.writelines(f"1700000000 {number:064x}\\n" for number in range(1_000_000))
      """,
    ])
    #expect(written.status == 0, "\(written.errors)")
    // The reader stops at half until a notification to the uninstalled app adds a line.
    let reader = try box.start([
      "python3", "-c",
      """
      import os, socket, ssl, time
      tls = ssl.create_default_context(cafile="sandbox/ca.pem")
      tls.load_cert_chain("sandbox/client.pem", "sandbox/client-key.pem")
      with socket.create_connection(("127.0.0.1", \(sandbox.feedback))) as raw:
          # With a larger buffer the sandbox might send all before the reader stops.
          raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
          with tls.wrap_socket(raw, server_hostname="localhost") as stream:
              count = 0
              while piece := stream.recv(65536):
                  count += len(piece)
                  if count >= 19_000_000 and not os.path.exists("go"):
                      print("half", flush=True)
                      while not os.path.exists("go"): time.sleep(0.01)
              print(count / 38, flush=True)
      """,
    ])
    try reader.line("half")
    try send([frame(token: phone)], to: sandbox, in: box)
    try box.write("", to: "go")
    #expect(try reader.wait() == 0, "\(reader.errors)")
    #expect(reader.output == "half\n1000001.0\n")
    let told = try objects(sandbox.child.line(#""event":"feedback""#)).at(0)
    #expect(told["cleared"] as? Bool == true)
    try #expect(sandbox.readFeedback(box).isEmpty)
    let status = try String(contentsOfFile: "/proc/\(sandbox.child.id)/status", encoding: .utf8)
    let peak = try #require(status.firstMatch(of: /VmHWM:\s+(\d+) kB/))
    #expect(try number(peak.1) < 16_384, "kB")
  }

  // MARK: - Commands

  @Test func `a device command that is not possible fails with a status and a reason`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    func expect(_ status: Int32, _ why: String, _ words: String...) throws {
      let child = try box.run(
        Build.command(Build.host) + ["sandbox", "device", "--dir", sandbox.directory] + words)
      #expect(child.status == status, "\(words)")
      #expect(child.errors.contains(why), "\(child.errors)")
      #expect(child.errors.split(separator: "\n").count == 1)
      #expect(child.output == "")
    }
    try expect(66, "there is no device phne; did you mean phone?", "offline", "phne")
    try expect(
      66, "there is no app com.example.mail on phone", "token", "phone", "--topic",
      "com.example.mail")
    try expect(65, "phone is already online", "online", "phone")
    try expect(65, "phone already has this app", "add", "phone")
    try expect(64, "a device's name has 1 to 32", "add", "../phone")
    try expect(64, "a device's name has 1 to 32", "add", String(repeating: "x", count: 33))
    try expect(64, "a topic has 1 to 100", "add", "pad", "--topic", "com/example")
    try expect(
      64, "more than 4096 bytes", "add", "pad", "--topic", String(repeating: "x", count: 4097))
    try expect(64, ", not onlin; did you mean online?", "onlin", "phone")
    try expect(64, "give the device's name after offline", "offline")
    try expect(64, "give an action: add, offline")
    try expect(64, "unexpected argument pad", "offline", "phone", "pad")
    try expect(
      64, "--token and --encryption-key are only for add", "token", "phone", "--token", "00")
    try expect(64, "--json is only for list", "token", "phone", "--json")
    try expect(64, "--topic does not go with offline", "offline", "phone", "--topic", "a.b")
    try sandbox.device(box, "offline", "phone")
    try expect(65, "phone is already offline", "offline", "phone")
    try expect(65, "an app can register only while its device is online", "reregister", "phone")
    try sandbox.device(box, "online", "phone")
    try sandbox.device(box, "uninstall", "phone")
    try expect(65, "phone no longer has this app", "uninstall", "phone")
    try expect(65, "install it again with `device reregister`", "add", "phone")
    try sandbox.device(box, "add", "phone", "--topic", "com.example.mail")
    try expect(64, "name one with --topic", "uninstall", "phone")
    #expect(try sandbox.child.terminate() == 0)
    try expect(69, "no sandbox runs in", "list")
    sandbox.child.kill()
    let nowhere = try box.tinypush("sandbox", "device", "list", "--dir", "nowhere")
    #expect(nowhere.status == 69)
  }

  @Test func `device list prints the devices and their apps as text and as JSON`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    let pad = try sandbox.token(
      box, "add", "pad", "--topic", "com.example.mail")
    try sandbox.device(box, "offline", "pad")
    try sandbox.device(box, "uninstall", "pad")
    let phone = try sandbox.token(box, "token", "phone")
    try #expect(
      sandbox.device(box, "list").output == """
        phone, online
          com.example.tinypush
            \(phone)
        pad, offline
          com.example.mail, uninstalled
            \(pad)

        """)
    let lines = try objects(sandbox.device(box, "list", "--json").output)
    #expect(lines.map { $0["device"] as? String } == ["phone", "pad"])
    #expect(lines.map { $0["token"] as? String } == [phone, pad])
    #expect(lines.map { $0["online"] as? Bool } == [true, false])
    #expect(lines.map { $0["installed"] as? Bool } == [true, false])
    #expect(lines.map { $0["stored"] as? Bool } == [false, false])
  }

  // MARK: - Faults

  @Test func `faults also apply to notifications for devices`() throws {
    let first = try Sandbox(in: box, hasDevices: true)
    let phone = try first.token(box, "token", "phone")
    let pad = try first.token(box, "add", "pad")
    #expect(try first.child.terminate() == 0)
    let sandbox = try Sandbox(
      in: box, ["--fault", "status=8@\(pad)", "--fault", "close@2"], hasDevices: true)
    let frames = [
      frame(token: phone, identifier: 1), frame(token: phone, identifier: 2),
      frame(token: pad, identifier: 3), frame(token: phone, identifier: 4),
    ]
    let one = try sandbox.client(box, frames)
    try one.wait()
    #expect(one.output == "connected\n\n")
    let other = try sandbox.client(box, Array(frames.dropFirst(2)))
    try other.wait()
    #expect(other.output == "connected\n080800000003\n")
    #expect(try sandbox.child.terminate() == 0)
    try #expect(sandbox.story("delivered") == ["delivered phone 1", "delivered phone 2"])
  }

  @Test(arguments: [("close", ""), ("garbage=10", hex("no answer "))])
  func `a timed fault happens once and without a notification`(fault: String, heard: String) throws
  {
    let sandbox = try Sandbox(in: box, ["--fault", "\(fault)@200ms"])
    // No client sends anything. The fault happens only on the first connection.
    let client = try sandbox.client(box)
    #expect(try client.wait() == 0, "\(client.errors)")
    #expect(client.output == "connected\n\(heard)\n")
    let next = try sandbox.client(box)
    try next.line("connected")
    try wait(for: "two connections") { try sandbox.events("connected").count == 2 }
    #expect(try sandbox.child.terminate() == 0)
    #expect(try next.wait() == 0, "\(next.errors)")
    let faults = try sandbox.events("fault")
    #expect(faults.map { $0["connection"] as? Int } == [1])
  }
}

extension Box {
  /// Makes a certificate for another topic, issued by the sandbox's authority: `NAME.pem`.
  func makeCertificate(_ name: String, topic: String, in sandbox: Sandbox) throws {
    let made = try run([
      "sh", "-ec",
      """
      cd "$1"
      openssl req -new -key client-key.pem -subj "/UID=$2/CN=other" -out request
      openssl x509 -req -in request -CA ca.pem -CAkey ca-key.pem -days 2 -out "$3.pem"
      """, "sh", sandbox.directory, topic, name,
    ])
    guard made.status == 0 else { throw Failure(made.errors) }
  }
}
