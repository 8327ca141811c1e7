import Foundation
import Testing

/// Unusual names, files and changes in the spool.
@Suite(.sideBySide) struct SpoolTests {
  @Test func `the agent delivers files whose names are any bytes`() throws {
    let names: [[UInt8]] = [
      Array("a\nb".utf8), Array("\u{1B}[31mred\u{1B}]0;title\u{7}".utf8), [0xFF, 0xFE, 0x80],
      Array("\"quoted\"".utf8), Array("'".utf8), Array("\\".utf8), Array("%s%n".utf8),
      Array("-rf".utf8), Array("$(touch x)".utf8), [0x01], [0x7F], Array(" ".utf8),
      Array("ä☀".utf8), Array(repeating: 0x78, count: 255), Array(repeating: 0xC3, count: 255),
    ]
    let gateway = try Gateway(in: box, ["--reject", token(99)])
    let agent = try box.agent(gateway, ["settle=1h"])
    for (number, name) in names.enumerated() {
      let refused = name.count < 255 ? name + Array("!".utf8) : name.dropLast() + Array("!".utf8)
      try drop("{\"token\":\"12\"}\n" + line(99), as: refused, in: box)
      try drop(line(number + 1, "Tank \(number)"), as: name, in: box)
    }
    for number in names.indices { try gateway.accepts("Tank \(number)") }
    try wait(for: "the records") { try entries(box.spool + "/failed").count == names.count }
    // The answer to the barrier of a stop decides about the last one.
    #expect(try agent.terminate() == 0)
    #expect(box.queued == [])
    try gateway.readsAll()
    let tally = try Tally(gateway.record, count: names.count, in: box)
    #expect(tally.lost == 0)
    #expect(tally.duplicates == 0)
    let failed = try entries(box.spool + "/failed")
    #expect(failed.count == names.count)
    for name in failed {
      for failure in try objects(box.text(in: "failed", name)) {
        let said = try #require((failure["failed"] as? [String: Any])?["file"] as? String)
        #expect(said == String(decoding: name, as: UTF8.self))
      }
    }
    #expect(agent.errors.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F || $0 == 0x0A })
  }

  @Test func `the agent leaves links, devices and directories in new/ and delivers the rest`()
    throws
  {
    try #require(geteuid() == 0, "needs root")
    let gateway = try Gateway(in: box)
    let outside = try box.write(line(66, "outside"), to: "outside")
    var strange = try makeStrange("before-", outside, in: box)
    let agent = try box.agent(gateway, ["settle=300ms"])
    try agent.line("connected to", in: .errors)
    strange += try makeStrange("while-", outside, in: box)
    try box.drop(line(1, "plain"), as: "z")
    try gateway.accepts("plain")
    // The agent waits some time for content of an empty file, and then refuses the file.
    try wait(for: "all else to leave new/") { box.queued.count == strange.count }
    #expect(box.queued == strange.sorted())
    #expect(box.names(in: "failed") == ["before-empty", "while-empty"])
    #expect(try agent.terminate() == 0)
    try #expect(gateway.alerts(in: box) == ["plain"])
    #expect(box.text("outside") == line(66, "outside"))
  }

  /// Makes links, devices and an empty file, and returns the names that stay.
  private func makeStrange(_ prefix: String, _ outside: String, in box: Box) throws -> [String] {
    let new = box.spool + "/new/" + prefix
    let links = [
      "shadow": "/etc/shadow", "directory-link": "/etc", "dangling": "/nowhere",
      "loop": new + "loop",
      "link": outside,
    ]
    for (name, target) in links {
      guard symlink(target, new + name) == 0 else { throw Failure("symlink: errno \(errno)") }
    }
    let null = dev_t(1 << 8 | 3)
    guard mkfifo(new + "pipe", 0o666) == 0, mkdir(new + "directory", 0o755) == 0,
      mknod(new + "device", S_IFCHR | 0o666, null) == 0,
      mknod(new + "block", S_IFBLK | 0o666, dev_t(7 << 8 | 99)) == 0,
      mknod(new + "socket", S_IFSOCK | 0o666, 0) == 0
    else { throw Failure("mknod: errno \(errno)") }
    try writeFile(line(67, "within"), to: new + "directory/within")
    try writeFile("", to: new + "empty")
    return (Array(links.keys) + ["pipe", "directory", "device", "block", "socket"]).map {
      prefix + $0
    }
  }

