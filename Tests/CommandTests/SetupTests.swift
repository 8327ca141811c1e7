import Foundation
import Testing

/// `tinypush setup`, on a terminal and with a file of answers.
@Suite(.sideBySide) struct SetupTests {
  private static let key = "AuthKey_LH4T9V5U4R_5U8LBRXG3A.p8"

  /// Makes a board without a key, the key of Bark, and a phone with Bark; returns the phone's token.
  private func prepare(_ box: Box, _ board: Board) throws -> String {
    try box.write(box.text("sandbox/AuthKey_SANDBOXKEY.p8"), to: Self.key)
    try board.write("", to: "etc/tinypush/recipients/default")
    try board.write("", to: "run/systemd/system/.keep")
    try board.start("tinypush")
    return try board.sandbox.token(box, "add", "pocket", "--topic", "me.fin.bark")
  }

  /// Runs setup with these answers, without a test.
  private func setUp(_ box: Box, _ config: String, _ answers: String) throws -> Child {
    try box.tinypush(
      "setup", "--no-test", "--config", config, "--answers", box.write(answers, to: "answers"))
  }

  private func settings(_ board: Board) -> [String] {
    board.text("etc/tinypush/tinypush.conf").split(separator: "\n").map(String.init)
      .filter { !$0.hasPrefix("#") }
  }

  @Test func `a file of answers sets up Bark, up to the alert on the phone`() throws {
    let board = try Board(in: box, certificate: false)
    let token = try prepare(box, board)
    let before = settings(board)
    let answers = try box.write(
      "# for all boxes\napp = bark\nsigning-key = \(box.path)/\(Self.key)\ntoken = \(token)\n",
      to: "answers")
    let done = try board.run(["tinypush", "setup", "--answers", answers])
    #expect(done.status == 0, "\(done.output)\(done.errors)\(board.log)")
    #expect(done.output.contains("me.fin.bark, the app Bark"))
    #expect(done.output.contains("Now look at the phone."))
    #expect(try board.shows("The alerts of this box arrive")["device"] as? String == "pocket")
    #expect(settings(board) == before + ["app = bark", "signing-key = credentials/\(Self.key)"])
    var information = stat()
    #expect(stat("\(board.root)/etc/tinypush/credentials/\(Self.key)", &information) == 0)
    #expect(information.st_mode & 0o777 == 0o600)
    #expect(board.text("etc/tinypush/recipients/default").contains(token))
    // The command may run again, without the answers that are set.
    let again = try board.run(["tinypush", "setup", "--no-test", "--answers", "/dev/null"])
    #expect(again.status == 0, "\(again.errors)")
    #expect(again.output == "/etc/tinypush/tinypush.conf  unchanged\n")
  }

  @Test func `a person answers on a terminal, and corrects a wrong answer`() throws {
    let board = try Board(in: box, certificate: false)
    let token = try prepare(box, board)
    let lines = [
      "bakr", "", "nowhere.p8", "\(box.path)/\(Self.key)", "12345", token, "a/b", "family", "",
    ]
    let done = try board.run(
      ["script", "-qec", "tinypush setup --no-test", "/dev/null"],
      input: lines.joined(separator: "\n"))
    #expect(done.status == 0, "\(done.output)\(done.errors)")
    for words in [
      "app [bark]: ", "app must be bark, own, gateway, browser or sandbox",
      "see https://bark.day.app",
      "nowhere.p8 does not exist", "token must be hexadecimal digits", "name [default]: ",
      "name must have only letters", "/etc/tinypush/tinypush.conf  written",
      "/etc/tinypush/recipients/family  written",
    ] {
      #expect(done.output.contains(words), "\(words): \(done.output)")
    }
    #expect(board.text("etc/tinypush/recipients/family").contains(token))
  }

