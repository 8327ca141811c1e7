import Foundation
import Testing

/// The recipes of the manual, run as printed, up to the alert on the device or another result.
@Suite(.sideBySide) struct RecipeTests {
  /// Texts that a shell, cron, udev or a template could misinterpret.
  static let hostile = [
    #"it's "quoted" $(touch /run/touched) `touch /run/touched` ; touch /run/touched # \"#,
    "--to nobody", "-x", "100 % {{ 7 * 7 }} $env{x} 'a'\"b\"", "two\nlines  and\ttabs",
  ]

  // MARK: - All recipes

  @Test func `each recipe has a test, and the manual renders it unchanged`() throws {
    let folder = (#filePath as NSString).deletingLastPathComponent
    let source = try ["RecipeTests", "HookRecipeTests", "OperationTests"].map {
      try String(contentsOfFile: "\(folder)/\($0).swift", encoding: .utf8)
    }.joined()
    for page in Recipe.pages {
      let shown = try box.run(["mandoc", "-Tutf8", "-Owidth=200", page]).output
      for (name, text) in try Recipe.read(page) {
        #expect(source.contains("Recipe.text(\"\(name)\")"), "\(name)")
        for line in text.split(separator: "\n") {
          #expect(shown.contains("     \(line)\n"), "\(name): \(line)")
        }
      }
    }
  }

  // MARK: - Sending

  @Test func `the recipe for shell scripts sends any text`() throws {
    let board = try Board(in: box)
    try board.start("tinypush")
    try board.install(Recipe.text("shell"), as: "started")
    let started = try board.run(["started"], as: "pi")
    #expect(started.status == 0)
    #expect(started.output + started.errors == "")
    try wait(for: "the alert") { try !board.sandbox.events("delivered").isEmpty }
    let first = try #require(board.sandbox.events("delivered").first)
    #expect((first["text"] as? String ?? "").hasPrefix("up since 20"))
    #expect(first["title"] as? String == ProcessInfo.processInfo.hostName)

    let call = ["sh", "-c", #". /usr/local/bin/started >/dev/null 2>&1; alert "$1""#, "sh"]
    for text in Self.hostile {
      let sent = try board.run(call + [text], as: "pi")
      #expect(sent.status == 0, "\(sent.errors)")
      try board.shows(text)
    }
    #expect(try board.run(call + [String(repeating: "x", count: 5000)], as: "pi").status == 0)
  }

  @Test func `the recipe for jq sends any text`() throws {
    let board = try Board(in: box)
    try board.start("tinypush")
    try board.install(Recipe.text("jq"), as: "level")
    for (number, text) in Self.hostile.enumerated() {
      let sent = try board.run(["level", "tank \(number)", text], as: "pi")
      #expect(sent.status == 0, "\(sent.errors)")
      try board.shows("tank \(number): \(text) l")
    }
  }

  @Test func `the recipe that writes and renames a file sends any text`() throws {
    let board = try Board(in: box)
    try board.start("tinypush")
    try board.install(Recipe.text("drop"), as: "lines")
    let lines = Self.hostile.filter { !$0.contains("\n") }
    let sent = try board.run(
      ["lines"], as: "pi", input: lines.map { $0 + "\n" }.joined())
    #expect(sent.status == 0)
    #expect(sent.errors == "")
    for line in lines { try board.shows(line) }
  }

  @Test func `the recipe for cron reports a job and its failure`() throws {
    let board = try Board(in: box)
    try board.start("tinypush")
    try board.write(Recipe.text("cron"), to: "etc/cron.d/alerts")
    let cron = ["python3", Build.tools + "/cronjob.py", "/etc/cron.d/alerts"]
    var today = ""
    let date = { try box.run(["date", "+%F"]).output.trimmingCharacters(in: .newlines) }
    // At midnight the job runs twice.
    repeat {
      today = try date()
      let alive = try board.run(cron + ["1"])
      #expect(alive.status == 0)
      // Without output, cron mails nothing.
      #expect(alive.output + alive.errors == "")
    } while try date() != today
    try board.shows("Alive on \(today)")
    // The backup program does not exist here: status 127.
    #expect(try board.run(cron + ["2"]).status == 0)
    try board.shows("Backup: error 127")
  }

  @Test func `the recipe for mails of cron reports what a job prints`() throws {
    let board = try Board(in: box)
    try box.run(["dpkg-deb", "--extract", Packages.file("tinypush-sendmail"), board.root])
    try board.start("tinypush")
    try board.write(Recipe.text("cron-mail"), to: "etc/cron.d/backup")
    let cron = ["python3", Build.tools + "/cronjob.py"]
    #expect(try board.run(cron + ["/etc/cron.d/backup", "1"]).status == 0)
    // The backup program does not exist here.
    let shown = try board.shows("/bin/sh: 1: /opt/backup: not found\nBackup: error 127")
    let title = try #require(shown["title"] as? String)
    #expect(title.hasPrefix("Cron <pi@") && title.contains("> /opt/backup >/dev/null"))
    // Without an address, and without output, cron mails nothing.
    for (name, job) in [
      ("nobody", "MAILTO=\n* * * * * pi echo unseen\n"), ("silent", "* * * * * pi true\n"),
    ] {
      try board.write(job, to: "etc/cron.d/" + name)
      #expect(try board.run(cron + ["/etc/cron.d/\(name)", "1"]).status == 0)
    }
    try board.run(["tinypush", "send", "the last"], as: "pi")
    try board.shows("the last")
    #expect(try board.sandbox.events("delivered").count == 2)
  }

  @Test func `the recipe for udev reports power loss and USB disks`() throws {
    let board = try Board(in: box)
    try board.start("tinypush")
    let path = "/etc/udev/rules.d/90-alerts.rules"
    try board.write(Recipe.text("udev"), to: String(path.dropFirst()))
    let udev = ["python3", Build.tools + "/udevrule.py", path]
    let power = ["ACTION=change", "SUBSYSTEM=power_supply"]
    let disk = ["SUBSYSTEM=block", "DEVTYPE=disk", "ID_BUS=usb", "ID_MODEL=Flash_Disk"]
    for properties in [
      power + ["POWER_SUPPLY_ONLINE=1"], ["ACTION=remove"] + disk,
      power + ["POWER_SUPPLY_ONLINE=0"], ["ACTION=add"] + disk,
    ] {
      let done = try board.run(udev + properties)
      #expect(done.status == 0, "\(done.errors)")
    }
    try board.shows("On battery")
    try board.shows("Plugged in: Flash_Disk")
    #expect(try board.sandbox.events("delivered").count == 2)
  }

  @Test func `the recipe for a camera reports each new picture`() throws {
    let board = try Board(in: box)
    try board.start("tinypush")
    try board.install(Recipe.text("watch"), as: "watch-camera")
    try board.write(
      Recipe.text("watch.service"), to: "etc/systemd/system/watch-camera.service")
    try board.write("", to: "srv/camera/before.jpg")
    let started = try board.run(["systemctl", "enable", "--now", "watch-camera"])
    #expect(started.status == 0, "\(started.errors)")
    try wait(for: "the watch") {
      board.text("run/watch-camera.service.log").contains("Watches established.")
    }
    for name in ["1 & 2.jpg", "$(touch x) \\n 'a'.jpg", "-.jpg"] {
      try board.write("picture", to: "srv/camera/\(name)")
      try board.shows("Camera: \(name)")
    }
    #expect(try board.sandbox.events("delivered").count == 3)
  }

  @Test func `the recipe for Node-RED sends any text and reports errors`() throws {
    let board = try Board(in: box)
    try board.start("tinypush")
    // The user pi could make the file.
    #expect(chmod(board.root + "/run", 0o1777) == 0)
    let path = "/usr/share/doc/tinypush/examples/node-red.json"
    let flows = try JSONSerialization.jsonObject(
      with: Data(board.text(String(path.dropFirst())).utf8))
    let functions = try #require(flows as? [[String: Any]])
      .compactMap { $0["func"] as? String }.map { $0 + "\n" }
    try #expect(
      functions == [Recipe.text("node-red-quote"), Recipe.text("node-red-note")])
    for (way, node) in ["tinypush-quote", "tinypush-note"].enumerated() {
      for text in Self.hostile.map({ "\($0) \(way)" }) {
        let payload = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
        let sent = try board.run(
          ["node", Build.tools + "/nodered.js", path, node, payload], as: "pi")
        #expect(sent.status == 0, "\(sent.errors)")
        #expect(sent.output == "")
        try board.shows(text)
      }
    }
    // The node for errors gets the message of a refusal.
    let refused = try board.run(
      ["node", Build.tools + "/nodered.js", path, "tinypush-quote", "\"\""], as: "pi")
    #expect(refused.output.contains("the text is empty"))
    #expect(!FileManager.default.fileExists(atPath: board.root + "/run/touched"))
  }

  @Test func `the recipes for Home Assistant send any text`() throws {
    let board = try Board(in: box)
    try board.start("tinypush")
    // The user pi could make the file.
    #expect(chmod(board.root + "/run", 0o1777) == 0)
    for recipe in try [
      Recipe.text("home-assistant"), Recipe.text("home-assistant-container"),
    ] {
      try board.write(recipe, to: "etc/configuration.yaml")
      let way = recipe.count
      for text in Self.hostile.map({ "\($0) \(way)" }) {
        let sent = try board.run(
          [
            Build.tools + "/shellcommand.py", "/etc/configuration.yaml", "alert",
            "message=\(text)",
          ], as: "pi")
        #expect(sent.status == 0, "\(sent.errors)")
        try board.shows(text)
      }
    }
    #expect(!FileManager.default.fileExists(atPath: board.root + "/run/touched"))
  }

  @Test func `the recipe for curl delivers to the sandbox`() throws {
    let sandbox = try Sandbox(in: box, hasDevices: true)
    try FileManager.default.moveItem(
      atPath: box.path + "/sandbox", toPath: box.path + "/tinypush-sandbox")
    let program = try Build.command(Build.host).map { "'\($0)'" }.joined(separator: " ")
    let recipe = try Recipe.text("curl").replacing("2195", with: "\(sandbox.gateway)")
      .replacing("tinypush sandbox device", with: program + " sandbox device")
    let sent = try box.run(["sh", "-ec", recipe])
    #expect(sent.output.hasPrefix("HTTP/2 200 "), "\(sent.output)\(sent.errors)")
    #expect(try sandbox.child.terminate() == 0)
    try #expect(sandbox.events("delivered").map { $0["text"] as? String } == ["Tank low"])
  }

  // MARK: - MQTT

  /// Tries a recipe's rules on messages, and returns the notifications; nil: ignored.
  private func notifications(
    _ recipe: String, _ messages: String, in box: Box
  ) throws -> [[String: Any]?] {
    let rules = try box.write(recipe, to: "mqtt.conf")
    let check = try box.run(
      [Box.bridge, "check", "--rules", rules, "--json", "-"], input: messages)
    #expect(check.status == 0, "\(check.output)\(check.errors)")
    return try objects(check.output).map { $0["notification"] as? [String: Any] }
  }

  /// Tries a recipe's rules on messages, and returns the texts of the alerts; nil: ignored.
  private func alerts(
    _ recipe: String, _ messages: String, in box: Box
  ) throws -> [String?] {
    try notifications(recipe, messages, in: box).map { notification in
      let aps = (notification?["payload"] as? [String: [String: Any]])?["aps"]
      return aps?["alert"] as? String ?? (aps?["alert"] as? [String: String])?["body"]
    }
  }

  @Test func `the recipe for Zigbee2MQTT reports leaks, smoke and batteries`() throws {
    let messages = """
      zigbee2mqtt/bath {"battery":80,"water_leak":true}
      zigbee2mqtt/bath {"battery":80,"water_leak":false}
      zigbee2mqtt/hall {"smoke":true,"battery":9}
      zigbee2mqtt/hall {"smoke":false,"battery":9}

      """
    let alerts = try alerts(Recipe.text("zigbee2mqtt"), messages, in: box)
    #expect(
      alerts == [
        "Water at bath", nil, "Smoke at hall", "The battery of hall is at 9 %",
        "The battery of hall is at 9 %",
      ])
  }

