import Foundation
import Testing

/// A disk that is full, read-only or closed to the agent.
///
/// No notification is lost or sent without end, and the agent recovers by itself.
@Suite(.sideBySide) struct DiskTests {
  private static let cannotRemove = "delivered files cannot be removed from taken/"
  private static let cannotTake = "files cannot be moved from new/ to taken/"
  private static let removable = "delivered files can be removed again"

  @Test func `delivered files that the agent may not remove are delivered once`() throws {
    try #require(geteuid() == 0, "needs root")
    let files = 100
    try box.giveSpoolToNobody()
    let gateway = try Gateway(in: box)
    let agent = try box.unprivilegedAgent(gateway, ["settle=20s", "rescan=1s"])
    try agent.line("connected to", in: .errors)
    for number in 1...files { try box.drop(line(number, "Tank \(number)"), as: "\(1000 + number)") }
    try gateway.accepts("Tank \(files)")
    chmod(box.spool + "/taken", 0o500)
    try agent.line(Self.cannotRemove, in: .errors)
    #expect(box.queued.count == files)
    chmod(box.spool + "/taken", 0o700)
    try wait(for: "the removal of all files") { box.queued.isEmpty }
    try agent.line(Self.removable, in: .errors)
    #expect(try agent.terminate() == 0)
    try gateway.readsAll()
    let tally = try Tally(gateway.record, count: files, in: box)
    #expect(tally.lost == 0)
    #expect(tally.duplicates == 0)
    #expect(agent.errors.count(of: Self.cannotRemove) == 1)
  }

  @Test func `files wait that the agent may not move from new/`() throws {
    try #require(geteuid() == 0, "needs root")
    let files = 600
    try box.giveSpoolToNobody()
    let gateway = try Gateway(in: box)
    let agent = try box.unprivilegedAgent(gateway, ["settle=300ms", "rescan=1s"])
    try agent.line("connected to", in: .errors)
    chmod(box.spool + "/new", 0o555)
    for number in 1...files { try box.drop(line(number), as: "\(10_000 - number)") }
    try agent.line(Self.cannotTake, in: .errors)
    chmod(box.spool + "/new", 0o755)
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    #expect(try agent.terminate() == 0)
    try gateway.readsAll()
    let tally = try Tally(gateway.record, count: files, in: box)
    #expect(tally.lost == 0)
    #expect(tally.duplicates == 0)
    #expect(agent.errors.count(of: Self.cannotTake) == 1)
  }

  @Test(arguments: Disk.Resource.allCases)
  func `refused notifications stay in new/ until failed/ can be written to`(resource: Disk.Resource)
    throws
  {
    let disk = try Disk(under: box, "size=1m,nr_inodes=200")
    let gateway = try Gateway(in: box, ["--reject", token(7)])
    let clocks = try Clocks(in: box, [.awake])
    let agent = try box.agent(gateway, ["settle=1h"], environment: clocks.environment)
    try agent.line("connected to", in: .errors)
    agent.signal(SIGSTOP)
    try box.drop((1...20).map { line($0) }.joined(), as: "a-refused")
    for number in 1...30 { try box.drop("{\"token\":\"12\"}\n", as: "b-wrong-\(number)") }
    try box.drop((21...30).map { line($0) }.joined() + line(31, "good"), as: "c-good")
    // Open here, so that its removal frees no space. A second name would use an inode: tmpfs counts
    // names.
    let kept = open("\(box.spool)/new/c-good", O_RDONLY)
    defer { close(kept) }
    try disk.fill(resource)
    agent.signal(SIGCONT)
    try gateway.accepts("good")
    try clocks.pass(3601, for: agent, and: gateway.child) {
      !box.queued.contains("c-good")
    }
    #expect(box.queued.count == 31)
    #expect(box.names(in: "failed") == [], "no partial record is kept")
    #expect(agent.errors.count(of: "failed/ cannot be written to") == 1)
    let before = try Tally(gateway.record, count: 31, in: box)
    #expect(before.lost == 0)
    #expect(before.duplicates == 0)
    disk.makeRoom()
    try clocks.pass(3601, for: agent, and: gateway.child) { box.queued.isEmpty }
    try #expect(box.failures("a-refused").map { $0["token"] as? String } == [token(7)])
    #expect(box.names(in: "failed").count == 31)
    #expect(try agent.terminate() == 0)
    try gateway.readsAll()
    // The notifications behind the refused one were sent twice, and no more.
    let tally = try Tally(gateway.record, count: 31, in: box)
    #expect(tally.lost == 0)
    #expect(tally.duplicates == 13)
    #expect(agent.errors.count(of: "failed/ cannot be written to") == 1)
    #expect(agent.errors.count(of: "failed/ can be written to again") == 1)
  }