  @Test func `browsers get a key, a contact and an invitation beside an app`() throws {
    let before = "signing-key = AuthKey_ABC123DEFG.p8\nteam-id = TEAM123456\ntopic = a.b\n"
    let config = try box.write(
      before + "recipients = \(box.path)/recipients\n", to: "etc/tinypush.conf")
    try box.write(
      String(contentsOfFile: Certificates.path("signing.p8"), encoding: .utf8),
      to: "etc/AuthKey_ABC123DEFG.p8")
    mkdir(box.path + "/recipients", 0o755)
    let page = "web-page = https://box.example.net/web/\n"
    let answers = "app = browser\ncontact = mailto:box@tinypush-tests.org\nname = family\n" + page
    // The agent cannot start without the key.
    let written = try setUp(box, config, answers)
    #expect(written.status == 0, "\(written.errors)")
    #expect(written.errors.contains("etc/credentials/vapid.pem  written"), "\(written.errors)")
    let done = try box.tinypush(
      "setup", "--config", config, "--answers", box.write(answers, to: "answers"))
    #expect(done.status == 0, "\(done.errors)")
    #expect(done.output.contains("https://box.example.net/web/#k="))
    #expect(done.output.contains("&n=family&c="))
    #expect(
      done.output.hasSuffix("Now open the address in the browser that shall show the alerts.\n"))
    let after =
      before + "recipients = \(box.path)/recipients\nvapid-key = credentials/vapid.pem\n"
      + "contact = mailto:box@tinypush-tests.org\n"
    #expect(box.text("etc/tinypush.conf") == after + page)
    let key = box.text("etc/credentials/vapid.pem")
    #expect(key.hasPrefix("-----BEGIN PRIVATE KEY-----"))
    // A key that is there stays: subscriptions need it.
    let again = try box.tinypush(
      "setup", "--config", config, "--answers",
      box.write(answers + "web-page = https://other.example.net/\n", to: "answers"))
    #expect(again.output.contains("https://other.example.net/#k="))
    #expect(box.text("etc/tinypush.conf") == after + "web-page = https://other.example.net/\n")
    #expect(box.text("etc/credentials/vapid.pem") == key)
    for (wrong, words) in [
      ("app = browser\ncontact = mailto:me@localhost\n", "contact must be mailto:ADDRESS"),
      (
        answers + "web-page = http://box.example.net/\n", "web-page must be the address of the page"
      ),
      (answers + "token = 0a\n", "token is no answer for app = browser"),
      (
        "app = own\ncontact = mailto:box@tinypush-tests.org\n", "contact is no answer for app = own"
      ),
    ] {
      let refused = try setUp(box, config, wrong)
      #expect(refused.status == 65 && refused.errors.contains(words), "\(refused.errors)")
    }
    #expect(box.text("etc/tinypush.conf") == after + "web-page = https://other.example.net/\n")
  }

  @Test func `an app of one's own has its team and its topic, and gives way to Bark`() throws {
    try box.write(
      String(contentsOfFile: Certificates.path("signing.p8"), encoding: .utf8),
      to: "AuthKey_ABC123DEFG.p8")
    let config = try box.write(
      "# mine\nkey-id = AAAAAAAAAA\ncertificate = x.pem\nenvironment = development\nprotocol = binary\nsettle = 5s\nencryption-key = 0123456789abcdef\nttl = 1h\n",
      to: "etc/tinypush.conf")
    let own = try setUp(
      box, config,
      "app = own\nsigning-key = \(box.path)/AuthKey_ABC123DEFG.p8\nteam-id = TEAM123456\ntopic = a.b\n"
    )
    #expect(own.status == 0, "\(own.errors)")
    #expect(
      box.text("etc/tinypush.conf")
        == """
        # mine
        #key-id = AAAAAAAAAA
        #certificate = x.pem
        environment = development
        #protocol = binary
        #settle = 5s
        #encryption-key = 0123456789abcdef
        ttl = 1h
        app = own
        team-id = TEAM123456
        topic = a.b
        signing-key = credentials/AuthKey_ABC123DEFG.p8

        """)
    try box.write(
      String(contentsOfFile: Certificates.path("signing.p8"), encoding: .utf8), to: Self.key)
    let bark = try setUp(box, config, "app = bark\nsigning-key = \(box.path)/\(Self.key)\n")
    #expect(bark.status == 0, "\(bark.errors)")
    #expect(
      box.text("etc/tinypush.conf")
        == """
        # mine
        #key-id = AAAAAAAAAA
        #certificate = x.pem
        environment = production
        #protocol = binary
        #settle = 5s
        #encryption-key = 0123456789abcdef
        ttl = 1h
        app = bark
        #team-id = TEAM123456
        #topic = a.b
        signing-key = credentials/\(Self.key)

        """)
  }

  @Test func `a gateway of the binary protocol is set up, up to the alert on the phone`() throws {
    let board = try Board(in: box, certificate: false)
    _ = try prepare(box, board)
    let config = "etc/tinypush/tinypush.conf"
    try board.write(
      board.text(config).replacing("\nenvironment = local\n", with: "\n"), to: config)
    let token = try board.sandbox.token(box, "token", "phone")
    let answers = try box.write(
      """
      app = gateway
      gateway = localhost:\(board.sandbox.gateway)
      feedback = localhost:\(board.sandbox.feedback)
      ca = \(box.path)/sandbox/ca.pem
      certificate = \(box.path)/sandbox/client.pem
      key = \(box.path)/sandbox/client-key.pem
      environment = development
      token = \(token)

      """, to: "answers")
    let before = settings(board)
    let done = try board.run(["tinypush", "setup", "--answers", answers])
    #expect(done.status == 0, "\(done.output)\(done.errors)\(board.log)")
    #expect(try board.shows("The alerts of this box arrive")["device"] as? String == "phone")
    #expect(
      settings(board) == before.map { $0 == "ca = ca.pem" ? "ca = credentials/ca.pem" : $0 } + [
        "protocol = binary", "feedback = localhost:\(board.sandbox.feedback)",
        "environment = development", "certificate = credentials/client.pem",
        "key = credentials/client-key.pem",
      ])
    var information = stat()
    #expect(stat("\(board.root)/etc/tinypush/credentials/client-key.pem", &information) == 0)
    #expect(information.st_mode & 0o777 == 0o600)
    #expect(board.text("etc/tinypush/recipients/default").contains(token))
    let again = try board.run(["tinypush", "setup", "--no-test", "--answers", "/dev/null"])
    #expect(again.output == "/etc/tinypush/tinypush.conf  unchanged\n", "\(again.errors)")
    // A year later, the renewed certificate has the same name.
    try box.makeCertificate("renewed", topic: "com.example.tinypush", in: board.sandbox)
    let path = try box.write(box.text("sandbox/renewed.pem"), to: "client.pem")
    let renewal = try box.write("certificate = \(path)\n", to: "renewal")
    let renewed = try board.run(["tinypush", "setup", "--answers", renewal])
    #expect(renewed.status == 0, "\(renewed.output)\(renewed.errors)\(board.log)")
    #expect(board.text("etc/tinypush/credentials/client.pem") == box.text("client.pem"))
  }

  @Test func `a file that no setting names, or another setting, is not replaced`() throws {
    let config = try box.write("key = credentials/a.pem\n", to: "etc/tinypush.conf")
    let certificate = try String(contentsOfFile: Certificates.path("client.pem"), encoding: .utf8)
    for name in ["a.pem", "b.pem"] {
      try box.write("mine\n", to: "etc/credentials/" + name)
      let path = try box.write(certificate, to: name)
      let done = try setUp(
        box, config,
        "app = gateway\ngateway = a:1\nkey = \(Certificates.path("client.key"))\ncertificate = \(path)\n"
      )
      #expect(done.status == 73 && done.errors.contains("is another file"), "\(done.errors)")
      #expect(box.text("etc/credentials/" + name) == "mine\n")
    }
  }

  @Test func `two files of the same name are an error, but not one file that has both`() throws {
    let config = try box.write("", to: "etc/tinypush.conf")
    let both = try String(contentsOfFile: Certificates.path("client-both.pem"), encoding: .utf8)
    let path = try box.write(both, to: "a/x.pem")
    let key = try box.write("other", to: "b/x.pem")
    let answers = "app = gateway\ngateway = a:1\ncertificate = \(path)\nkey = "
    let refused = try setUp(box, config, answers + "\(key)\n")
    #expect(refused.status == 65, "\(refused.errors)")
    #expect(refused.errors.contains("certificate and key are files of the same name: rename one"))
    #expect(!FileManager.default.fileExists(atPath: box.path + "/etc/credentials"))
    let done = try setUp(box, config, answers + "\(path)\n")
    #expect(done.status == 0, "\(done.errors)")
    #expect(box.text("etc/credentials/x.pem") == both)
  }

  @Test func `-o cannot be given, as the page says`() throws {
    let done = try box.tinypush("setup", "--config", box.path + "/tinypush.conf", "-o", "ttl=1h")
    #expect(done.status == 64 && done.errors.contains("-o cannot be given"), "\(done.errors)")
    let options = try ManPage("tinypush-setup.1").section("OPTIONS")
    #expect(options.components(separatedBy: ".Fl o\n").count == 2)
    #expect(options.contains(".Fl o\ncannot be given"))
  }

  @Test func `a gateway gives way to Bark, and an app to a gateway`() throws {
    try box.write(
      String(contentsOfFile: Certificates.path("signing.p8"), encoding: .utf8), to: Self.key)
    let config = try box.write(
      "app = own\nsigning-key = x.p8\nteam-id = TEAM123456\ntopic = a.b\nping = 2h\nttl = 1h\n",
      to: "etc/tinypush.conf")
    let gateway = try setUp(
      box, config,
      "app = gateway\ngateway = push.example:2195\ncertificate = \(Certificates.path("client.pem"))\n"
    )
    #expect(gateway.status == 0, "\(gateway.errors)")
    let binary = """
      #app = own
      #signing-key = x.p8
      #team-id = TEAM123456
      #topic = a.b
      #ping = 2h
      ttl = 1h

      """
    #expect(
      box.text("etc/tinypush.conf") == binary + """
        protocol = binary
        gateway = push.example:2195
        environment = production
        certificate = credentials/client.pem

        """)
    let bark = try setUp(box, config, "app = bark\nsigning-key = \(box.path)/\(Self.key)\n")
    #expect(bark.status == 0, "\(bark.errors)")
    #expect(
      box.text("etc/tinypush.conf") == binary + """
        #protocol = binary
        #gateway = push.example:2195
        environment = production
        #certificate = credentials/client.pem
        app = bark
        signing-key = credentials/\(Self.key)

        """)
  }

  @Test func `who only tries learns how, and nothing is written`() throws {
    let config = try box.write("ttl = 1h\n", to: "etc/tinypush.conf")
    let done = try setUp(box, config, "app = sandbox\ntopic = a.b\n")
    #expect(done.status == 0, "\(done.errors)")
    #expect(box.text("etc/tinypush.conf") == "ttl = 1h\n")
    let files = try FileManager.default.contentsOfDirectory(atPath: box.path + "/etc")
    #expect(files == ["tinypush.conf"])
    // The lines work, apart from the port, of which a test has its own.
    let lines = done.output.split(separator: "\n").filter { $0.hasPrefix("  tinypush ") }
      .map { $0.dropFirst("  tinypush ".count) }
    #expect(try lines.at(0) == "sandbox")
    let program = "\(Build.directory)/\(Build.host)/tinypush"
    func shell(_ line: Substring) throws -> Child {
      try box.start(["sh", "-c", "exec '\(program)' \(line)"])
    }
    let sandbox = try shell("sandbox --json --port 0 --feedback-port 0")
    try sandbox.line(#""event":"listening""#)
    let agent = try shell(lines.at(1))
    let sender = try shell(lines.at(2) + " --wait=1h")
    #expect(try sender.wait() == 0, "\(sender.errors)")
    try sandbox.line(#""text":"Tank low""#)
    #expect(try agent.terminate() == 0)
  }

  @Test func `a key of another app is not kept, and another key of the same name not replaced`()
    throws
  {
    let key = try String(contentsOfFile: Certificates.path("signing.p8"), encoding: .utf8)
    try box.write(key, to: "etc/credentials/AuthKey_ABC123DEFG.p8")
    let config = try box.write(
      "signing-key = credentials/AuthKey_ABC123DEFG.p8\nteam-id = TEAM123456\ntopic = a.b\n",
      to: "etc/tinypush.conf")
    let bark = try setUp(box, config, "app = bark\n")
    #expect(bark.status == 65 && bark.errors.contains("signing-key must be the path of a file"))
    let other = try String(contentsOfFile: Certificates.path("signing-other.p8"), encoding: .utf8)
    let path = try box.write(other, to: "AuthKey_ABC123DEFG.p8")
    let replaced = try setUp(box, config, "signing-key = \(path)\n")
    #expect(replaced.status == 73 && replaced.errors.contains("is another file: remove it first"))
    #expect(box.text("etc/credentials/AuthKey_ABC123DEFG.p8") == key)
    let kept = try setUp(box, config, "app = own\n")
    #expect(kept.status == 0, "\(kept.errors)")
  }

  @Test(
    arguments: [
      ("app = bark\n", 65, "there is no answer: signing-key must be the path of a file"),
      ("app = bark\nsigning-key = /nowhere.p8\n", 65, "The signing key /nowhere.p8 does not exist"),
      ("app = brk\n", 65, "app must be bark, own, gateway, browser or sandbox"),
      ("apps = bark\n", 65, "answers:1: there is no question apps; did you mean app?"),
      ("bark\n", 65, "answers:1: expected KEY = VALUE"),
      ("app = own\nsigning-key = KEY\nteam-id = TEAM123456\n", 65, "topic must be the bundle ID"),
      ("app = own\nsigning-key = KEY\n", 65, "there is no answer: team-id must be"),
      ("app = gateway\n", 65, "gateway must be"),
      ("app = gateway\ngateway = a:b\n", 65, "gateway must be"),
      ("app = gateway\ngateway = a:1\nfeedback = a:b\n", 65, "feedback must be"),
      ("app = gateway\ngateway = a:1\nca = KEY\n", 65, "AuthKey_ABC123DEFG.p8"),
      ("app = gateway\ngateway = a:1\n", 65, "certificate must be the path of a file"),
      ("app = gateway\ngateway = a:1\ncertificate = /nowhere.pem\n", 65, "/nowhere.pem does not"),
      (
        "app = gateway\ngateway = a:1\ncertificate = CERTIFICATE\nkey = /nowhere.pem\n", 65,
        "The key /nowhere.pem: No such file"
      ),
      (
        "app = gateway\ngateway = a:1\ncertificate = CERTIFICATE\ntoken = 0102\n", 65,
        "64 hex digits"
      ),
      (
        "environment = development\nsigning-key = KEY\n", 65,
        "environment is no answer for app = bark"
      ),
      (
        "topic = a.b\napp = gateway\ngateway = a:1\ncertificate = CERTIFICATE\n", 65,
        "topic is no answer for app = gateway: remove the line"
      ),
      ("signing-key = KEY\ntoken = 12x4\n", 65, "token must be hexadecimal digits"),
      ("signing-key = KEY\ntoken = 0102\n", 65, "token has only 4 digits"),
      ("signing-key = KEY\nname = a/b\n", 65, "name must have only letters"),
    ] as [(String, Int32, String)])
  func `a wrong answer is named, and nothing is written`(
    answers: String, status: Int32, words: String
  ) throws {
    let key = try box.write(
      String(contentsOfFile: Certificates.path("signing.p8"), encoding: .utf8),
      to: "AuthKey_ABC123DEFG.p8")
    let path = try box.write(
      answers.replacing("KEY\n", with: "\(key)\n")
        .replacing("CERTIFICATE\n", with: Certificates.path("client.pem") + "\n"), to: "answers")
    let config = try box.write("ttl = 1h\n", to: "etc/tinypush.conf")
    let done = try box.tinypush("setup", "--config", config, "--answers", path)
    #expect(done.status == status && done.errors.contains(words), "\(done.errors)")
    #expect(box.text("etc/tinypush.conf") == "ttl = 1h\n")
    #expect(!FileManager.default.fileExists(atPath: box.path + "/etc/credentials"))
  }

  @Test func `without a terminal, setup says what a file of answers has`() throws {
    let done = try box.tinypush("setup", "--config", box.path + "/tinypush.conf")
    #expect(done.status == 64 && done.errors.contains("give --answers FILE"), "\(done.errors)")
    #expect(done.errors.contains("app = bark, signing-key = PATH and token = TOKEN"))
  }
}