  @Test func `the recipe for Home Assistant and MQTT names the recipients by the topic`() throws {
    let action = try Recipe.text("home-assistant-mqtt")
    #expect(action.contains("topic: alerts/family\n"))
    #expect(action.contains("qos: 1\n"))
    let (rule, message) = try (
      Recipe.text("home-assistant-rule"), "alerts/family The \"tank\" is low\n"
    )
    try #expect(alerts(rule, message, in: box) == [#"The "tank" is low"#])
    let to = try notifications(rule, message, in: box).first??["to"]
    #expect(to as? String == "family" || to as? [String] == ["family"])
  }

  @Test func `the recipe for Home Assistant's discovery publishes a device`() throws {
    let broker = try Mosquitto(in: box)
    let recipe = try Recipe.text("home-assistant-discovery")
    #expect(recipe.contains("broker = localhost\n"))
    try box.write(
      recipe.replacing("localhost", with: "127.0.0.1:\(broker.port)"), to: "mqtt.conf")
    let bridge = try box.bridge()
    try wait(for: "the device") { try broker.retained(below: "homeassistant").count == 1 }
    #expect(try bridge.terminate() == 0)
  }

  @Test func `the access list for a fleet lets each box do its part, and nobody else`() throws {
    let access = try box.write(Recipe.text("fleet-acl") + "\npattern readwrite end/#\n", to: "acl")
    let passwords = try box.write("", to: "passwords")
    for user in ["tinypush-attic", "tinypush-cellar", "homeassistant", "mallory"] {
      try box.run(["mosquitto_passwd", "-b", passwords, user, user])
    }
    let broker = try Mosquitto(
      in: box, "allow_anonymous false\npassword_file \(passwords)\nacl_file \(access)")
    func login(_ user: String) -> [String] { ["-u", user, "-P", user] }
    let settings = "discovery = homeassistant\nuser = tinypush-attic\npassword = tinypush-attic\n"
    let bridge = try box.member(of: broker, "tinypush-attic", settings)
    try broker.publish("alerts/1", "first", login("homeassistant"))
    try wait(for: "the message") { try box.alerts() == ["first"] }
    let seen = login("homeassistant")
    try wait(for: "the state and the device") {
      let states = try broker.retained(below: "tinypush/fleet", seen)
      let devices = try broker.retained(below: "homeassistant", seen)
      return states.count == 1 && devices.count == 1
    }
    #expect(try box.fleet().output.contains("tinypush-attic"))
    #expect(try bridge.terminate() == 0)
    #expect(!bridge.errors.contains("refused"), "\(bridge.errors)")
    let forbidden = [
      ("mallory", "tinypush/fleet/tinypush-attic"),
      ("homeassistant", "tinypush/fleet/tinypush-attic"),
      ("tinypush-cellar", "tinypush/fleet/tinypush-attic"), ("mallory", "alerts/1"),
    ]
    for (user, topic) in forbidden {
      let refused = try box.run(
        ["mosquitto_pub", "-h", "127.0.0.1", "-p", "\(broker.port)", "-V", "mqttv5", "-q", "1"]
          + ["-t", topic, "-m", "x"] + login(user))
      #expect(refused.errors.contains("Not authorized"), "\(user) \(topic)")
    }
    #expect(try broker.retained(below: "tinypush", login("mallory")) == [:])
  }

