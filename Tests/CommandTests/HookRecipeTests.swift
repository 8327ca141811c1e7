import Foundation
import Testing

/// The recipes that other programs run or post to, with what these programs give: arguments and
/// environment of a hook, or the body and headers of a request.
@Suite(.sideBySide) struct HookRecipeTests {
  /// A board with a running agent and the script `alert`.
  private func board(in box: Box) throws -> Board {
    let board = try Board(in: box)
    try board.start("tinypush")
    try board.install(Recipe.text("alert"), as: "alert")
    return board
  }

  /// Runs a hook as its program does, which gets no output from it.
  private func run(
    _ command: [String], on board: Board, as user: String? = nil,
    _ environment: [String: String] = [:], input: String? = nil
  ) throws {
    let done = try board.run(command, as: user, environment: environment, input: input)
    #expect(done.status == 0, "\(command)")
    #expect(done.output + done.errors == "", "\(command)")
  }

  // MARK: - systemd

  /// Returns the commands of a unit, with the specifiers replaced.
  private func commands(_ unit: String, instance: String) -> [String] {
    unit.replacing("\\\n", with: "").matches(of: #/(?m)^ExecStart=(.+)$/#).map {
      String($0.1).replacing("%i", with: instance)
        .replacing("%H", with: ProcessInfo.processInfo.hostName)
    }
  }

