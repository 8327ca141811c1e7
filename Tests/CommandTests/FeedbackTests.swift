import Foundation
import Testing

/// `tinypush feedback` with an independent feedback service that behaves well or badly.
@Suite(.sideBySide) struct FeedbackTests {
  // MARK: - Streams

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var script: [String]
    var settings: [String] = []
    var status: Int32
    /// The number of tokens on the suppression list at the end.
    var listed: Int
    /// The last line of standard output; `words` must be in standard error.
    var sum = ""
    var words: [String] = []
    init(
      _ name: String, _ script: [String], _ settings: [String] = [], status: Int32 = 0,
      listed: Int = 0, sum: String = "", says words: String...
    ) {
      (testDescription, self.script, self.settings) = (name, script, settings)
      (self.status, self.listed, self.sum, self.words) = (status, listed, sum, words)
    }
  }

  private static func ending(_ how: String, after bytes: Int) -> [String] {
    ["--tuples", "1000", "--cut", "random", "--stop-after", "\(bytes)", "--end", how]
  }

  private static func new(_ count: Int) -> String {
    "\(count) devices are gone, \(count) of them new; \(count) tokens are suppressed"
  }

  static let rows =
    [
      Row("nobody is gone", [], sum: "no device is gone"),
      Row(
        "one device", ["--tuples", "1"], listed: 1,
        sum: "1 device is gone, 1 of them new; 1 token is suppressed"),
    ]
    + ["none", "byte", "tuple", "random"].map { cut in
      Row(
        "1000 devices, cut by \(cut)", ["--tuples", "1000", "--cut", cut], listed: 1000,
        sum: new(1000))
    } + [
      // A tuple has 38 bytes.
      Row("goodbye after a tuple", ending("close", after: 3800), listed: 100, sum: new(100)),
      Row("an end after a tuple", ending("fin", after: 3800), listed: 100, sum: new(100)),
      Row(
        "goodbye within a tuple", ending("close", after: 3801), status: 75, listed: 100,
        sum: new(100), says: "closed within an entry", "the received entries are kept"),
      Row(
        "an end within a tuple", ending("fin", after: 3837), status: 75, listed: 100,
        sum: new(100), says: "closed within an entry"),
      Row(
        "a reset after a tuple", ending("reset", after: 3800), status: 75, listed: 100,
        sum: new(100), says: "reset", "the entries received before that are kept"),
      Row(
        "a reset within a tuple", ending("reset", after: 3820), status: 75, listed: 100,
        sum: new(100), says: "reset", "the entries received before that are kept"),
      Row(
        "silence after a tuple", ending("silence", after: 3800), ["feedback-timeout=1h"],
        status: 75, listed: 100, sum: new(100), says: "does not close the connection"),
      Row(
        "silence within a tuple", ending("silence", after: 3820), ["feedback-timeout=1h"],
        status: 75, listed: 100, sum: new(100), says: "does not close the connection"),
      Row(
        "silence from the first", ending("silence", after: 0), ["feedback-timeout=1h"],
        status: 75, sum: "", says: "does not close the connection"),
      Row("a reset at once", ending("reset", after: 0), status: 69, says: "reset"),
      Row("half a tuple", ending("close", after: 20), status: 75, says: "closed within an entry"),
      Row("it hangs up", ["--slam"], status: 69, says: "no feedback from localhost"),
      Row(
        "no handshake", ["--hang"], ["connect-timeout=1s"], status: 69,
        says: "no feedback from localhost", "timed out"),
    ]

  @Test(arguments: rows, TLSTests.versions)
  func `feedback lists every received token and reports an incomplete stream`(
    row: Row, version: (build: String, tls: String)
  ) throws {
    let service = try FeedbackService(in: box, tls: version.tls, row.script)
    let pull: Child
    if row.script.contains("silence") {
      let clocks = try Clocks(in: box, [.awake])
      pull = try box.startPull(
        service, build: version.build, row.settings, environment: clocks.environment)
      try wait(for: "the pull to have read all") {
        try pull.hasEnded || !service.events("taken").isEmpty
      }
      try clocks.pass(3601, for: pull) { pull.hasEnded }
    } else {
      pull = try box.pull(service, build: version.build, row.settings)
    }
    let words = "\(pull.output)\(pull.errors)"
    #expect(pull.status == row.status, "\(words)")
    #expect((pull.output.split(separator: "\n").last ?? "") == row.sum, "\(words)")
    for word in row.words { #expect(pull.errors.contains(word), "\(words)") }
    #expect(row.words.isEmpty == pull.errors.isEmpty, "\(words)")
    let sent = service.sent()
    try #expect(Listed(in: box, must: sent) == Listed(listed: row.listed))
    // One line for each new token, sorted by token.
    let told = try box.run(["python3", Build.tools + "/tuples.py", "--list"] + sent)
    let lines = pull.output.split(separator: "\n").dropLast(row.sum.isEmpty ? 0 : 1)
    #expect(
      lines.map { $0.replacing(#/ +new$/#, with: "") } == told.output.split(separator: "\n"))
    let list = try box.tokenList()
    #expect(list.output.replacing(#/ +feedback\n/#, with: "\n") == told.output)
  }

  @Test func `feedback --json prints each device, and then the sums`() throws {
    let service = try FeedbackService(in: box, ["--tuples", "3"])
    let pull = try box.run(
      Build.command(Build.host) + ["feedback", "--json"] + box.feedbackSettings(service))
    #expect(pull.status == 0, "\(pull.errors)")
    let told = try objects(pull.output)
    #expect(told.count == 4)
    #expect(told.dropLast().allSatisfy { Set($0.keys) == ["token", "time", "state"] })
    for name in ["received", "devices", "new", "suppressed"] {
      #expect(told.last?[name] as? Int == 3, "\(name)")
    }
  }

  @Test func `feedback keeps tuples with odd sizes and times and reports them`() throws {
    func digits(_ bytes: Int) -> String { String(repeating: "ab", count: bytes) }
    let file = try box.write(
      """
      0 \(token(1))
      4294967295 \(token(2))
      1700000000\(" ")
      1700000001 \(digits(1))
      1700000002 \(digits(31))
      1700000003 \(digits(33))
      1700000004 \(digits(65_535))
      1700000005 \(token(3))
      1700000009 \(token(4))
      1700000007 \(token(4))

      """, to: "devices")
    let service = try FeedbackService(in: box, ["--file", file, "--cut", "random"])
    let before = Int(Date().timeIntervalSince1970)
    let pull = try box.pull(service)
    #expect(pull.status == 0, "\(pull.errors)")
    #expect(
      pull.output.hasSuffix(
        """
        8 devices are gone, 8 of them new; 8 tokens are suppressed; \
        dated in the future, for which the present time counts: 1; skipped for lack of a token: 1

        """), "\(pull.output.suffix(300))")
    let list = try objects(box.tokenList("--json").output)
    var times: [String: Int] = [:]
    for one in list { try times[one.member("token")] = one["time"] as? Int }
    #expect(times.count == 8)
    #expect(times[token(1)] == 0)
    #expect((before...before + 120).contains(times[token(2)] ?? 0))
    // The list has the SHA-256 of these tokens.
    for (size, time) in [
      1: 1_700_000_001, 31: 1_700_000_002, 33: 1_700_000_003, 65_535: 1_700_000_004,
    ] {
      let digest = try box.run([
        "sh", "-c", "head -c \(size) /dev/zero | tr '\\000' '\\253' | sha256sum",
      ])
      #expect(times[String(digest.output.prefix(64))] == time, "\(size)")
    }
    #expect(times[token(3)] == 1_700_000_005)
    #expect(times[token(4)] == 1_700_000_009, "the later time counts")
  }

  @Test func `received tuples stay on disk until the list and its directory are synced`() throws {
    let outage = try Outage(in: box, .unsynced)
    let service = try FeedbackService(in: box, ["--tuples", "100", "--share", "50"])
    // First the directory cannot be synced for the received tuples, then not for the list.
    let first = try box.pull(service, environment: outage.environment(at: 1))
    #expect(first.status == 74)
    #expect(first.errors.contains("nothing was read from the feedback service"), "\(first.errors)")
    #expect(service.sent() == [])
    let second = try box.pull(service, environment: outage.environment(at: 2))
    #expect(second.status == 74)
    #expect(second.errors.contains("the received entries are kept there"), "\(second.errors)")
    #expect(FileManager.default.fileExists(atPath: box.state + "/received"))
    let third = try box.pull(service)
    #expect(third.status == 0, "\(third.errors)")
    try #expect(Listed(in: box, must: service.sent()) == Listed(listed: 100))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: box.state).sorted() == [
        ".lock", "received", "suppressed.list",
      ])
  }

  @Test func `feedback-timeout ends a stream that arrives byte by byte`() throws {
    let service = try FeedbackService(
      in: box, ["--tuples", "1000", "--cut", "byte", "--pause", "0.02"])
    let pull = try box.pull(service, ["feedback-timeout=100ms"])
    #expect(pull.status == 75, "\(pull.errors)")
    #expect(pull.errors.contains("does not close the connection"), "\(pull.errors)")
    let listed = try Listed(in: box, must: [], may: service.sent())
    #expect(listed.strange == 0)
  }

  @Test func `feedback stops after 64 MB of a stream and keeps what it received`() throws {
    let service = try FeedbackService(in: box, ["--endless"])
    let pull = try box.pull(service, [], ["--quiet"])
    #expect(pull.status == 75, "\(pull.output)\(pull.errors)")
    #expect(pull.errors.contains("has sent 64 MB and does not end"), "\(pull.errors)")
    try wait(for: "the service to notice") { try !service.events("sent").isEmpty }
    let bytes = try #require(service.events("sent").first?["bytes"] as? Int)
    #expect(bytes < 80 << 20, "the agent stopped reading")
    let sum = try #require(
      pull.output.firstMatch(of: /(\d+) devices are gone, \1 of them new; \1 tokens/))
    // A tuple has 38 bytes.
    let gone = try number(sum.1)
    #expect(gone >= (64 << 20) / 38 && gone <= bytes / 38)
  }

  // MARK: - Refusals

  @Test(arguments: TLSTests.versions)
  func `feedback exits with 78 if the service refuses the certificate`(
    version: (build: String, tls: String)
  ) throws {
    let service = try FeedbackService(in: box, ca: "other-ca", tls: version.tls)
    let pull = try box.pull(service, build: version.build)
    #expect(pull.status == 78, "\(pull.errors)")
    #expect(pull.errors.contains("refuses the client certificate"), "\(pull.errors)")
    #expect(pull.output == "")
  }

  @Test func `feedback does not read from a service whose certificate it cannot verify`() throws {
    let service = try FeedbackService(
      in: box, certificate: "server-unknown-ca", ["--tuples", "10"])
    let pull = try box.pull(service)
    #expect(pull.status == 69, "\(pull.errors)")
    #expect(pull.errors.contains("which is not in the CA file"), "\(pull.errors)")
    #expect(service.sent() == [])
    try #expect(Listed(in: box, must: []) == Listed(listed: 0))
  }

  @Test func `feedback exits with 69 if nothing listens`() throws {
    let service = try FeedbackService(in: box)
    service.child.kill()
    let pull = try box.pull(service)
    #expect(pull.status == 69)
    #expect(pull.errors.contains("nothing listens there"), "\(pull.errors)")
    #expect(pull.output == "")
  }

  @Test func `feedback does not connect if key and certificate do not match`() throws {
    let service = try FeedbackService(in: box, ["--tuples", "10"])
    let pull = try box.pull(service, ["key=" + Certificates.path("client-mismatch.key")])
    #expect(pull.status == 78, "\(pull.errors)")
    #expect(pull.errors.contains("does not belong to the first certificate"), "\(pull.errors)")
    #expect(service.sent() == [])
    try #expect(box.pull(service).output.hasSuffix(Self.new(10) + "\n"))
  }

  // MARK: - Several pulls

  @Test func `later pulls add to the suppression list and clear nothing`() throws {
    let service = try FeedbackService(
      in: box, ["--tuples", "1000", "--first", "1", "--stop-after", "20000", "--end", "reset"])
    let first = try box.pull(service)
    #expect(first.status == 75, "\(first.errors)")
    let second = try box.pull(service)
    #expect(second.status == 0, "\(second.errors)")
    #expect(
      second.output.hasSuffix(
        "474 devices are gone, 474 of them new; 1000 tokens are suppressed\n"))
    let third = try box.pull(service)
    #expect(third.status == 0, "\(third.errors)")
    #expect(third.output == "no device is gone\n")
    try #expect(Listed(in: box, must: service.sent()) == Listed(listed: 1000))
  }

  @Test func `a second pull does not read the service while the first one waits for it`() throws {
    let service = try FeedbackService(
      in: box,
      [
        "--tuples", "2000", "--share", "1000", "--first", "1", "--stop-after", "3800", "--end",
        "silence",
      ])
    let waiting = try box.startPull(service, ["feedback-timeout=1h"])
    try wait(for: "the pull to have read all") { try !service.events("taken").isEmpty }
    let other = try box.pull(service)
    #expect(other.status == 75)
    #expect(other.errors.contains("another pull has not ended"), "\(other.errors)")
    #expect(try waiting.terminate() == 128 + SIGTERM, "the pull ends at the signal")
    // The entries of the first pull are on disk.
    let last = try box.pull(service)
    #expect(last.status == 0, "\(last.errors)")
    #expect(last.output.hasSuffix(Self.new(1100) + "\n"), "\(last.output.suffix(200))")
    try #expect(Listed(in: box, must: service.sent()).missing == 0)
  }

  @Test func `a pull merges a million tokens into a list of a million in 32 MB of memory`() throws {
    let count = 1_000_000
    let service = try FeedbackService(in: box, ["--tuples", "\(2 * count)", "--share", "\(count)"])
    for turn in 1...2 {
      // The data segment may have 32 MB.
      let pull = try box.start(
        ["prlimit", "--data=33554432"] + Build.command(Build.host) + ["feedback", "--quiet"]
          + box.feedbackSettings(service))
      try pull.wait()
      #expect(pull.status == 0, "\(pull.errors)")
      #expect(
        pull.output
          == "\(count) devices are gone, \(count) of them new; \(turn * count) tokens are suppressed\n"
      )
    }
    let told = try box.run(
      ["python3", Build.tools + "/tuples.py", "--list"] + service.sent())
    let compared = try box.run([
      "sh", "-ec", #"sed 's/  feedback$//' "$1" | cmp - "$2""#, "sh",
      box.tokenList().outputPath, told.outputPath,
    ])
    #expect(compared.status == 0, "\(compared.output)\(compared.errors)")
  }

  // MARK: - Beside an agent

  @Test func `a running agent stops sending to the tokens that a pull adds`() throws {
    let gateway = try Gateway(in: box)
    let page = "status=" + box.path + "/page"
    let agent = try box.agent(gateway, ["settle=300ms", "state=" + box.state, page])
    try box.drop(line(5, "before"), as: "1")
    try gateway.accepts("before")
    let file = try box.write("1700000000 \(token(5))\n", to: "devices")
    let service = try FeedbackService(in: box, ["--file", file])
    try #expect(box.pull(service).status == 0)
    try box.drop(line(5, "gone") + line(6, "there"), as: "2")
    try gateway.accepts("there")
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    try wait(for: "one to be suppressed on the page") {
      let status = try objects(box.tinypush("status", "--json", "-o", page).output).first
      return status?["suppressed"] as? Int == 1
    }
    let registered = try box.tinypush("token", "register", token(5), "-o", "state=" + box.state)
    #expect(registered.status == 0, "\(registered.errors)")
    try box.drop(line(5, "back"), as: "3")
    try gateway.accepts("back")
    #expect(try agent.terminate() == 0)
    try #expect(gateway.alerts(in: box) == ["before", "there", "back"])
    #expect(box.queued + box.names(in: "failed") == [])
  }

  // MARK: - The disk

  @Test func `feedback does not read the service if the state directory cannot be written to`()
    throws
  {
    let service = try FeedbackService(in: box, ["--tuples", "1000"])
    let missing = try box.pull(service, ["state=\(box.path)/missing/state"])
    #expect(missing.status == 73, "\(missing.errors)")
    let file = try box.write("", to: "file")
    let occupied = try box.pull(service, ["state=" + file])
    #expect(occupied.status == 73, "\(occupied.errors)")
    mkdir(box.state, 0o755)
    let disk = try Disk(at: box.state, "size=2m,nr_inodes=50")
    for resource in Disk.Resource.allCases {
      try disk.fill(resource)
      let full = try box.pull(service)
      #expect(full.status == 74, "\(full.errors)")
      #expect(full.errors.contains("free some space there"), "\(full.errors)")
      #expect(full.errors.contains("nothing was read from the feedback service"))
      disk.makeRoom()
    }
    disk.isReadOnly = true
    let readOnly = try box.pull(service)
    #expect(readOnly.status == 74 || readOnly.status == 77, "\(readOnly.errors)")
    disk.isReadOnly = false
    #expect(service.sent() == [])
    let pull = try box.pull(service)
    #expect(pull.status == 0, "\(pull.errors)")
    try #expect(Listed(in: box, must: service.sent()) == Listed(listed: 1000))
  }

  @Test func `feedback run by a user without access to state does not read the service`() throws {
    try #require(geteuid() == 0, "needs root")
    let service = try FeedbackService(in: box, ["--tuples", "10"])
    mkdir(box.state, 0o755)
    let key = path(box)
    try FileManager.default.copyItem(atPath: Certificates.path("client.key"), toPath: key)
    chmod(key, 0o644)
    let pull = try box.run(
      ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        + Build.command(Build.host) + ["feedback"]
        + box.feedbackSettings(service, ["key=" + key]))
    #expect(pull.status == 77, "\(pull.errors)")
    #expect(pull.errors.contains("that the agent's user may write to"), "\(pull.errors)")
    #expect(service.sent() == [])
  }

  private func path(_ box: Box) -> String { box.path + "/client.key" }

  @Test func `a disk that fills up during a pull loses no received tuple`() throws {
    let outage = try Outage(in: box, .kill)
    _ = try Disk(at: box.state, "size=16m")
    try writeFile(String(repeating: "x", count: 13 << 20), to: box.state + "/ballast")
    // The second pull must fit on the disk, however few of the tuples of the first one were sent.
    let service = try FeedbackService(in: box, ["--tuples", "100000", "--share", "50000"])
    let pull = try box.pull(service, environment: outage.environment(at: 0))
    #expect(pull.status == 74, "\(pull.errors)")
    #expect(pull.errors.contains("free some space there"), "\(pull.errors)")
    let seen = try outage.seen()
    #expect(seen.received > 38 * 1000)
    #expect(seen.received < 38 * 50_000)
    unlink(box.state + "/ballast")
    let again = try box.pull(service)
    #expect(again.status == 0, "\(again.errors)")
    let listed = try Listed(
      in: box, must: ["\(service.sent(1)):\(seen.received)", service.sent(2)])
    #expect(listed.missing == 0)
    #expect(listed.strange == 0)
  }
}