  // MARK: - Setting up

  @Test func `a .p12 file becomes a certificate that the agent runs with`() throws {
    let board = try Board(in: box, certificate: false)
    // With RC2 and 3DES, like the files that the Keychain exports.
    let exported = try box.run([
      "openssl", "pkcs12", "-export", "-legacy", "-in", "sandbox/client.pem", "-inkey",
      "sandbox/client-key.pem", "-name", "Apple Push Services: com.example.tinypush",
      "-passout", "pass:secret", "-out", "push.p12",
    ])
    #expect(exported.status == 0, "\(exported.errors)")
    try board.start("tinypush")
    #expect(board.log == "")
    try box.write(Recipe.text("p12"), to: "recipe")
    // Without a terminal the password is read from standard input.
    let done = try board.run(
      ["sh", "-c", "umask 0; cd \"$1\" && exec setsid --wait sh -e recipe", "sh", box.path],
      input: "secret\n")
    #expect(done.status == 0, "\(done.output)\(done.errors)")
    #expect(done.output.contains("com.example.tinypush"))
    let credentials = board.root + "/etc/tinypush/credentials"
    #expect(try mode(credentials) == 0o700)
    #expect(try mode(credentials + "/push.pem") == 0o600)
    let sent = try board.run(["tinypush", "send", "by the new certificate"], as: "pi")
    #expect(sent.status == 0)
    try board.shows("by the new certificate")
  }