  @Test func `an unreadable file moves to failed/ unchanged, however long its name`() throws {
    try box.giveSpoolToNobody()
    let names = ["secret", String(repeating: "n", count: 250), String(repeating: "s", count: 255)]
    for name in names {
      try box.drop(line(1, name), as: name)
      chmod("\(box.spool)/new/\(name)", 0)
    }
    let gateway = try Gateway(in: box)
    let agent = try box.unprivilegedAgent(gateway, ["settle=300ms"])
    try box.drop(line(2, "readable"), as: "z")
    try gateway.accepts("readable")
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    #expect(try agent.terminate() == 0)
    for name in names {
      // A longer name has no room in taken/.
      #expect(try box.failures(String(name.prefix(213))).count == 1)
      let moved = box.spool + "/failed/" + name.prefix(213) + ".unread"
      chmod(moved, 0o644)
      #expect(FileManager.default.contents(atPath: moved) == Data(line(1, name).utf8))
    }
    #expect(box.names(in: "failed").count == 2 * names.count)
  }

  @Test func `the agent moves a directory, link or pipe in failed/ out of the way`() throws {
    let failed = box.spool + "/failed/"
    let aside = try box.write("untouched", to: "aside")
    mkdir(failed + "directory", 0o755)
    try writeFile("x", to: failed + "directory/x")
    symlink(aside, failed + "link")
    mkfifo(failed + "pipe", 0o644)
    let reader = open(failed + "pipe", O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    let names = ["directory", "link", "pipe"]
    for name in names { try box.drop("{\"token\":\"12\"}\n", as: name) }
    let gateway = try Gateway(in: box)
    let agent = try box.deliver(gateway)
    #expect(agent.status == 65)
    for name in names { #expect(try box.failures(name).count == 1) }
    #expect(box.text("aside") == "untouched")
    #expect(box.queued == [])
  }

  @Test func `the agent finds spool directories that were removed and created again`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms"])
    try agent.line("connected to", in: .errors)
    for name in ["new", "failed", "taken", "tmp"] {
      try FileManager.default.removeItem(atPath: "\(box.spool)/\(name)")
    }
    mkdir(box.spool + "/new", 0o755)
    try box.drop("{\"token\":\"12\"}\n", as: "wrong")
    try box.drop(line(1, "found"), as: "right")
    try gateway.accepts("found")
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    #expect(try box.failures("wrong").count == 1)
    #expect(try agent.terminate() == 0)
  }

  @Test func `the agent scans the spool even without inotify`() throws {
    let gateway = try Gateway(in: box)
    let without = "echo 0 >/proc/sys/user/max_inotify_instances; exec \"$@\""
    let agent = try box.start(
      ["unshare", "--user", "--map-root-user", "sh", "-c", without, "sh"]
        + Build.command(Build.host) + ["run"] + box.settings(gateway.port, ["settle=300ms"]))
    try agent.line("connected to", in: .errors)
    try box.drop(line(1, "noticed"), as: "1")
    try wait(for: "the file to leave new/") { box.queued.isEmpty }
    try gateway.accepts("noticed")
    try #expect(gateway.alerts(in: box) == ["noticed"])
    #expect(try agent.terminate() == 0)
    #expect(agent.errors.count(of: "new/ cannot be watched") == 1)
  }
}