  @Test func `the agent refuses a sparse file of 1 GB once and delivers the file behind it`()
    throws
  {
    let path = try box.write("", to: "spool/new/giant")
    guard truncate(path, 1 << 30) == 0 else { throw Failure("truncate: errno \(errno)") }
    try box.drop(line(1, "behind"), as: "z")
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms"])
    try gateway.accepts("behind")
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    #expect(try box.failures("giant").count == 2)
    #expect(box.names(in: "failed") == ["giant", "giant.original"])
    #expect(try agent.peakKilobytes() < 8192)
    #expect(try agent.terminate() == 0)
  }

  @Test func `all files arrive if inotify's queue overflows`() throws {
    let count = 20_000
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway)
    try agent.line("connected to", in: .errors)
    agent.signal(SIGSTOP)
    for number in 1...count { try box.drop(line(number), as: "\(100_000 + number)") }
    agent.signal(SIGCONT)
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    let peak = try agent.peakKilobytes()
    #expect(peak < 10_240, "\(peak) KB")
    #expect(try agent.terminate() == 0)
    try gateway.readsAll()
    let tally = try Tally(gateway.record, count: count, in: box)
    #expect(tally.lost == 0)
    #expect(tally.duplicates == 0)
  }

  @Test func `files that wait for a gateway take a bounded memory`() throws {
    var few = 0
    for count in [10, 20_000] {
      for number in 1...count { try box.drop(line(number), as: "\(100_000 + number)") }
      let agent = try box.start(
        Build.command(Build.host) + ["run"] + box.settings(1, ["connect-timeout=1s"]))
      try agent.line("cannot", in: .errors)
      try box.drop(line(1), as: "one more")
      // The agent returns memory before it sleeps.
      try wait(for: "the agent to sleep") { agent.isAsleep }
      var held = try agent.privateKilobytes()
      if count == 10 { few = held }
      try wait(for: "at most \(few + 6144) KB instead of \(held)") {
        held = try agent.privateKilobytes()
        return held <= few + 6144
      }
      agent.kill()
    }
  }

  // MARK: - Changes during the delivery

  /// A change to a file that is being delivered, or to the file that comes with the same name.
  enum Change: CaseIterable, Sendable { case append, replace, remove, link, chmod }

  @Test(arguments: Change.allCases)
  func `a change to a file during its delivery neither loses nor repeats a notification`(
    change: Change
  )
    throws
  {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=1h"])
    try box.drop(line(1) + line(2, "second"), as: "file")
    try gateway.accepts("second")
    let file = try box.spool + "/taken/" + box.names(in: "taken").at(0)
    switch change {
    case .append:
      let open = try #require(fopen(file, "ae"))
      #expect(fputs(line(3, "third"), open) >= 0 && fclose(open) == 0)
    case .replace: try box.drop(line(3, "third"), as: "file")
    case .remove: #expect(unlink(file) == 0)
    case .link: #expect(link(file, box.path + "/other") == 0)
    case .chmod: #expect(Foundation.chmod(file, 0o600) == 0)
    }
    if change == .append || change == .replace { try gateway.accepts("third") }
    #expect(try agent.terminate() == 0)
    #expect(box.queued == [])
    try gateway.readsAll()
    let count = change == .append || change == .replace ? 3 : 2
    let tally = try Tally(gateway.record, count: count, in: box)
    #expect(tally.lost == 0)
    #expect(tally.duplicates == 0)
    #expect(box.names(in: "failed") == [])
  }

  @Test func `a file that replaces another while the agent takes it is not lost`() throws {
    let gateway = try Gateway(in: box)
    // The agent opens the file, and then waits before it moves what has the name by then.
    let agent = try box.start(
      [
        "strace", "-o", box.path + "/trace", "-e", "trace=openat,renameat2", "-e",
        "inject=renameat2:delay_enter=2000000:when=1",
      ] + Build.command(Build.host) + ["run"] + box.settings(gateway.port))
    try agent.line("connected to", in: .errors)
    try box.drop(line(1, "first"), as: "state")
    try wait(for: "the agent to open the file") { box.text("trace").contains("\"state\"") }
    try box.drop(line(2, "second"), as: "state")
    try gateway.accepts("second")
    agent.kill()
  }

  @Test func `a file in taken/ that cannot be examined stays`() throws {
    let gateway = try Gateway(in: box)
    let name = "file@1700000000000000000.0"
    try box.write(line(1, "examined later"), to: "spool/taken/" + name)
    let once = try Build.command(Build.host) + ["run", "--once"] + box.settings(gateway.port)
    try box.run(
      [
        "strace", "-o", box.path + "/trace", "-P", name, "-e", "inject=newfstatat:error=EIO",
      ] + once)
    #expect(box.text("trace").contains("EIO"), "\(box.text("trace"))")
    #expect(box.queued == ["file"])
    #expect(try box.run(once).status == 0)
    try #expect(gateway.alerts(in: box) == ["examined later"])
  }

  @Test func `a file with two names is sent for each, and both names leave the spool`() throws {
    try box.drop(line(1, "twin"), as: "a")
    guard link(box.spool + "/new/a", box.spool + "/new/b") == 0 else {
      throw Failure("link: errno \(errno)")
    }
    let gateway = try Gateway(in: box)
    let agent = try box.deliver(gateway)
    #expect(agent.status == 0)
    #expect(box.queued == [])
    try #expect(gateway.alerts(in: box) == ["twin", "twin"])
  }

  // MARK: - Names of any bytes

  private func drop(_ text: String, as name: [UInt8], in box: Box) throws {
    let source = try box.write(text, to: "spool/tmp/draft")
    let target = Array((box.spool + "/new/").utf8) + name + [0]
    let result = target.withUnsafeBytes {
      rename(source, $0.baseAddress!.assumingMemoryBound(to: CChar.self))
    }
    guard result == 0 else { throw Failure("rename: errno \(errno)") }
  }

  private func entries(_ path: String) throws -> [[UInt8]] {
    let directory = try #require(opendir(path))
    defer { closedir(directory) }
    var names: [[UInt8]] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name != [0x2E], name != [0x2E, 0x2E] { names.append(name) }
    }
    return names
  }
}

extension Box {
  fileprivate func text(in directory: String, _ name: [UInt8]) throws -> String {
    let path = Array("\(spool)/\(directory)/".utf8) + name + [0]
    let file = path.withUnsafeBytes {
      fopen($0.baseAddress!.assumingMemoryBound(to: CChar.self), "r")
    }
    let open = try #require(file)
    defer { fclose(open) }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = fread(&bytes, 1, bytes.count, open)
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}

extension Child {
  func peakKilobytes() throws -> Int { try kilobytes("status", "VmHWM") }
  func privateKilobytes() throws -> Int { try kilobytes("smaps_rollup", "Private_Dirty") }

  private func kilobytes(_ file: String, _ name: String) throws -> Int {
    let text = String(
      decoding: try Data(contentsOf: URL(filePath: "/proc/\(id)/\(file)")), as: UTF8.self)
    let row = text.split(separator: "\n").first { $0.hasPrefix(name) }
    guard let row, let number = Int(row.filter(\.isNumber)) else {
      throw Failure("no \(name) in \(text)")
    }
    return number
  }
}