  @Test func `the alert reaches Bark without an app of one's own`() throws {
    let board = try Board(in: box, certificate: false)
    let token = try board.sandbox.token(box, "add", "pocket", "--topic", "me.fin.bark")
    try board.write("", to: "etc/tinypush/recipients/default")
    try box.write(
      box.text("sandbox/AuthKey_SANDBOXKEY.p8"), to: "AuthKey_LH4T9V5U4R_5U8LBRXG3A.p8")
    try board.start("tinypush")
    try box.write(Recipe.text("bark"), to: "recipe")
    let done = try board.run(
      [
        "sh", "-c", "cd \"$1\" && TOKEN=\"$2\" && export TOKEN && sh -e recipe", "sh", box.path,
        token,
      ])
    #expect(done.status == 0, "\(done.output)\(done.errors)\(board.log)")
    #expect(done.output.contains("LH4T9V5U4R") && done.output.contains("me.fin.bark, the app Bark"))
    let shown = try board.shows("Tank low")
    #expect(shown["device"] as? String == "pocket")
    #expect(shown["url"] as? String == "http://board/tank")
    #expect(shown["group"] as? String == "cellar")
    #expect(
      shown["category"] as? String == "myNotificationCategory", "the category is added")
    #expect(shown["notes"] as? [String] == [])
  }

  @Test func `commands that root runs before the agent's first start do not hinder the agent`()
    throws
  {
    let board = try Board(in: box)
    let checked = try board.run(["tinypush", "check"])
    #expect(checked.status == 0, "\(checked.output)\(checked.errors)")
    try board.run(["tinypush", "send", "later", "--not-before", "1d"])
    #expect(try board.run(["tinypush", "run", "--once"]).status == 0)
    try board.start("tinypush")
    try board.run(["tinypush", "send", "later still", "--not-before", "2d"], as: "pi")
    try board.run(["tinypush", "send", "now"], as: "pi")
    try board.shows("now")
    let spool = board.root + "/var/spool/tinypush/"
    try wait(for: "both in later/") {
      try FileManager.default.contentsOfDirectory(atPath: spool + "later").count == 2
    }
  }

  @Test func `the recipe for several apps runs an agent with its own certificate for each app`()
    throws
  {
    let board = try Board(in: box)
    let apps = [("doors", "Door open"), ("pumps", "Pump on")]
    for (app, _) in apps {
      try box.makeCertificate(app, topic: "com.example.\(app)", in: board.sandbox)
      try board.write(
        board.credential(app), to: "etc/tinypush/credentials/\(app).pem")
    }
    try board.write(
      "# app by app\n"
        + apps.map { app, _ in
          try board.sandbox.token(box, "add", "phone", "--topic", "com.example.\(app)") + "\n"
        }.joined(), to: "etc/tinypush/recipients/default")
    try box.write(Recipe.text("apps"), to: "recipe")
    let options =
      "-o gateway=localhost:\(board.sandbox.gateway) -o ca=/etc/tinypush/ca.pem"
    let done = try board.run(
      ["sh", "-e", box.path + "/recipe"], environment: ["TINYPUSH_OPTIONS": options])
    #expect(done.status == 0, "\(done.errors)")
    func failed(_ app: String) throws -> [String] {
      try FileManager.default.contentsOfDirectory(
        atPath: board.root + "/var/spool/tinypush\(app)/failed")
    }
    for (app, text) in apps {
      let shown = try board.shows(text)
      #expect(shown["topic"] as? String == "com.example.\(app)")
      // The recipients file also has the other app's token, which is invalid for this app.
      try wait(for: "the refused notification of \(app)") { try !failed("/\(app)").isEmpty }
    }
    #expect(try failed("") == [])
  }

  // MARK: - Over HTTP

  /// Returns the value of a key in a YAML text, at a path of keys and numbers.
  private func yaml(_ text: String, _ path: String, in box: Box) throws -> String {
    try box.write(text, to: "recipe.yml")
    return try box.run([
      "python3", "-c", "import yaml; print(yaml.safe_load(open('recipe.yml'))\(path))",
    ]).output.trimmingCharacters(in: .newlines)
  }

  @Test func `the recipes for Grafana and Alertmanager name a webhook that takes alerts`() throws {
    let service = try HTTPService(in: box)
    let urls = try [
      yaml(
        Recipe.text("grafana"), "['contactPoints'][0]['receivers'][0]['settings']['url']", in: box),
      yaml(Recipe.text("alertmanager"), "['receivers'][0]['webhook_configs'][0]['url']", in: box),
    ]
    for url in urls {
      #expect(url.hasPrefix("http://localhost:8077/"))
      let answer = try service.post(
        json: #"{"alerts": [{"status": "firing", "labels": {"alertname": "Disk"}}]}"#,
        to: #require(URL(string: url)).path)
      #expect(try service.notifications(answer).first?["to"] as? [String] == ["family"])
    }
  }

  @Test func `the recipe for curl on another machine sends any text`() throws {
    let token = try box.write("0123456789abcdef\n", to: "token")
    let service = try HTTPService(in: box, settings: "token-file = \(token)\n")
    try box.write("Authorization: Bearer 0123456789abcdef\n", to: "header")
    let recipe = try Recipe.text("curl-text")
    #expect(recipe.contains("http://192.168.1.5:8077/") && recipe.contains("@/etc/alert-token"))
    let script = try box.write(
      recipe.replacing("/etc/alert-token", with: box.path + "/header")
        .replacing("exec curl", with: "exec curl --unix-socket \(service.socket)"), to: "alert")
    for text in Self.hostile {
      let sent = try box.run(["sh", script, text])
      #expect(sent.status == 0, "\(sent.errors)")
    }
    let alerts = try box.queued.sorted().map { name in
      let notification = try #require(objects(box.text("spool/new/" + name)).first)
      #expect((notification["collapse-id"] as? String)?.count == 36)
      let aps = (notification["payload"] as? [String: Any])?["aps"] as? [String: Any]
      return (aps?["alert"] as? [String: Any])?["body"] as? String
    }
    #expect(alerts == Self.hostile)
  }

  @Test func `the recipe for ESPHome posts a text`() throws {
    let token = try box.write("0123456789abcdef\n", to: "token")
    let service = try HTTPService(in: box, settings: "token-file = \(token)\n")
    let recipe = try Recipe.text("esphome").replacing("TOKEN", with: "0123456789abcdef")
    func part(_ path: String) throws -> String {
      try yaml(recipe, "['binary_sensor'][0]['on_press'][0]['http_request.post']" + path, in: box)
    }
    let url = try part("['url']")
    #expect(url.hasPrefix("http://192.168.1.5:8077/"))
    let headers = ["Authorization", "Content-Type"]
    let options = try headers.flatMap {
      try ["--header", "\($0): " + part("['request_headers']['\($0)']")]
    }
    let answer = try service.request(
      String(url.trimmingPrefix("http://192.168.1.5:8077")),
      options + ["--data-raw", part("['body']")])
    #expect(try service.notifications(answer).first?["to"] as? [String] == ["family"])
  }

  @Test func `the recipe for a microcontroller posts to a path that takes texts`() throws {
    let token = try box.write("0123456789abcdef\n", to: "token")
    let service = try HTTPService(in: box, settings: "token-file = \(token)\n")
    let text = try Recipe.text("esp")
    let url = try #require(text.firstMatch(of: #/"http:\/\/[^\/]*(\/[^"]*)"/#)).1
    #expect(text.contains(#""Authorization", String("Bearer ") + token"#))
    let answer = try service.request(
      String(url), "--header", "Authorization: Bearer 0123456789abcdef", "--header",
      "Content-Type: text/plain", "--data", "Tank low")
    #expect(answer.status == 202)
  }

  // MARK: - Tokens

  @Test func `the recipe for a token receiver adds the tokens that apps post`() throws {
    let board = try Board(in: box)
    try board.start("tinypush")
    let phone = try board.sandbox.token(box, "token", "phone")
    let family = "etc/tinypush/recipients/family"
    try board.write("# posted\n", to: family)
    let port = try box.port().number
    let receiver = try Recipe.text("token-receiver")
    #expect(receiver.contains(" 8300)"))
    try board.install(receiver.replacing(" 8300)", with: " \(port))"), as: "token-receiver")
    try board.write(
      Recipe.text("token-receiver.service"), to: "etc/systemd/system/token-receiver.service")
    try box.write(Recipe.text("token-setup"), to: "recipe")
    let done = try board.run(["sh", "-e", box.path + "/recipe"])
    #expect(done.status == 0, "\(done.errors)")
    #expect(try mode(board.root + "/etc/tinypush/token-secret") == 0o600)
    let secret = board.text("etc/tinypush/token-secret").trimmingCharacters(in: .newlines)
    #expect(secret.count == 32)

    /// Posts a token as an app does, and returns the status of the answer.
    func post(
      _ body: String, to name: String = "family", secret: String,
      language: String = "fr-CA,fr;q=0.9"
    ) throws -> String {
      try box.run([
        "curl", "--silent", "--path-as-is", "--output", "/dev/null", "--write-out", "%{http_code}",
        "--request",
        "POST", "--header", "Authorization: Bearer " + secret, "--header",
        "Accept-Language: " + language, "--header", "Expect:", "--data-binary", body,
        "http://127.0.0.1:\(port)/\(name)",
      ]).output
    }
    try wait(for: "the receiver; \(board.log)") { try post(phone, secret: "") == "401" }
    try #expect(post(phone, secret: String(repeating: "0", count: 32)) == "401")
    for name in ["default", "family?x", "../family", "..%2ffamily", ""] {
      try #expect(post(phone, to: name, secret: secret) == "404", "\(name)")
    }
    for body in [String(repeating: "z", count: 64), "", "--comment=" + String(phone.dropFirst(10))]
    {
      try #expect(post(body, secret: secret) == "400", "\(body)")
    }
    #expect(timeless(board.text(family)) == "# posted\n")
    for _ in 1...2 { try #expect(post(phone, secret: secret) == "204", "\(board.log)") }
    #expect(timeless(board.text(family)) == "# posted\n\(phone) lang=fr-CA\n")
    for language in ["*", "$(touch /run/touched)", ""] {
      try #expect(post(phone, secret: secret, language: language) == "204")
    }
    try #expect(post(phone.uppercased(), secret: secret, language: "de") == "204")
    #expect(timeless(board.text(family)) == "# posted\n\(phone) lang=de\n")
    try board.run(["tinypush", "send", "--to", "family", "to the poster"], as: "pi")
    try board.shows("to the poster")
  }

  @Test func `the recipe for a spool on tmpfs delivers and reports a full spool`() throws {
    let board = try Board(in: box)
    try board.start("tinypush")
    try board.write(Recipe.text("tmpfs-fstab"), to: "etc/fstab")
    try box.write(Recipe.text("tmpfs"), to: "recipe")
    let done = try board.run([
      "sh", "-euc",
      """
      sh -e "$1"
      findmnt --noheadings --output FSTYPE,SIZE /var/spool/tinypush
      stat --format '%a %U %G' /var/spool/tinypush /var/spool/tinypush/new
      tinypush send 'by way of memory'
      # A notification that leaves later makes room.
      cd /var/spool/tinypush
      while [ -n "$(find new taken -type f)" ]; do sleep 0.1; done
      head --bytes=17M /dev/zero >/var/spool/tinypush/tmp/filler || true
      tinypush send 'no room' || echo "$?"
      rm /var/spool/tinypush/tmp/filler
      tinypush send 'room again'
      """, "sh", box.path + "/recipe",
    ])
    #expect(done.status == 0, "\(done.errors)")
    let lines = done.output.split(separator: "\n")
    #expect(lines.first?.split(separator: " ") == ["tmpfs", "16M"])
    if geteuid() == 0 {
      #expect(lines.dropFirst().prefix(2) == ["2750 tinypush tinypush", "3770 tinypush tinypush"])
    }
    #expect(lines.contains("74"))
    #expect(done.errors.contains("No space left on device"))
    try board.shows("by way of memory")
    try board.shows("room again")
    // The unit waits for the mount.
    let unit = board.text("usr/lib/systemd/system/tinypush.service")
    #expect(unit.contains("\nRequiresMountsFor=/var/spool/tinypush\n"))
  }

  @Test func `the recipe for a read-only root delivers, with and without a state directory`() throws
  {
    let board = try Board(in: box)
    try board.start("tinypush")
    // A tmpfs takes the place of the partition.
    let fstab = try Recipe.text("read-only-root-fstab")
    let partition = "/dev/mmcblk0p3 /data ext4 "
    #expect(fstab.contains(partition))
    #expect(fstab.contains(" / ext4 ro,"))
    try board.write(
      fstab.replacing(partition, with: "tmpfs /data tmpfs "), to: "etc/fstab")
    try box.write(Recipe.text("read-only-root"), to: "recipe")
    let done = try board.run([
      "sh", "-euc",
      """
      sh -e "$1"
      systemctl stop tinypush
      for directory in / /etc /usr /var /srv; do mount -o remount,bind,ro $directory; done
      for directory in / /etc /var /var/lib /var/spool; do
        ! touch $directory/file 2>/dev/null || exit 1
      done
      systemctl start tinypush
      printf '{"token":"%064d","payload":{"aps":{"alert":"to nobody"}}}' 0 |
        tinypush send - --wait || test $? = 65
      tinypush send --wait 'from a read-only root'
      ls /data/state
      systemctl stop tinypush
      umount --lazy /var/lib/tinypush
      systemctl start tinypush
      printf '{"token":"%064d","payload":{"aps":{"alert":"to nobody"}}}' 0 |
        tinypush send - --wait || test $? = 65
      tinypush send --wait 'without a state'
      """, "sh", box.path + "/recipe",
    ])
    #expect(done.status == 0, "\(done.output)\(done.errors)\(board.log)")
    #expect(done.output.contains("\nrecent.list\n"))
    try board.shows("from a read-only root")
    try board.shows("without a state")
    #expect(board.log.contains("Read-only file system"), "\(board.log)")
  }

  @Test func `the recipe for trouble sends a mail and lights a LED`() throws {
    let mail = try box.start(["python3", Build.tools + "/smtp.py"])
    let port = try mail.line("listening ").dropFirst("listening ".count)
    let led = try box.write("0\n", to: "led0/brightness")
    let script = try box.write(
      Recipe.text("trouble").replacing("/sys/class/leds", with: box.path)
        .replacing("smtp://localhost", with: "smtp://localhost:\(port)"), to: "trouble")
    chmod(script, 0o755)
    let gateway = try Gateway(in: box)
    let agent = try box.start(
      Build.command(Build.host) + ["run"]
        + box.settings(gateway.port, certificate: "client-soon", ["on-trouble=" + script]))
    let reason = try mail.line("the push certificate ends in ")
    #expect(reason.hasSuffix(": renew it"))
    #expect(mail.output.contains(": certificate began\n\n"), "\(mail.output)")
    #expect(box.text("led0/brightness") == "1\n")
    #expect(try agent.terminate() == 0)
    // The commands that the drop-in runs before the agent starts.
    chmod(led, 0o644)
    for line in try Recipe.text("led").split(separator: "\n") {
      guard let command = line.components(separatedBy: "ExecStartPre=+").dropFirst().first else {
        continue
      }
      let own = command.replacing("/sys/class/leds", with: box.path)
        .replacing("chgrp tinypush", with: "chgrp \(getgid())")
      #expect(try box.run(["sh", "-ec", own]).status == 0)
    }
    var information = stat()
    #expect(stat(led, &information) == 0 && information.st_mode & 0o777 == 0o664)
  }

  @Test func `the recipe for Prometheus writes valid metrics`() throws {
    let board = try Board(in: box)
    let directory = "var/lib/prometheus/node-exporter"
    try FileManager.default.createDirectory(
      atPath: "\(board.root)/\(directory)", withIntermediateDirectories: true)
    try board.start("tinypush")
    try board.run(["tinypush", "send", "--wait", "counted"])
    try board.write(Recipe.text("prometheus"), to: "etc/cron.d/tinypush-metrics")
    func collected() throws -> String {
      let done = try board.run([
        "python3", Build.tools + "/cronjob.py", "/etc/cron.d/tinypush-metrics", "1",
      ])
      #expect(done.status == 0)
      // Without output, cron mails nothing.
      #expect(done.output + done.errors == "")
      let names = try FileManager.default.contentsOfDirectory(
        atPath: "\(board.root)/\(directory)")
      #expect(names == ["tp.prom"])
      let metrics = board.text("\(directory)/tp.prom")
      let checked = try box.run(
        [Build.directory + "/promtool", "check", "metrics"], input: metrics)
      #expect(checked.status == 0, "\(checked.errors)")
      return metrics
    }
    let running = try collected()
    #expect(running.contains("\ntinypush_up 1\n"))
    #expect(running.contains("\ntinypush_sent_total 1\n"), "\(running)")
    try board.run(["systemctl", "stop", "tinypush"])
    #expect(try collected().hasSuffix("\ntinypush_up 0\n"))
  }
}
