import Foundation
import Testing

/// `tinypush-http`: what comes over HTTP, and what goes into the spool.
@Suite(.sideBySide) struct HTTPServiceTests {
  static let notification = #"{"to": "family", "payload": {"aps": {"badge": 1}}}"#

  @Test func `a text becomes a notification for a recipients file`() throws {
    let service = try HTTPService(in: box)
    let answer = try service.request("/family?title=Cellar", "--data", "Tank low")
    #expect(answer.members["notifications"] as? Int == 1)
    let alert = try #require(try service.notifications(answer).first?["payload"] as? [String: Any])
    #expect(
      alert as NSDictionary == [
        "aps": ["alert": ["title": "Cellar", "body": "Tank low"]]
      ] as NSDictionary)
    #expect(box.names(in: "tmp") == [])
    #expect(try service.child.terminate() == 0)
  }

  @Test(arguments: Build.all)
  func `every build takes texts and JSON`(build: String) throws {
    let service = try HTTPService(in: box, build: build)
    for answer in [
      try service.request("/family", "--data", "Tank low"),
      try service.post(json: Self.notification),
    ] {
      #expect(try service.notifications(answer).count == 1)
    }
    #expect(try service.child.terminate() == 0)
  }

  @Test func `notifications in JSON go into one file as they are`() throws {
    let service = try HTTPService(in: box)
    let text = Self.notification + "\n " + Self.notification
    let answer = try service.post(json: text)
    #expect(answer.members["notifications"] as? Int == 2)
    let name = try #require(answer.members["file"] as? String)
    #expect(box.text("spool/new/" + name) == text)
  }

  @Test func `a mistake is reported as check reports it`() throws {
    let service = try HTTPService(in: box)
    let text =
      Self.notification + "\n" + #"{"to": "family", "payload": {"aps": {"é": 1, "badge": "3"}}}"#
    let answer = try service.post(json: text)
    #expect(answer.status == 400)
    let file = try box.write(text, to: "wrong.json")
    let checked = try box.tinypush("check", "--json", "--config", box.path + "/tinypush.conf", file)
    let finding = try #require(
      try objects(checked.output).first { $0["severity"] as? String == "error" })
    for key in ["code", "message", "line", "column", "end_column", "offset"] {
      #expect(answer.members[key] as? NSObject == finding[key] as? NSObject, "\(key)")
    }
    #expect(box.queued == [])
  }

  @Test(arguments: [
    (["--data", "x", "/missing"], 404, "list-missing"),
    (["--data", "x", "/empty"], 404, "list-empty"),
    (["--data", "x", "/a/b"], 404, "not-found"),
    (["--data", "x", "/..%2ffamily"], 404, "list-missing"), (["/family"], 405, "method"),
    (["--request", "PUT", "--data", "x", "/"], 405, "method"),
    (["--data", "x", "/health"], 405, "method"),
    (
      ["--json", #"{"to": ["family", "missing"], "payload": {"aps": {"badge": 1}}}"#, "/"], 404,
      "list-missing"
    ),
    (["--form", "a=b", "/"], 400, "unknown-parameter"),
    (["--data", "x", "--header", "Content-Type: image/png", "/"], 415, "media-type"),
    (["--data", "{\"aps\":{\"badge\":1}}", "/"], 415, "media-type"),
    (["--data", "x", "/?tilte=a"], 400, "unknown-parameter"),
    (["--data", "x", "/?title=%"], 400, "escape"), (["--data", "x", "/?badge=a"], 400, "badge"),
    (["--data", "x", "/?title=a&title=b"], 400, "duplicate-parameter"),
    (["--data", "x", "/family%00"], 404, "list-missing"),
    (["--data", "", "/family"], 400, "no-text"),
    (["--json", #"{"message":"x""#, "/family"], 400, "unexpected-end"),
    (["--json", #"{"message":"x",}"#, "/family"], 400, "trailing-comma"),
    (["--data", "x", "/family?message=y"], 400, "two-texts"),
    (["--data", "message=50%", "/family"], 400, "escape"),
    (["--json", #"{"alerts": [{}]}"#, "/grafana?title=a"], 400, "webhook-parameter"),
    (["--json", #"{"alerts": [{}]}"#, "/grafana/missing"], 404, "list-missing"),
    (["--json", #"{"alerts": []}"#, "/alertmanager"], 400, "no-alerts"),
    (["--json", #"{"alerts": [{}]} x"#, "/grafana"], 400, "missing-comma"),
    (["--data", "x", "/grafana"], 415, "media-type"),
    (["--header", "Transfer-Encoding: gzip", "--data", "x", "/"], 400, "length"),
    (["--data", "x", "--header", "Origin: https://example.com", "/"], 403, "web-page"),
    (["--data", "x", "--header", "Origin: null", "/"], 403, "web-page"),
    (["--data", "x", "--header", "Sec-Fetch-Site: cross-site", "/"], 403, "web-page"),
    (["--request", "OPTIONS", "--header", "Origin: https://example.com", "/"], 403, "web-page"),
  ])
  func `a wrong request changes nothing`(options: [String], status: Int, code: String) throws {
    try box.write("", to: "recipients/empty")
    let service = try HTTPService(in: box)
    let target = try #require(options.last)
    let answer = try service.request(target, Array(options.dropLast()) + ["--path-as-is"])
    #expect(answer.status == status)
    #expect(answer.code == code)
    #expect(box.queued == [])
    try service.child.line("refused a request: \(status) \(code)", in: .errors)
  }

  @Test func `a text that looks like a form is a text if the client says so`() throws {
    let service = try HTTPService(in: box)
    let body = "message=50%&title=T"
    for (type, alert) in [("text/plain; charset=utf-8", body), ("", body)] {
      let answer = try service.request(
        "/family", "--header", "Content-Type: " + type, "--data", body)
      let aps = try (service.notifications(answer).first?["payload"] as? [String: Any])?["aps"]
      #expect((aps as? [String: Any])?["alert"] as? String == alert)
    }
    let form = try service.request("/family", "--data", "message=50%25&title=T")
    let aps = try (service.notifications(form).first?["payload"] as? [String: Any])?["aps"]
    #expect(
      aps as? NSDictionary == ["alert": ["title": "T", "body": "50%"]] as NSDictionary)
  }

  @Test func `a text for default needs that file or a token`() throws {
    let service = try HTTPService(in: box)
    try FileManager.default.removeItem(atPath: box.path + "/recipients/default")
    let token = String(repeating: "0b", count: 32)
    #expect(try service.request("/", "--data", "x").code == "list-missing")
    #expect(try service.request("/?token=" + token, "--data", "x").status == 202)
    #expect(try service.request("/", "--data", "message=x&token=" + token).status == 202)
  }

  @Test(arguments: [[], ["--header", "Expect:"], ["--header", "Transfer-Encoding: chunked"]])
  func `a request that is too large is refused`(options: [String]) throws {
    let service = try HTTPService(in: box)
    let answer = try service.request(
      "/family", options + ["--data-binary", "@-"], input: String(repeating: "x", count: 1_200_000))
    #expect(answer.status == 413)
    #expect(answer.code == "request-too-large")
    #expect(box.queued == [])
    let text = try service.request(
      "/family", options + ["--data-binary", "@-"], input: String(repeating: "x", count: 70_000))
    #expect(text.status == 202)
    let object = try service.post(json: "{\(String(repeating: " ", count: 70_000))}")
    #expect(object.status == 413)
    #expect(object.code == "object-too-large")
  }

  @Test func `alerts that are resolved replace those that fire`() throws {
    let service = try HTTPService(in: box)
    var ids: [String?] = []
    for (path, status) in [("/alertmanager/family", "firing"), ("/grafana/family", "resolved")] {
      let answer = try service.post(
        json: """
          {"status": "\(status)", "alerts": [{"status": "\(status)", "fingerprint": "c3f0a2b1",
            "labels": {"alertname": "Disk"}, "annotations": {"summary": "95 %"}}]}
          """, to: path)
      let notification = try #require(try service.notifications(answer).first)
      ids.append(notification["collapse-id"] as? String)
    }
    #expect(ids == ["c3f0a2b1", "c3f0a2b1"])
  }

  // MARK: - Who may send

  @Test func `with tokens only requests that carry one are taken`() throws {
    let (old, new) = ("0123456789abcdef", "fedcba9876543210")
    let file = try box.write("# the kitchen\n\(old)\n\(new)\n", to: "token")
    let service = try HTTPService(in: box, settings: "token-file = \(file)\n")
    #expect(try service.request("/", "--data", "x").status == 401)
    for (header, status) in [(old + "0", 401), ("", 401), (old, 202), (new, 202)] {
      let answer = try service.request(
        "/", "--data", "x", "--header", "Authorization: Bearer " + header)
      #expect(answer.status == status)
    }
    #expect(try service.request("/health").status == 204)
    try service.child.terminate()
    #expect(!service.child.errors.contains(old))
    #expect(service.child.errors.contains("refused a request: 401 unauthorized"))
  }

  @Test func `an address that other machines reach needs a token`() throws {
    let program = "\(Build.directory)/\(Build.host)/tinypush-http"
    for address in ["0.0.0.0:0", "[::]:0"] {
      let refused = try box.run([program, "-o", "spool=" + box.spool, "--listen", address])
      #expect(refused.status == 78)
      #expect(refused.errors.contains("set token-file"))
    }
  }

  /// A request as a program for another service sends it, and what becomes of it.
  struct Sending: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var options: [String]
    var status: Int
    /// The notification, or the code of the refusal.
    var becomes: String

    init(_ description: String, _ options: String..., status: Int, becomes: String) {
      testDescription = description
      self.options = options
      (self.status, self.becomes) = (status, becomes)
    }
  }

  private static let json = "Content-Type: application/json"

  @Test(arguments: [
    Sending(
      "ntfy, headers", "--header", "Title: Cellar", "--header", "X-Priority: urgent", "--header",
      "Tags: warning,skull", "--header", "Click: https://x.example", "--data", "Tank low",
      "/family", status: 202,
      becomes:
        #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":{"title":"Cellar","subtitle":"warning,skull","body":"Tank low"},"interruption-level":"time-sensitive"},"url":"https://x.example"}}"#
    ),
    Sending(
      "ntfy, headers of shoutrrr", "--header", "Priority: Max", "--header", "Delay;", "--data",
      "Tank low", "/family", status: 202,
      becomes:
        #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":"Tank low","interruption-level":"time-sensitive"}}}"#
    ),
    Sending(
      "ntfy, GET with tags", "/family/publish?message=Tank+low&priority=high&tags=warning,skull",
      status: 200,
      becomes:
        #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":{"subtitle":"warning,skull","body":"Tank low"}}}}"#
    ),
    Sending(
      "ntfy, GET without a text", "/family/trigger", status: 200,
      becomes: #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":"triggered"}}}"#),
    Sending(
      "ntfy, an attachment", "--header", "Filename: a.txt", "--data", "x", "/family", status: 415,
      becomes: "file"),
    Sending(
      "a body that is no text", "--header", "Content-Type:", "--data-binary", "@/proc/self/cmdline",
      "/family", status: 415, becomes: "file"),
    Sending(
      "a compressed body", "--header", "Content-Encoding: gzip", "--data", "x", "/family",
      status: 415, becomes: "content-encoding"),
    Sending(
      "ntfy, PUT", "--request", "PUT", "--data", "Tank low", "/family", status: 202,
      becomes: #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":"Tank low"}}}"#),
    Sending(
      "ntfy, GET", "/family/publish?message=Tank+low&priority=1", status: 200,
      becomes:
        #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":"Tank low","interruption-level":"passive"}}}"#
    ),
    Sending(
      "ntfy, JSON", "--header", json, "--data",
      #"{"topic":"family","message":"Tank \"1\" low","priority":4,"tags":["a","b"],"click":"http://c"}"#,
      "/", status: 200,
      becomes:
        #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":{"subtitle":"a, b","body":"Tank \"1\" low"}},"url":"http://c"}}"#
    ),
    Sending(
      "ntfy, JSON that curl calls a form", "--data",
      #"{"topic":"family","message":"Tank low","priority":0}"#, "/", status: 200,
      becomes: #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":"Tank low"}}}"#),
    Sending(
      "ntfy, JSON without a priority", "--header", json, "--data",
      #"{"topic":"family","message":"Tank low","priority":null}"#, "/", status: 200,
      becomes: #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":"Tank low"}}}"#),
    Sending(
      "Gotify, a negative priority", "--header", json, "--data",
      #"{"message":"Tank low","priority":-1}"#, "/message", status: 200,
      becomes:
        #"{"to":"default","trim":true,"payload":{"aps":{"alert":"Tank low","interruption-level":"passive"}}}"#
    ),
    Sending(
      "Gotify, JSON", "--header", json, "--data",
      #"{"title":"Cellar","message":"Tank low","priority":8,"extras":{"a":1}}"#,
      "/message?token=AbCdEf", status: 200,
      becomes:
        #"{"to":"default","trim":true,"payload":{"aps":{"alert":{"title":"Cellar","body":"Tank low"},"interruption-level":"time-sensitive"}}}"#
    ),
    Sending(
      "Gotify, form", "--data", "title=Cellar&message=Tank+low&priority=0", "/message", status: 200,
      becomes:
        #"{"to":"default","trim":true,"payload":{"aps":{"alert":{"title":"Cellar","body":"Tank low"},"interruption-level":"passive"}}}"#
    ),
    Sending(
      "Gotify, curl -F", "--form", "title=Cellar & more", "--form", "message=Tank = 1 %\nlöw",
      "--form", "priority=5", "/message?token=AbCdEf", status: 200,
      becomes:
        #"{"to":"default","trim":true,"payload":{"aps":{"alert":{"title":"Cellar & more","body":"Tank = 1 %\nlöw"}}}}"#
    ),
    Sending(
      "a form with a file", "--form", "message=x", "--form", "file=@/etc/hostname", "/family",
      status: 415, becomes: "file"),
    Sending(
      "a form without a message", "--form", "title=x", "/family", status: 400, becomes: "no-text"),
    Sending(
      "a form with an unknown name", "--form", "message=x", "--form", "bagde=1", "/family",
      status: 400, becomes: "unknown-parameter"),
    Sending(
      "a form that is cut", "--header", "Content-Type: multipart/form-data; boundary=b", "--data",
      "--b\r\nContent-Disposition: form-data; name=\"message\"\r\n\r\nx", "/family", status: 400,
      becomes: "form"),
    Sending(
      "a form without a boundary", "--header", "Content-Type: multipart/form-data", "--data",
      "message=x", "/family", status: 400, becomes: "form"),
    Sending(
      "Apprise, json://", "--header", json, "--data",
      #"{"version":"1.0","title":"","message":"Tank low","attachments":[],"type":"info"}"#,
      "/family", status: 202,
      becomes: #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":"Tank low"}}}"#),
    Sending(
      "Apprise, form://", "--data", "version=1.0&title=Cellar&message=Tank+low&type=info",
      "/family",
      status: 202,
      becomes:
        #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":{"title":"Cellar","body":"Tank low"}}}}"#
    ),
    Sending(
      "Uptime Kuma", "--header", json, "--data",
      #"{"heartbeat":{"status":0},"monitor":{"name":"nas"},"msg":"[nas] down"}"#, "/family?ttl=1h",
      status: 202,
      becomes:
        #"{"to":["family"],"ttl":3600,"trim":true,"payload":{"aps":{"alert":"[nas] down"}}}"#),
    Sending(
      "Gitea, the form of Slack", "--header", json, "--data",
      #"{"channel":"","text":"[box] 1 new commit","username":"gitea","attachments":[{"text":"x"}]}"#,
      "/family", status: 202,
      becomes: #"{"to":["family"],"trim":true,"payload":{"aps":{"alert":"[box] 1 new commit"}}}"#),
    Sending(
      "GitHub, whose events have no text", "--header", json, "--data",
      #"{"ref":"refs/heads/main","head_commit":{"message":"x"},"repository":{"name":"box"}}"#,
      "/family", status: 400, becomes: "no-text"),
    Sending(
      "JSON without a text", "--header", json, "--data", #"{"commits":[]}"#, "/family", status: 400,
      becomes: "no-text"),
    Sending(
      "a notification for a list", "--header", json, "--data", #"{"aps":{"badge":1}}"#, "/family",
      status: 400, becomes: "no-text"),
    Sending(
      "a wrong priority", "--header", "Priority: 11", "--data", "x", "/family", status: 400,
      becomes: "priority"),
    Sending(
      "a delay of ntfy", "--header", "X-Delay: 30m", "--data", "x", "/family", status: 400,
      becomes: "delay"),
    Sending(
      "a delay of ntfy in JSON", "--header", json, "--data",
      #"{"topic":"family","message":"x","delay":"30m"}"#, "/", status: 400, becomes: "delay"),
    Sending(
      "a title of mail", "--header", "Title: =?utf-8?b?w7w=?=", "--data", "x", "/family",
      status: 400, becomes: "encoding"),
    Sending(
      "an unknown topic", "--header", json, "--data", #"{"topic":"nobody","message":"x"}"#, "/",
      status: 404, becomes: "list-missing"),
    Sending("HEAD", "--head", "/family/publish?message=x", status: 405, becomes: ""),
  ])
  func `programs for other services can send`(sending: Sending) throws {
    let service = try HTTPService(in: box)
    let target = try #require(sending.options.last)
    let answer = try service.request(target, sending.options.dropLast())
    #expect(answer.status == sending.status, "\(answer.body)")
    if answer.status < 300 {
      let name = try box.queued.at(0)
      #expect(box.text("spool/new/" + name) == sending.becomes + "\n")
      #expect(try box.tinypush("check", "\(box.spool)/new/\(name)").status == 0)
    } else {
      #expect(sending.becomes.isEmpty || answer.code == sending.becomes, "\(answer.body)")
      #expect(box.queued == [])
    }
  }

  @Test func `programs for Gotify show a token in their own way`() throws {
    let token = "0123456789abcdef"
    let file = try box.write(token + "\n", to: "token")
    let service = try HTTPService(in: box, settings: "token-file = \(file)\n")
    let form = ["--data", "message=x"]
    #expect(try service.request("/message", form).status == 401)
    #expect(try service.request("/message?token=\(token)0", form).status == 401)
    #expect(try service.request("/message?token=\(token)", form).status == 200)
    #expect(
      try service.request("/message", form + ["--header", "X-Gotify-Key: " + token]).status == 200)
    // Elsewhere it is a device token.
    #expect(try service.request("/family?token=\(token)", form).status == 401)
  }

  @Test(arguments: [
    ("Host: localhost", 202), ("Host: 127.0.0.1:1", 202), ("Host: [::1]", 202),
    ("Host: evil.example", 403), ("Host: localhost.evil.example:8077", 403),
    ("Referer: http://evil.example/", 403), ("Referer: http://127.0.0.1:PORT/page", 202),
    ("Origin: null", 403), ("Sec-Fetch-Site: same-origin", 403), ("Sec-Fetch-Site: none", 202),
  ])
  func `a request with the marks of a web page of another site is refused`(
    header: String, status: Int
  ) throws {
    let port = try box.port().number
    let service = try HTTPService(in: box, address: "127.0.0.1:\(port)")
    let header = header.replacing("PORT", with: "\(port)")
    let curl = [
      "curl", "--silent", "--write-out", "\n%{http_code}", "--header", header, "--data", "x",
      "http://127.0.0.1:\(port)/family",
    ]
    #expect(try box.run(curl).output.hasSuffix("\n\(status)"))
    // No web page uses the UNIX socket.
    if header.hasPrefix("Host") {
      #expect(try service.request("/family", "--header", header, "--data", "x").status == 202)
    }
  }

  @Test func `a GET over TCP sends only with a token`() throws {
    let file = try box.write("0123456789abcdef\n", to: "token")
    for (settings, header, status) in [
      ("", "Accept: */*", 403), ("token-file = \(file)\n", "Accept: */*", 401),
      ("token-file = \(file)\n", "Authorization: Bearer 0123456789abcdef", 200),
    ] {
      let port = try box.port().number
      let service = try HTTPService(
        in: box, settings: settings, address: "127.0.0.1:\(port)")
      let curl = try box.run([
        "curl", "--silent", "--write-out", "\n%{http_code}", "--header", header,
        "http://127.0.0.1:\(port)/family/publish?message=x",
      ])
      #expect(curl.output.hasSuffix("\n\(status)"), "\(curl.output)")
      #expect(try service.child.terminate() == 0)
    }
    #expect(box.queued.count == 1)
  }

  @Test func `with a token a proxy may pass on its own name`() throws {
    let file = try box.write("0123456789abcdef\n", to: "token")
    let port = try box.port().number
    _ = try HTTPService(
      in: box, settings: "token-file = \(file)\n", address: "127.0.0.1:\(port)")
    let curl = try box.run([
      "curl", "--silent", "--write-out", "\n%{http_code}", "--header", "Host: push.example",
      "--header", "Authorization: Bearer 0123456789abcdef", "--data", "x",
      "http://127.0.0.1:\(port)/family",
    ])
    #expect(curl.output.hasSuffix("\n202"), "\(curl.output)")
  }

  @Test func `nothing of a request gets into the log`() throws {
    let service = try HTTPService(in: box)
    for target in ["/mark?mark=mark", "/mark", "/family?title=mark", "/%0amark"] {
      for more in [["--header", "Origin: mark"], ["--request", "MARK"], []] {
        _ = try service.request(target, ["--data", "mark", "--user-agent", "mark"] + more)
      }
    }
    try service.child.terminate()
    for word in ["web-page", "method", "unknown-parameter", "list-missing"] {
      #expect(service.child.errors.contains(word), "\(service.child.errors)")
    }
    #expect(!service.child.errors.lowercased().contains("mark"))
  }

  // MARK: - As a service

  @Test func `a service that systemd has started ends without requests`() throws {
    let service = try HTTPService(in: box, settings: "idle = 5s\n", isActivated: true)
    #expect(try service.request("/family", "--data", "x").status == 202)
    #expect(try service.child.wait() == 0)
    #expect(service.child.errors.contains("requests: 1, refused: 0, notifications: 1, files: 1"))
  }

  @Test func `a spool that cannot be written is reported`() throws {
    let service = try HTTPService(in: box)
    try FileManager.default.removeItem(atPath: box.spool + "/new")
    let answer = try service.request("/", "--data", "x")
    #expect(answer.status == 503)
    #expect(answer.code == "spool")
    #expect(!answer.body.contains(box.path))
    try service.child.line("cannot write to tmp/ and new/", in: .errors)
  }

  @Test(arguments: Disk.Resource.allCases)
  func `a full disk is reported, and leaves nothing behind`(resource: Disk.Resource) throws {
    let service = try HTTPService(in: box)
    let disk = try Disk(under: box, "size=256k,nr_inodes=64")
    try disk.fill(resource)
    let full = try service.request("/family", "--include", "--data", "x")
    #expect(full.status == 503)
    #expect(full.body.contains("\r\nRetry-After: 60\r\n"))
    #expect(full.body.contains(#""code":"disk-full""#))
    #expect(box.queued == [])
    #expect(box.names(in: "tmp") == [])
    disk.makeRoom()
    #expect(try service.request("/family", "--data", "x").status == 202)
    #expect(service.child.errors.contains(" notice: the spool can be written to again\n"))
    disk.isReadOnly = true
    #expect(try service.request("/family", "--data", "x").code == "spool")
  }

  /// Opens connections, sends the same bytes on each, and prints `open`.
  ///
  /// It prints what comes back on the first connection once that one ends.
  private func connect(
    _ count: Int, sending bytes: String, to service: HTTPService, in box: Box
  ) throws -> Child {
    let child = try box.start([
      "python3", "-c",
      """
      import socket, sys
      links = [socket.socket(socket.AF_UNIX) for _ in range(int(sys.argv[1]))]
      for link in links:
          link.connect(sys.argv[2])
          link.sendall(sys.argv[3].encode())
      print("open", flush=True)
      try:
          answer = links[0].recv(1000)
      except OSError:
          answer = b""
      print("answer", answer, flush=True)
      """, "\(count)", service.socket, bytes,
    ])
    try child.line("open")
    return child
  }

  @Test(arguments: ["", "POST /family HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx"])
  func `clients that send nothing more do not hold up others without end`(bytes: String) throws {
    let service = try HTTPService(in: box)
    let slow = try connect(20, sending: bytes, to: service, in: box)
    #expect(try service.request("/family", "--data", "x").status == 202)
    try slow.line("answer")
    #expect(box.queued.count == 1)
  }

  /// Sends twelve alerts to the service at once, and returns the answers; the sixth is empty.
  private func sendTogether(to service: HTTPService) throws -> [[String: Any]] {
    // A stopped process finds all requests at once when it goes on.
    kill(service.child.id, SIGSTOP)
    let client = try box.start([
      "python3", "-c",
      """
      import json, socket, sys
      links = [socket.socket(socket.AF_UNIX) for _ in range(12)]
      for number, link in enumerate(links):
          link.connect(sys.argv[1])
          body = b"" if number == 5 else b"alert %d" % number
          link.sendall(b"POST /family HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
      print("sent", flush=True)
      for link in links:
          answer = link.recv(4096).decode()
          print(json.dumps({"status": int(answer[9:12]), "body": answer.split("\\r\\n\\r\\n")[1]}))
      """, service.socket,
    ])
    try client.line("sent")
    kill(service.child.id, SIGCONT)
    #expect(try client.wait() == 0, "\(client.errors)")
    return try objects(String(client.output.dropFirst("sent\n".count)))
  }

  @Test func `requests that come together share a file and its sync`() throws {
    let service = try HTTPService(in: box)
    let answers = try sendTogether(to: service)
    #expect(answers.map { $0["status"] as? Int } == (0..<12).map { $0 == 5 ? 400 : 202 })
    let bodies = answers.filter { $0["status"] as? Int == 202 }.compactMap { $0["body"] as? String }
    // The first one may come before the others are read.
    #expect(Set(bodies).count <= 2, "\(bodies)")
    let texts = box.queued.map { box.text("spool/new/" + $0) }.joined(separator: "\n")
    let alerts = texts.matches(of: #/alert \d+/#).map { String($0.0) }
    #expect(alerts.sorted() == (0..<12).filter { $0 != 5 }.map { "alert \($0)" }.sorted())
    #expect(try service.child.terminate() == 0)
    #expect(service.child.errors.contains("requests: 12, refused: 1, notifications: 11, files: "))
  }

  @Test func `a full disk is told to all requests that came together`() throws {
    let service = try HTTPService(in: box)
    let disk = try Disk(under: box, "size=256k,nr_inodes=64")
    try disk.fill(.bytes)
    let answers = try sendTogether(to: service)
    #expect(answers.map { $0["status"] as? Int } == (0..<12).map { $0 == 5 ? 400 : 503 })
    for answer in answers where answer["status"] as? Int == 503 {
      #expect(try answer.member("body", as: String.self).contains(#""code":"disk-full""#))
    }
    #expect(box.queued == [])
    #expect(box.names(in: "tmp") == [])
    disk.makeRoom()
    #expect(try service.request("/family", "--data", "x").status == 202)
  }

  @Test func `connections over TCP leave room for the UNIX socket`() throws {
    let port = try box.port().number
    let service = try HTTPService(in: box, address: "127.0.0.1:\(port)")
    let holder = try box.start([
      "python3", "-c",
      """
      import socket, sys, time
      links = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(60)]
      print("open", flush=True)
      time.sleep(100)
      """, "\(port)",
    ])
    try holder.line("open")
    for _ in 1...5 {
      #expect(try service.request("/family", "--data", "x").status == 202)
    }
    // The connections over TCP are still open: the service accepts no further one.
    let late = try box.run([
      "curl", "--silent", "--max-time", "1", "http://127.0.0.1:\(port)/health",
    ])
    #expect(late.status == 28)
    holder.kill()
  }

  @Test func `one address cannot take the room of others`() throws {
    try #require(geteuid() == 0, "needs root")
    let file = try box.write("0123456789abcdef\n", to: "token")
    let service = try HTTPService(
      in: box, settings: "token-file = \(file)\n", address: "10.1.2.3:8077",
      prefix: [
        "unshare", "--net", "sh", "-c",
        """
        ip link set lo up && ip address add 10.1.2.3/32 dev lo &&
        ip address add 10.1.2.4/32 dev lo && exec "$@"
        """, "sh",
      ])
    let client = try box.run([
      "nsenter", "--net=/proc/\(service.child.id)/ns/net", "python3", "-c",
      """
      import socket
      def connect(source):
          return socket.create_connection(("10.1.2.3", 8077), 10, (source, 0))
      def send(link, text):
          try:
              link.sendall(text)
          except OSError:
              pass
      def answer(link):
          link.settimeout(10)
          try:
              return link.recv(12).decode()[9:]
          except OSError:
              return ""
      links = [connect("10.1.2.3") for _ in range(9)]
      # A connection is closed behind its answer: all must be open at once.
      for link in links:
          send(link, b"GET /health HTTP/1.1\\r\\nHost: 10.1.2.3\\r\\n")
      closed = [answer(link) for link in links[6:]]
      for link in links[:6]:
          send(link, b"\\r\\n")
      print([answer(link) for link in links[:6]] + closed)
      other = connect("10.1.2.4")
      send(other, b"GET /health HTTP/1.1\\r\\nHost: 10.1.2.3\\r\\n\\r\\n")
      print(answer(other))
      """,
    ])
    let six = Array(repeating: "'204'", count: 6) + Array(repeating: "''", count: 3)
    #expect(client.output == "[\(six.joined(separator: ", "))]\n204\n", "\(client.errors)")
  }

  @Test func `a head that comes slowly is not awaited for a minute`() throws {
    let service = try HTTPService(in: box)
    let slow = try box.run([
      "python3", "-c",
      """
      import socket, sys, time
      link = socket.socket(socket.AF_UNIX)
      link.connect(sys.argv[1])
      link.settimeout(1)
      sent = 0
      for byte in b"GET /" + b"x" * 100:
          try:
              link.send(bytes([byte]))
              sent += 1
              if link.recv(1) == b"":
                  break
          except TimeoutError:
              pass
          except OSError:
              break
      print(sent)
      """, service.socket,
    ])
    #expect(try #require(Int(slow.output.dropLast())) < 40)
  }

  @Test func `a request that SIGTERM cuts off is not answered and leaves nothing`() throws {
    let service = try HTTPService(in: box)
    let child = try connect(
      1, sending: "POST /family HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx", to: service,
      in: box)
    #expect(try service.child.terminate() == 0)
    try child.line("answer b''")
    #expect(box.queued == [])
    #expect(box.names(in: "tmp") == [])
  }

  @Test func `only a socket is replaced by a socket`() throws {
    let file = try box.write("precious", to: "file")
    let program = "\(Build.directory)/\(Build.host)/tinypush-http"
    let refused = try box.run([program, "-o", "spool=" + box.spool, "--listen", file])
    #expect(refused.status == 69)
    #expect(refused.errors.contains("cannot listen on \(file): File exists"))
    #expect(box.text("file") == "precious")
    for _ in 1...2 {
      let service = try HTTPService(in: box)
      #expect(try service.request("/family", "--data", "x").status == 202)
      // A service that is running keeps its socket.
      let second = try box.run([program, "-o", "spool=" + box.spool, "--listen", service.socket])
      #expect(second.status == 69)
      #expect(second.errors.contains("Address already in use"), "\(second.errors)")
      #expect(try service.request("/family", "--data", "x").status == 202)
      service.child.kill()
    }
  }

  @Test(arguments: [
    ("token-fil = x", "did you mean token-file?"), ("idle = never", "idle must be"),
    ("idle = 4s", "idle must be at least 5s"),
    ("token-file = /nonexistent", "http.conf:1: token-file: /nonexistent"),
    ("token-file = /dev/null", "/dev/null: write one token a line"),
    ("[http]\nidle = 5s", "http.conf:1: http is not a path: a path begins with a slash"),
    ("[/]", "http.conf:1: / is not a path"), ("[/a#]", "http.conf:1: /a# is not a path"),
    ("[/a/]", "http.conf:1: /a/ is not a path"),
    ("[/a%20b]", "http.conf:1: /a%20b is not a path"),
    ("[/a]\nalert = x\nidle = 5s", "http.conf:3: idle belongs before the first [/PATH]"),
    ("[/a]\nalert = {topic}", "alert: unknown expression in braces; use path, path.2, payload"),
    ("[/a]\nwhen = topic.2 = x\nalert = x", "when takes EXPRESSION = VALUE"),
    ("[/a]\nalert = x\nsilent-for = 1h", "silent-for is only for the messages of a broker"),
    ("[/a]\nalrt = x\n[/b]\n", "http.conf:2: unknown key alrt; did you mean alert?"),
    ("[/a]\nalrt = x\n[/b]\n", "http.conf:3: [/b] has no keys"),
    ("idle = 60s\n  idle 90s", "http.conf:2: expected KEY = VALUE"),
  ])
  func `a wrong setting is named`(line: String, words: String) throws {
    let settings = try box.write(line + "\n", to: "http.conf")
    let refused = try box.run([
      "\(Build.directory)/\(Build.host)/tinypush-http", "--settings", settings, "--listen",
      box.path + "/http.sock", "-o", "spool=" + box.spool,
    ])
    #expect(refused.status == 78)
    #expect(refused.errors.contains(words), "\(refused.errors)")
  }
}
