import Foundation
import Testing

/// `tinypush recipient invite`, and the registrations that `tinypush-http` takes.
@Suite(.sideBySide) struct InvitationTests {
  /// The key and the secret of RFC 8291, appendix A.
  private static let key =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
  private static let secret = "BTBZMqHH6r4Tts7J_aSIgg"
  private static let page = "https://box.example.net/web/"
  private static let settings = "page-files = \(Build.package)/board/web\n"

  private static func subscription(key: String = key) -> String {
    #"{"endpoint":"https://push.example/SECRET","expirationTime":null,"keys":{"p256dh":"\#(key)","auth":"\#(secret)"}}"#
  }

  private static let word = "https://push.example/SECRET#\(key).\(secret)"

  private func invite(
    _ box: Box, _ arguments: String..., build: String = Build.host, prefix: [String] = [],
    settings: [String] = ["-o", "web-page=\(page)"]
  ) throws -> Child {
    try box.run(
      prefix + Build.command(build) + ["recipient", "invite"] + arguments + [
        "--config", box.path + "/tinypush.conf", "-o",
        "vapid-key=\(box.path)/credentials/vapid.pem",
        "-o", "contact=mailto:box@tinypush-tests.org",
      ] + settings)
  }

  /// Returns the part of an invitation's address with a name.
  private func part(_ name: String, of invitation: Child) throws -> String {
    let address = try #require(
      invitation.output.firstMatch(of: #/https:\S*#(\S+)/#), "\(invitation.errors)")
    let parts = address.1.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
    return String(try #require(parts.first { $0[0] == name })[1])
  }

  private func register(
    _ service: HTTPService, _ members: String..., options: [String] = []
  ) throws -> HTTPService.Answer {
    try service.request(
      "/register",
      ["--header", "Content-Type: application/json", "--data-binary", "@-"] + options,
      input: "{" + members.joined(separator: ",") + "}")
  }

  // MARK: - The command

  @Test func `an invitation has the page, the public key, the name and a code`() throws {
    try box.write("recipients = \(box.path)/recipients\n", to: "tinypush.conf")
    mkdir(box.path + "/recipients", 0o755)
    let first = try invite(box, "a+b@c")
    #expect(first.status == 0)
    let pem = box.path + "/credentials/vapid.pem"
    #expect(first.errors.hasPrefix(pem + "  written"))
    let made = try FileManager.default.attributesOfItem(atPath: pem)
    #expect(made[.posixPermissions] as? Int == 0o600)
    #expect(first.output.hasPrefix(Self.page + "#k="))
    try #expect(part("n", of: first) == "a%2Bb@c")
    // The key of the address is that in the file, as another program reads it.
    let openssl = try box.run(
      ["sh", "-c", "openssl ec -in '\(pem)' -pubout -outform DER | tail -c 65 | base64 -w 0"])
    let expected = openssl.output.replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
    try #expect(part("k", of: first) == expected)
    let text = box.text("credentials/vapid.pem")
    let second = try invite(box, "family", "--json")
    let object = try #require(try objects(second.output).first)
    let address = try #require(object["address"] as? String)
    #expect(address.hasPrefix("\(Self.page)#k=\(expected)&n=family&c="))
    let expires = try #require(object["expires"] as? Double)
    #expect(abs(expires - Date().timeIntervalSince1970 - 3600) < 600)
    #expect(second.errors == "" && box.text("credentials/vapid.pem") == text)
    #expect(try !address.hasSuffix(part("c", of: first)))
  }

  @Test func `invitations at the same time share one key`() throws {
    try box.write("recipients = \(box.path)/recipients\n", to: "tinypush.conf")
    mkdir(box.path + "/recipients", 0o755)
    let command =
      try Build.command(Build.host).joined(separator: " ") + """
         recipient invite family --config tinypush.conf -o vapid-key=\(box.path)/vapid.pem \
        -o contact=mailto:box@tinypush-tests.org -o web-page=\(Self.page)
        """
    let many = try box.run(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do \(command) & done; wait"])
    let keys = many.output.matches(of: #/#k=([^&]+)/#).map { String($0.1) }
    #expect(keys.count == 8 && Set(keys).count == 1, "\(many.output)\(many.errors)")
    try #expect(part("k", of: box.run(["sh", "-c", command])) == keys.first)
    #expect(many.errors.count(of: "  written") == 1, "\(many.errors)")
  }

  @Test func `invite says what is missing`() throws {
    try box.write("recipients = \(box.path)/recipients\n", to: "tinypush.conf")
    func check(_ child: Child, _ status: Int32, _ words: String) {
      #expect(child.status == status)
      #expect(child.errors.contains(words), "\(child.errors)")
    }
    let lines =
      "write the lines vapid-key = credentials/vapid.pem, contact = mailto:YOUR-ADDRESS and"
    try check(
      invite(box, "family", settings: []), 78, "write the line web-page = https://HOST/web/ into")
    try check(invite(box, "family"), 66, "create the directory, or set recipients")
    mkdir(box.path + "/recipients", 0o755)
    try check(
      invite(box, "family", settings: ["-o", "web-page=http://box.example.net/"]), 64,
      "begins with https://")
    try check(invite(box, "../family"), 64, "the name of a recipients file has only letters")
    try check(invite(box), 64, "give the name of a recipients file")
    try check(invite(box, "family", "more"), 64, "unexpected argument more")
    try check(
      box.tinypush("recipient", "invite", "family", "--config", box.path + "/tinypush.conf"), 78,
      lines + " web-page = https://HOST/web/ into")
    try box.write("no key", to: "credentials/vapid.pem")
    try check(invite(box, "family"), 78, "vapid-key: ")
    #expect(try FileManager.default.contentsOfDirectory(atPath: box.path + "/recipients") == [])
  }

  @Test func `on a terminal the program qrencode shows the address`() throws {
    try box.write("recipients = \(box.path)/recipients\n", to: "tinypush.conf")
    mkdir(box.path + "/recipients", 0o755)
    func shown(program: String) throws -> String {
      let qrencode = try box.write("#!/bin/sh\n" + program, to: "bin/qrencode")
      chmod(qrencode, 0o755)
      let child = try invite(
        box, "family",
        prefix: [
          "env", "PATH=\(box.path)/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "/usr/bin/python3",
          Build.tools + "/onterminal.py", "200x50",
        ])
      #expect(child.status == 0, "\(child.errors)")
      return child.output.replacing("\r\n", with: "\n")
    }
    let with = try shown(program: #"echo "QR $* <$(cat)>""#)
    let address = try #require(with.firstMatch(of: #/https:\S+/#)).0
    #expect(with.contains("QR -t ANSIUTF8 -m 2 <\(address)>\n"))
    #expect(with.contains("The invitation works once, until 2"))
    let without = try shown(program: "exit 127")
    #expect(without.contains("To see a QR code here, install the package qrencode"))
  }

  // MARK: - The registration

  @Test(arguments: Build.all)
  func `every build registers a browser once with the code of an invitation`(build: String) throws {
    let service = try HTTPService(in: box, settings: Self.settings, build: build)
    try box.write("# mine\n", to: "recipients/family")
    let code = try part("c", of: invite(box, "family", build: build))
    let members = [#""code":"\#(code)""#, #""subscription":\#(Self.subscription())"#]
    // A browser says which page sends the request, and asks for no token.
    let origin = [
      "--header", "Origin: https://box.example.net", "--header", "Host: box.example.net",
    ]
    let answer = try register(
      service, members[0], members[1], #""language":"fr-CA""#, options: origin)
    #expect(answer.status == 200)
    #expect(answer.members as NSDictionary == ["name": "family", "state": "added"])
    let line = "# mine\n\(Self.word) lang=fr-CA\n"
    #expect(timeless(box.text("recipients/family")) == line)
    let again = try register(service, members[0], members[1])
    #expect(again.status == 403 && again.code == "invitation")
    #expect(timeless(box.text("recipients/family")) == line)
    #expect(try service.child.terminate() == 0)
    #expect(service.child.errors.contains("registered a recipient for family: added"))
    #expect(!service.child.errors.contains("SECRET") && !service.child.errors.contains(code))
  }

  @Test func `an app registers its device token, and a suppressed one is sent to again`() throws {
    let tokens = try box.write(String(repeating: "t", count: 32) + "\n", to: "tokens")
    let service = try HTTPService(in: box, settings: Self.settings + "token-file = \(tokens)\n")
    let code = try part("c", of: invite(box, "phones"))
    let answer = try register(
      service, #""code":"\#(code)""#, #""token":"\#(token(7))""#, #""language":"fr""#)
    #expect(answer.status == 200, "\(answer.body)")
    let line = box.text("recipients/phones")
    #expect(timeless(line) == "\(token(7)) lang=fr\n")
    // The time ends a suppression that began before.
    let registered = try #require(line.firstMatch(of: #/ registered=(\d+)/#)).1
    #expect(abs((Double(registered) ?? 0) - Date().timeIntervalSince1970) < 600)
    // Everything else still needs a token.
    #expect(try service.request("/family", "--data", "Tank low").status == 401)
    #expect(try service.request("/web", "--data", "Tank low").status == 401)
  }

  @Test func `a registration that is refused changes nothing, and the code stays`() throws {
    let service = try HTTPService(in: box, settings: Self.settings)
    let before = box.text("recipients/family")
    let code = #""code":"\#(try part("c", of: invite(box, "family")))""#
    let wrong = #""code":"AAAAAAAAAAAAAAAAAAAAAA""#
    let good = #""subscription":\#(Self.subscription())"#
    let offCurve = Self.subscription(key: Self.key.dropLast() + "8")
    for (members, status, expected) in [
      ([wrong, good], 403, "invitation"), ([#""code":"""#, good], 403, "invitation"),
      ([#""code":"../../family""#, good], 403, "invitation"), ([good], 400, "registration"),
      ([code], 400, "registration"), ([code, #""subscription":{}"#], 400, "subscription"),
      ([code, #""subscription":\#(offCurve)"#], 400, "subscription"),
      ([code, #""token":"zz""#], 400, "token-not-hex"),
      ([code, good, #""token":"0a""#], 400, "registration"),
      ([code, good, #""language":"a b""#], 400, "language"), (["x"], 400, "json"),
      (
        [code, good, #""x":"\#(String(repeating: "x", count: 9000))""#], 413, "request-too-large"
      ),
    ] {
      let body = "{" + members.joined(separator: ",") + "}"
      for options in [[], ["--header", "Transfer-Encoding: chunked"]] {
        let answer = try service.request(
          "/register",
          ["--header", "Content-Type: application/json", "--data-binary", "@-"] + options,
          input: body)
        #expect(answer.status == status && answer.code == expected, "\(members) \(answer.body)")
      }
    }
    #expect(try service.request("/register").status == 405)
    #expect(try service.request("/register", "--data", "x").status == 415)
    // Somebody has made a directory in the place of the file.
    try FileManager.default.removeItem(atPath: box.path + "/recipients/family")
    mkdir(box.path + "/recipients/family", 0o755)
    let unsaved = try register(service, code, good)
    #expect(unsaved.status == 503 && unsaved.code == "recipients")
    rmdir(box.path + "/recipients/family")
    try box.write(before, to: "recipients/family")
    #expect(try register(service, code, good).status == 200)
    #expect(box.text("recipients/family").hasPrefix(before + "https://push.example/SECRET#"))
  }

  @Test(.enabled(if: geteuid() == 0, "needs root"))
  func `the service registers as a user of its own, to whose group the directory belongs`() throws {
    chmod(box.path, 0o777)
    let user = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
    let service = try HTTPService(in: box, settings: Self.settings, prefix: user)
    let directory = box.path + "/recipients"
    let good = #""subscription":\#(Self.subscription())"#
    let code = #""code":"\#(try part("c", of: invite(box, "family")))""#
    #expect(try register(service, code, good).status == 503)
    for path in [directory, directory + "/family", directory + "/.lock"] {
      chown(path, 0, 12345)
    }
    chmod(directory, 0o2775)
    chmod(directory + "/family", 0o664)
    let answer = try register(service, code, good)
    #expect(answer.status == 200, "\(answer.body) \(service.child.errors)")
    let attributes = try FileManager.default.attributesOfItem(atPath: directory + "/family")
    #expect(attributes[.groupOwnerAccountID] as? Int == 12345)
    #expect(attributes[.posixPermissions] as? Int == 0o664)
    #expect(service.child.errors.contains("nobody can register"))
  }

  @Test func `invite makes no new key while browsers need the one that is missing`() throws {
    try box.write("recipients = \(box.path)/recipients\n", to: "tinypush.conf")
    mkdir(box.path + "/recipients", 0o755)
    try box.write(Self.word + "\n", to: "recipients/family")
    let refused = try invite(box, "family")
    #expect(refused.status == 66)
    #expect(
      refused.errors.contains("1 browser in the recipients files needs that key: put it back"),
      "\(refused.errors)")
    #expect(access(box.path + "/credentials/vapid.pem", F_OK) != 0)
    try box.write("", to: "recipients/family")
    #expect(try invite(box, "family").status == 0)
  }

  // MARK: - The page

  @Test func `the page is served with a policy that lets nothing else in, only when it is set`()
    throws
  {
    let service = try HTTPService(in: box, settings: Self.settings)
    for (file, type) in [
      ("", "text/html; charset=utf-8"), ("page.css", "text/css; charset=utf-8"),
      ("page.js", "text/javascript; charset=utf-8"),
      ("worker.js", "text/javascript; charset=utf-8"),
      ("manifest.json", "application/manifest+json"), ("icon.svg", "image/svg+xml"),
    ] {
      let answer = try service.request("/web/" + file, "--dump-header", box.path + "/head")
      #expect(answer.status == 200)
      let path = Build.package + "/board/web/" + (file == "" ? "index.html" : file)
      #expect(try answer.body == String(contentsOfFile: path, encoding: .utf8))
      let head = box.text("head")
      #expect(head.contains("Content-Type: \(type)\r\n"))
      #expect(head.contains("Content-Security-Policy: default-src 'none'; "))
      #expect(head.contains("frame-ancestors 'none'\r\n"))
    }
    let bare = try service.request("/web", "--dump-header", box.path + "/head")
    #expect(bare.status == 301)
    #expect(box.text("head").contains("Location: web/\r\n"))
    for file in ["../http.conf", "%2e%2e/http.conf", "none", "icon.svg/"] {
      #expect(try service.request("/web/" + file, "--path-as-is").status == 404)
    }
    #expect(try service.child.terminate() == 0)
    let without = try HTTPService(in: box)
    let page = try without.request("/web/")
    #expect(page.status == 404 && page.code == "no-page")
    let refused = try register(without, #""code":"x""#)
    #expect(refused.status == 400 && refused.code == "no-text")
  }

  /// A file that the page names must be one that the service has, and nothing comes from elsewhere.
  @Test func `the page needs only its own files`() throws {
    let directory = Build.package + "/board/web"
    let names = Set(try FileManager.default.contentsOfDirectory(atPath: directory))
    var named = 0
    for name in names where !name.hasSuffix(".png") {
      let text = try String(contentsOfFile: directory + "/" + name, encoding: .utf8)
      let pattern =
        #/(?:(?:href|src)=|"src": |register\(|icon: (?:message.icon \|\| )?)["']([^"']+)["']/#
      for match in text.matches(of: pattern) {
        named += 1
        #expect(names.contains(String(match.1)), "\(name): \(match.0)")
      }
      let elsewhere = text.replacing("http://www.w3.org/2000/svg", with: "")
        .matches(of: #/https?://\w/#)
      #expect(elsewhere.isEmpty)
      // The policy keeps these out.
      #expect(text.firstMatch(of: #/\s(style|on\w+)="/#) == nil, "\(name)")
    }
    #expect(named >= 5)
  }
}