  @Test func `a unit of systemd that fails sends an alert`() throws {
    let board = try Board(in: box)
    try board.start("tinypush")
    let unit = try Recipe.text("alert.service")
    let watched = try Recipe.text("on-failure")
    let folder = "etc/systemd/system"
    try board.write(unit, to: folder + "/alert@.service")
    try board.write(watched + "[Service]\nExecStart=/bin/false\n", to: folder + "/backup.service")
    let verified = try board.run([
      "systemd-analyze", "verify", "--man=no", "/\(folder)/alert@backup.service.service",
      "/\(folder)/backup.service",
    ])
    #expect(verified.status == 0, "\(verified.errors)")
    #expect(!verified.errors.contains("alert@"), "\(verified.errors)")
    #expect(watched.contains("OnFailure=alert@%n.service\n"), "the instance is backup.service")
    // systemd tells the unit of OnFailure= how the other one ended; sh replaces as systemd does.
    for command in commands(unit, instance: "backup.service") {
      let done = try board.run(
        ["sh", "-c", command],
        environment: ["MONITOR_SERVICE_RESULT": "exit-code", "MONITOR_EXIT_STATUS": "1"])
      #expect(done.status == 0, "\(done.errors)")
    }
    let shown = try board.shows("backup.service failed: exit-code 1")
    #expect(shown["title"] as? String == ProcessInfo.processInfo.hostName)
    // A drop-in of the same name, nearer to the unit, takes the place of that for all services.
    try box.write(Recipe.text("on-failure-all"), to: "recipe")
    #expect(try board.run(["sh", "-e", box.path + "/recipe"]).status == 0)
    let masked = board.root + "/\(folder)/alert@.service.d/alert.conf"
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: masked) == "/dev/null")
  }

  @Test func `a user of a unit with restrictions sends with the group and the spool alone`() throws
  {
    let board = try Board(in: box)
    try board.start("tinypush")
    let unit = try Recipe.text("restricted")
    let group = try #require(unit.firstMatch(of: #/SupplementaryGroups=(.+)/#)).1
    let path = try #require(unit.firstMatch(of: #/ReadWritePaths=(.+)/#)).1
    // As systemd makes it: a user that no file names, and all read-only but the path.
    let identity =
      geteuid() == 0
      ? "setpriv --reuid=61184 --regid=61184 --groups=\(group) --inh-caps=-all --no-new-privs" : ""
    let script = """
      mount --bind $1 $1
      for directory in / /etc /usr /var /srv; do mount -o remount,bind,ro $directory; done
      cd /
      \(identity) tinypush send "$2"
      """
    let sent = try board.run(["sh", "-euc", script, "sh", String(path), "from a dynamic user"])
    #expect(sent.status == 0, "\(sent.errors)")
    try board.shows("from a dynamic user")
    // Without the path, the command says what is missing.
    let refused = try board.run(["sh", "-euc", script, "sh", "/srv", "lost"])
    #expect(refused.status == 73 || refused.status == 74, "\(refused.status)")
    #expect(refused.errors.contains("Read-only file system"), "\(refused.errors)")
  }

  @Test func `a unit without the spool sends over the socket of tinypush-http`() throws {
    let service = try HTTPService(in: box)
    let recipe = try Recipe.text("restricted-http")
    #expect(recipe.contains("/run/tinypush-http.sock"))
    let sent = try box.run([
      "unshare", "--map-root-user", "--net", "sh", "-ec",
      recipe.replacing("/run/tinypush-http.sock", with: service.socket),
    ])
    #expect(sent.status == 0, "\(sent.errors)")
    #expect(sent.output == "")
    let notification = try #require(box.notifications().first)
    #expect(notification["to"] as? [String] == ["family"])
    #expect(body(notification) == "Backup failed")
    #expect(title(notification) == ProcessInfo.processInfo.hostName)
  }

  // MARK: - Hooks

  @Test func `NUT sends its message`() throws {
    let board = try board(in: box)
    let settings = try Recipe.text("nut")
    let command = try #require(settings.firstMatch(of: #/NOTIFYCMD (.+)/#)).1
    #expect(settings.contains("NOTIFYFLAG ONBATT SYSLOG+EXEC\n"))
    // upsmon runs `sh -c 'NOTIFYCMD "MESSAGE"'`.
    for (type, message) in [
      ("ONBATT", "UPS ups@localhost on battery"),
      ("ONLINE", "UPS ups@localhost on line power"),
    ] {
      try run(
        ["sh", "-c", "\(command) \"\(message)\""], on: board, as: "pi",
        ["NOTIFYTYPE": type, "UPSNAME": "ups@localhost"])
      let shown = try board.shows(message)
      #expect(shown["title"] as? String == ProcessInfo.processInfo.hostName)
    }
  }

  @Test func `apcupsd sends the name of the event`() throws {
    let board = try board(in: box)
    // The package has a script for some of the events.
    try board.write("#!/bin/sh\nexit 1\n", to: "etc/apcupsd/onbattery")
    try box.write(Recipe.text("apcupsd"), to: "recipe")
    let made = try board.run(["sh", "-e", box.path + "/recipe"])
    #expect(made.status == 0, "\(made.errors)")
    // apccontrol runs an executable file of the event's name with the name of the UPS, whether
    // apcupsd is connected, and whether there is power.
    for event in ["onbattery", "offbattery", "doshutdown", "changeme", "commfailure", "commok"] {
      try run(
        ["sh", "-c", "test -f $0 -a -x $0 && $0 attic 1 0", "/etc/apcupsd/" + event], on: board)
      try board.shows("UPS attic: " + event)
    }
  }

  @Test func `mdadm sends the event and the devices`() throws {
    let board = try board(in: box)
    let program = try #require(Recipe.text("mdadm").firstMatch(of: #/PROGRAM (.+)/#)).1
    for event in [["TestMessage", "/dev/md0"], ["Fail", "/dev/md0", "/dev/sdb1"]] {
      try run([String(program)] + event, on: board)
      try board.shows(event.joined(separator: " "))
    }
  }

  @Test func `smartd sends its message`() throws {
    let board = try board(in: box)
    let line = try Recipe.text("smartd")
    #expect(line.contains(" -m <nomailer> "), "no address is set then, and there are no arguments")
    let program = try #require(line.firstMatch(of: #/-M exec (\S+)/#)).1
    let message = "Device: /dev/sda [SAT], 8 Currently unreadable (pending) sectors"
    try run(
      [String(program)], on: board,
      [
        "SMARTD_MAILER": String(program), "SMARTD_DEVICE": "/dev/sda",
        "SMARTD_DEVICETYPE": "sat", "SMARTD_DEVICESTRING": "/dev/sda [SAT]",
        "SMARTD_FAILTYPE": "CurrentPendingSector", "SMARTD_MESSAGE": message,
      ], input: "")
    try board.shows(message)
  }

  @Test func `fail2ban sends the jail and the address`() throws {
    let board = try board(in: box)
    let action = try Recipe.text("fail2ban")
    let jail = try Recipe.text("fail2ban-jail")
    #expect(jail.contains("\n         alert[name=%(__name__)s]\n"))
    var command = String(try #require(action.firstMatch(of: #/actionban = (.+)/#)).1)
    for (tag, value) in [("name", "sshd"), ("ip", "192.0.2.7"), ("failures", "5")] {
      command.replace("<\(tag)>", with: value)
    }
    #expect(!command.contains("<") && !command.contains("%"), "\(command)")
    // fail2ban gives the command to a shell.
    try run(["sh", "-c", command], on: board)
    try board.shows("sshd bans 192.0.2.7 after 5 tries")
  }

  @Test func `Zabbix sends to the recipients file of the medium`() throws {
    let board = try Board(in: box)
    try board.start("tinypush")
    let script = "usr/lib/zabbix/alertscripts/tinypush"
    try board.write(Recipe.text("zabbix"), to: script)
    chmod(board.root + "/" + script, 0o755)
    let macros = [
      "{ALERT.SENDTO}": "family", "{ALERT.SUBJECT}": "Problem: Disk is full",
      "{ALERT.MESSAGE}": "Host: \"attic\"\nSeverity: High $(reboot)",
    ]
    let parameters = try Recipe.text("zabbix-parameters").split(separator: "\n")
      .map { try #require(macros[String($0)]) }
    try run(["/" + script] + parameters, on: board, as: "pi")
    let shown = try board.shows("Host: \"attic\"\nSeverity: High $(reboot)")
    #expect(shown["title"] as? String == "Problem: Disk is full")
  }

  // MARK: - Over HTTP

  private static let token = "0123456789abcdef"

  private func service(in box: Box) throws -> HTTPService {
    let token = try box.write(Self.token + "\n", to: "token")
    return try HTTPService(in: box, settings: "token-file = \(token)\n")
  }

  private func aps(_ notification: [String: Any]) -> [String: Any]? {
    (notification["payload"] as? [String: Any])?["aps"] as? [String: Any]
  }

  private func alert(_ notification: [String: Any]) -> Any? {
    aps(notification)?["alert"]
  }

  private func body(_ notification: [String: Any]) -> String? {
    alert(notification) as? String ?? (alert(notification) as? [String: String])?["body"]
  }

  private func title(_ notification: [String: Any]) -> String? {
    (alert(notification) as? [String: String])?["title"]
  }

  private func level(_ notification: [String: Any]) -> String? {
    aps(notification)?["interruption-level"] as? String
  }

  /// Posts JSON with a bearer token, and returns the notification that is in the spool then.
  private func post(
    _ object: [String: Any], to target: String, _ headers: [String] = [], of service: HTTPService,
    in box: Box
  ) throws -> [String: Any] {
    let before = box.queued
    let json = String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
    let answer = try service.request(
      target,
      (["Content-Type: application/json", "Authorization: Bearer " + Self.token] + headers)
        .flatMap { ["--header", $0] } + ["--data-binary", "@-"], input: json)
    #expect(answer.status == 200, "\(answer.body)")
    let file = try #require(box.queued.first { !before.contains($0) })
    return try objects(box.text("spool/new/" + file)).at(0)
  }

  @Test func `Home Assistant's notify names the recipients as the target`() throws {
    let service = try service(in: box)
    try box.write(Recipe.text("home-assistant-rest"), to: "recipe.yml")
    func value(_ path: String) throws -> String {
      try box.run([
        "python3", "-c",
        "import yaml; print(yaml.safe_load(open('recipe.yml'))['notify'][0]\(path))",
      ]).output.trimmingCharacters(in: .newlines)
    }
    #expect(try value("['platform']") == "rest")
    #expect(try value("['method']") == "POST_JSON")
    #expect(try value("['headers']['Authorization']") == "Bearer TOKEN")
    let path = try #require(URL(string: value("['resource']"))).path
    // Home Assistant posts the message, the title or else its name, and the first target.
    let (title, target) = try (value("['title_param_name']"), value("['target_param_name']"))
    let named = try post(
      ["message": "Door \"open\"", title: "Hall", target: "family"], to: path, of: service, in: box)
    #expect(named["to"] as? [String] == ["family"])
    #expect(self.title(named) == "Hall" && body(named) == "Door \"open\"")
    let plain = try post(
      ["message": "Door", title: "Home Assistant"], to: path, of: service, in: box)
    #expect(plain["to"] as? String == "default")
  }

  @Test func `Uptime Kuma and Healthchecks send as to ntfy`() throws {
    let service = try service(in: box)
    let fields = try Recipe.text("ntfy")
    #expect(fields.contains("http://192.168.1.5:8077\n"))
    let topic = try #require(fields.firstMatch(of: #/Topic +(\S+)/#)).1
    let down = try post(
      [
        "topic": String(topic), "message": "connect ECONNREFUSED 192.168.1.1:80", "priority": 5,
        "title": "Router Down [Uptime-Kuma]", "tags": ["red_circle"],
        "actions": [["action": "view", "label": "Open Router", "url": "http://192.168.1.1"]],
      ], to: "/", of: service, in: box)
    #expect(down["to"] as? [String] == ["family"])
    #expect(title(down) == "Router Down [Uptime-Kuma]")
    #expect(body(down) == "connect ECONNREFUSED 192.168.1.1:80")
    #expect(level(down) == "time-sensitive")
    let check = try post(
      [
        "topic": String(topic), "priority": 3, "title": "Backup is DOWN",
        "message": "The last ping was 2 hours ago.", "tags": ["red_circle"],
        "actions": [["action": "view", "label": "View", "url": "https://hc/checks/1"]],
      ], to: "/", of: service, in: box)
    #expect(title(check) == "Backup is DOWN")
    #expect(body(check) == "The last ping was 2 hours ago.")
  }

  @Test func `Proxmox VE sends by webhook, and as to Gotify`() throws {
    let service = try service(in: box)
    let subject = "vzdump backup status (pve1): backup failed"
    let text = "Details\n=======\nVMID  Name    Status\n100   \"attic\"  error"
    // The templates of Proxmox VE, as far as the recipe needs them.
    let allowed = CharacterSet.alphanumerics.union(["-", ".", "_"])
    let values = [
      "url-encode title": subject.addingPercentEncoding(withAllowedCharacters: allowed) ?? "",
      "secrets.token": Self.token, "message": text,
    ]
    var fields: [(name: Substring, value: String)] = []
    for line in try Recipe.text("proxmox").matches(of: #/(?m)^(\w+) +(.+)$/#) {
      fields.append(
        (
          line.1,
          values.reduce(String(line.2)) { done, pair in
            done.replacing("{{ \(pair.key) }}", with: pair.value)
          }
        ))
    }
    func field(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
    #expect(field("Method") == ["POST"])
    #expect(!fields.contains { $0.value.contains("{{") }, "\(fields)")
    let url = try #require(field("URL").first)
    let answer = try service.request(
      String(url.trimmingPrefix("http://192.168.1.5:8077")),
      field("Header").flatMap { ["--header", $0] } + ["--data-binary", "@-"],
      input: field("Body").first)
    let notification = try #require(service.notifications(answer).first)
    #expect(notification["to"] as? [String] == ["family"])
    #expect(title(notification) == subject && body(notification) == text)
    let gotify = try post(
      [
        "title": subject, "message": "```\n\(text)\n```", "priority": 9,
        "extras": ["client::display": ["contentType": "text/markdown"]],
      ], to: "/message", ["X-Gotify-Key: " + Self.token], of: service, in: box)
    #expect(gotify["to"] as? String == "default")
    #expect(title(gotify) == subject && level(gotify) == "time-sensitive")
  }

  // MARK: - MQTT

  /// Tries a recipe's rules on messages, and returns the notifications.
  private func notifications(
    _ recipe: String, _ messages: String, in box: Box
  ) throws -> [[String: Any]] {
    let rules = try box.write(recipe, to: "mqtt.conf")
    let check = try box.run(
      [Box.bridge, "check", "--rules", rules, "--json", "-"], input: messages)
    #expect(check.status == 0, "\(check.output)\(check.errors)")
    return try objects(check.output).compactMap { $0["notification"] as? [String: Any] }
  }

  @Test func `Frigate sends each alert of a camera once, and when it stops`() throws {
    func review(_ type: String, _ severity: String) -> String {
      let state = """
        {"id":"1718987129.308396-fqk5ka","camera":"front_cam","start_time":1718987129.3,\
        "end_time":null,"severity":"\(severity)","thumb_path":"/media/thumb.webp",\
        "data":{"detections":["1718987128.947436-g92ztx"],"objects":["person","car"],\
        "sub_labels":[],"zones":["front_yard"],"audio":[]}}
        """
      return "frigate/reviews {\"type\":\"\(type)\",\"before\":\(state),\"after\":\(state)}\n"
    }
    let found = try notifications(
      Recipe.text("frigate"),
      "frigate/available online\n" + review("new", "detection") + review("update", "alert")
        + review("end", "alert") + "frigate/available offline\n", in: box)
    #expect(
      found.map(body) == ["front_cam: person", "front_cam: person", "Frigate has stopped"])
    // The second of them is the same notification, which goes to a device once.
    for notification in found.prefix(2) {
      #expect(notification["collapse-id"] as? String == "1718987129.308396-fqk5ka")
      #expect(notification["again-after"] as? Int == 3600)
    }
  }

  @Test func `the rules that replace those of mqttwarn make the same alert`() throws {
    let found = try notifications(
      Recipe.text("mqttwarn"),
      """
      owntracks/jane/battery {"_type":"location","tid":"JP","batt":12}
      owntracks/jane/battery {"_type":"location","tid":"JP","batt":90}

      """, in: box)
    #expect(found.count == 1)
    #expect(found.first.flatMap(body) == "JP is at 12 %")
    #expect(found.first.flatMap(title) == "Battery")
  }
}
