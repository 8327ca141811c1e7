import Foundation
import Testing

/// The rules of `tinypush-http` for the webhooks of other programs.
@Suite(.sideBySide) struct HTTPRulesTests {
  /// The rules that the manual page shows.
  private static func rules() throws -> String {
    let page = try ManPage("tinypush-http.1").section("RULES")
    let example = try #require(
      page.firstMatch(of: #/\n\.Bd[^\n]*\n(\[.*?)\n\.Ed/#.dotMatchesNewlines()))
    return String(example.1) + "\n"
  }

  private static let failedRun = #"""
    {"action": "completed", "repository": {"full_name": "octo/tank"}, "workflow_run": {"id": 7,
    "name": "CI", "conclusion": "failure", "html_url": "https://github.com/octo/tank/actions/runs/7"}}
    """#

  @Test func `the rules of the manual page take webhooks of GitHub, Uptime Kuma and others`() throws
  {
    let service = try HTTPService(in: box, settings: "idle = 5s\n" + Self.rules())
    func sent(_ json: String, to target: String) throws -> NSDictionary {
      let made = try service.notifications(service.post(json: json, to: target))
      #expect(made.count == 1)
      return try made.at(0) as NSDictionary
    }
    #expect(
      try sent(Self.failedRun, to: "/github") == [
        "to": "default", "trim": true, "collapse-id": "octo/tank CI",
        "payload": [
          "aps": ["alert": ["title": "octo/tank", "body": "CI: failure"]],
          "url": "https://github.com/octo/tank/actions/runs/7",
        ],
      ])
    let down = #"""
      {"heartbeat": {"monitorID": 3, "status": 0, "msg": "timeout"}, "monitor": {"id": 3,
      "name": "NAS"}, "msg": "[NAS] [Down] timeout"}
      """#
    let alarm: NSDictionary = [
      "to": ["family"], "trim": true, "collapse-id": "uptime-3",
      "payload": [
        "aps": [
          "alert": ["title": "NAS is down", "body": "[NAS] [Down] timeout"],
          "interruption-level": "time-sensitive",
        ]
      ],
    ]
    #expect(try sent(down, to: "/uptime/family/?from=kuma") == alarm)
    func alert(_ json: String) throws -> NSDictionary? {
      let made = try sent(json, to: "/uptime/family")
      let aps = (made["payload"] as? NSDictionary)?["aps"] as? NSDictionary
      return aps?["alert"] as? NSDictionary
    }
    let up = down.replacing(#""status": 0"#, with: #""status": 1"#)
    #expect(try alert(up)?["title"] as? String == "NAS is up")
    let test = #"{"heartbeat": null, "monitor": null, "msg": "My Webhook Testing"}"#
    #expect(try alert(test) == ["title": "Uptime Kuma", "body": "My Webhook Testing"])
    // GitHub sends a form, unless its webhook is set to JSON.
    let form = try service.request(
      "/github", "--data-urlencode", "payload@-", input: Self.failedRun)
    let run = try service.notifications(form).at(0)
    #expect(run["collapse-id"] as? String == "octo/tank CI")
    let missing = try service.post(json: down, to: "/uptime/nobody")
    #expect(missing.status == 404)
    #expect(missing.code == "list-missing")
    #expect(try service.child.terminate() == 0)
  }

  @Test func `a request to which no rule applies is no failure, and in the log`() throws {
    let service = try HTTPService(in: box, settings: Self.rules())
    let good = Self.failedRun.replacing("failure", with: "success")
    let answer = try service.post(json: good, to: "/github")
    #expect(answer.status == 200)
    #expect(answer.members["notifications"] as? Int == 0)
    #expect(box.queued == [])
    try service.child.line(
      "ignored a request: the conditions of no rule hold: [/github]", in: .errors)
    #expect(!service.child.errors.contains("octo"))
  }

  @Test(arguments: [
    ("/github", ["--json", "{\"a\": 1,}"], 400, "trailing-comma"),
    ("/github", ["--json", ""], 400, "unexpected-end"),
    ("/github", ["--data-binary", " [1"], 400, "unexpected-end"),
    ("/github", ["--form", "a=b"], 415, "media-type"),
    ("/github", ["--request", "GET"], 405, "method"),
    ("/github", ["--request", "DELETE"], 405, "method"),
    ("/github", ["--json", "{}", "--header", "Origin: https://example.com"], 403, "web-page"),
    ("/badge", ["--json", #"{"badge": "many"}"#], 400, "badge"),
    ("/github/more", ["--json", "{}"], 404, "not-found"),
    ("/github", ["--data", "[Tank] low"], 400, "expected-value"),
  ])
  func `a request that a rule cannot take is refused`(
    target: String, options: [String], status: Int, code: String
  ) throws {
    let service = try HTTPService(
      in: box, settings: Self.rules() + "[/badge]\nbadge = {payload.badge}\n")
    let answer = try service.request(target, options)
    #expect(answer.status == status, "\(answer.body)")
    #expect(answer.code == code, "\(answer.body)")
    #expect(box.queued == [])
    if code == "trailing-comma" {
      #expect(answer.members["column"] as? Int == 9)
      #expect((answer.members["message"] as? String)?.isEmpty == false)
    }
  }

  @Test func `a rule of one part leaves notifications alone`() throws {
    let service = try HTTPService(in: box, settings: "[/#]\nalert = all of {path}\n")
    #expect(try service.notifications(service.post(json: HTTPServiceTests.notification)).count == 1)
    #expect(try service.notifications(service.request("/", "--data", "x")).count == 1)
    let taken = try service.notifications(
      service.post(json: HTTPServiceTests.notification, to: "/message"))
    #expect("\(taken)".contains("all of /message"))
  }

  @Test func `the answer says what is wrong with the body for a rule`() throws {
    let service = try HTTPService(
      in: box, settings: "[/a]\ntitle = {payload.text}\nalert = {payload}\n")
    let text = try service.request(
      "/a", "--header", "Content-Type: text/plain", "--data", "[Tank] low")
    #expect("\(try service.notifications(text))".contains("[Tank] low"))
    let empty = try service.request("/a", "--json", "")
    #expect(empty.members["message"] as? String == "the body is empty: send JSON in it")
    let long = try service.post(
      json: #"{"text": "\#(String(repeating: "x", count: 70_000))"}"#, to: "/a")
    #expect(long.status == 413)
    #expect(long.code == "object-too-large")
    #expect((long.members["message"] as? String)?.hasPrefix("the rule makes") == true)
  }

  @Test func `a rule takes texts, several rules make several alerts, and rules come first`() throws
  {
    let service = try HTTPService(
      in: box,
      settings: """
        [/family]
        alert = {payload} from {path}
        continue = yes
        [/+]
        when = path.1 = family
        alert = again
        [/door/+]
        alert = {path.2} {payload}
        [/door/+/+]
        alert = {payload.0}
        to = {path.3}

        """)
    func alerts(_ target: String, _ options: String...) throws -> [String] {
      try service.notifications(service.request(target, options)).map {
        let aps = try $0.member("payload", as: [String: Any].self).member(
          "aps", as: [String: Any].self)
        return try aps.member("alert")
      }
    }
    #expect(try alerts("/family", "--data", "Tank low") == ["Tank low from /family", "again"])
    #expect(try alerts("/door/north%20gate", "--request", "POST") == ["north gate "])
    let put = ["--request", "PUT", "--header", "Content-Type: application/x+json", "--data", "[1]"]
    let answer = try service.request("/door/x/family", put)
    let made = try service.notifications(answer).at(0)
    #expect(made["to"] as? [String] == ["family"])
  }

  @Test func `a program that sends no header may have the token in the path of a rule`() throws {
    let secret = "0123456789abcdef0123456789abcdef"
    let file = try box.write(secret + "\nab/cd+ef==ghijklmn\n%41bcdefghijklmnopq\n", to: "tokens")
    let service = try HTTPService(in: box, settings: "token-file = \(file)\n" + Self.rules())
    for (token, status) in [
      ("ab%2Fcd%2Bef%3D%3Dghijklmn", 202), ("ab/cd+ef==ghijklmn", 202),
      ("ab/cd%2bef==ghijklmn", 202), ("%41bcdefghijklmnopq", 202), ("%2541bcdefghijklmnopq", 202),
      ("Abcdefghijklmnopq", 401), ("ab%2", 401),
    ] {
      let answer = try service.post(json: Self.failedRun, to: "/github?token=" + token)
      #expect(answer.status == status, "\(token)")
    }
    let refused = try service.post(json: Self.failedRun, to: "/github")
    #expect(refused.status == 401)
    #expect((refused.members["message"] as? String)?.contains("?token=TOKEN") == true)
    #expect(try service.post(json: Self.failedRun, to: "/github?token=wrong").status == 401)
    #expect(try service.post(json: Self.failedRun, to: "/github?token=" + secret).status == 202)
    #expect(try service.request("/family?token=" + secret, "--data", "x").status == 401)
  }

  @Test func `--try prints what the rules make of a request`() throws {
    let settings = try box.write(
      Self.rules() + "[/badge]\nto = nobody\nbadge = {payload.badge}\n", to: "http.conf")
    for name in ["family", "default"] { try box.write(token(1) + "\n", to: "recipients/\(name)") }
    func tried(_ target: String, _ body: String) throws -> Child {
      try box.run(
        Build.command(Build.host, "tinypush-http") + [
          "--try", target, "--settings", settings, "-o", "spool=" + box.spool, "-o",
          "recipients=\(box.path)/recipients",
        ], input: body)
    }
    let warning = try #require(
      try tried("/github", "{}").output.split(separator: "\n").first.map(String.init))
    #expect(
      warning.wholeMatch(
        of: #/.*/http\.conf:\d+: warning: there is no recipients file nobody in .*/#)
        != nil)
    let made = try tried("/github?token=x", Self.failedRun)
    #expect(made.status == 0, "\(made.errors)")
    #expect(
      made.output == """
        \(warning)
        /github: rule \(settings):1 [/github]
          {"to":"default","collapse-id":"octo/tank CI","trim":true,"payload":{"aps":{"alert":{"title":"octo/tank",\
        "body":"CI: failure"}},"url":"https://github.com/octo/tank/actions/runs/7"}}

        """)
    #expect(
      try tried("/github", "{}").output == """
        \(warning)
        /github: ignored: the conditions of this rule do not hold: \(settings):1 [/github]

        """)
    #expect(
      try tried("/other", "{}").output.contains(
        "/other: ignored: no rule matches the path; without one the body"))
    let refused = try tried("/badge", #"{"badge": "x"}"#)
    #expect(refused.status == 65)
    #expect(refused.output.contains("\n  error: badge must be a number"), "\(refused.output)")
    let malformed = try tried("/github", "{\n  \"a\": }")
    #expect(malformed.status == 65)
    #expect(malformed.output.contains("-:2:8: error: "), "\(malformed.output)")
    let missing = try tried("/uptime/nobody", #"{"heartbeat": {"status": 1}}"#)
    #expect(missing.status == 65)
    #expect(
      missing.output.contains("\n  error: no recipients file has this name"), "\(missing.output)")
    let form = try tried(
      "/github", "payload=%7B%22workflow_run%22%3A%7B%22conclusion%22%3A%22failure%22%7D%7D")
    #expect(form.output.contains(#"{"to":"default","#), "\(form.output)")
    let umlauts = try tried("/uptime/family", #"{"msg": "Größe"}"#)
    #expect(umlauts.output.contains(#""body":"Größe""#), "\(umlauts.output)")
    for path in ["github", "/"] { #expect(try tried(path, "{}").status == 64) }
    try box.write("[/a]\nalrt = x\nbadge = 1\nbadge = 2\n", to: "http.conf")
    let mistakes = try tried("/a", "{}")
    #expect(mistakes.status == 78)
    #expect(mistakes.errors.split(separator: "\n").count == 2)
    #expect(mistakes.errors.contains("http.conf:4: badge is given twice in this rule"))
    #expect(box.queued == [])
  }

  @Test func `--try needs no permission to read the tokens`() throws {
    let tokens = try box.write("0123456789abcdef\n", to: "tokens")
    let settings = try box.write("token-file = \(tokens)\n[/a]\nalert = x\n", to: "http.conf")
    chmod(tokens, 0)
    chmod(box.path, 0o755)
    let other =
      geteuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
    let program = try other + Build.command(Build.host, "tinypush-http")
    let options = ["--settings", settings, "-o", "spool=" + box.spool]
    let tried = try box.run(program + ["--try", "/a"] + options, input: "{}")
    #expect(tried.status == 0, "\(tried.errors)")
    #expect(tried.output.contains("rule \(settings):2 [/a]"))
    let service = try box.run(program + ["--listen", "127.0.0.1:0"] + options)
    #expect(service.status == 78)
    #expect(service.errors.contains("token-file: \(tokens): Permission denied"))
  }
}
