import Foundation
import Testing

/// What `tinypush check` reports about the spool, the other directories and the status page.
@Suite(.sideBySide) struct SpoolCheckupTests {
  // MARK: - The spool

  @Test func `check names each missing spool directory and the command that creates it`() throws {
    let gateway = try Gateway(in: box)
    let missing = try box.checkup(gateway.port, ["spool=/nowhere"])
    #expect(missing.status == 66)
    #expect(missing["spool.directory"].message == "/nowhere: No such file or directory")
    #expect(
      missing["spool.directory"].advice
        == """
        install -d -m 2750 -o tinypush -g tinypush /nowhere /nowhere/failed \
        && install -d -m 3770 -o tinypush -g tinypush /nowhere/tmp /nowhere/new
        """)
    rmdir(box.spool + "/new")
    try writeFile("x", to: box.spool + "/later")
    rmdir(box.spool + "/tmp")
    chmod(box.spool, 0o2750)
    let parts = try box.checkup(gateway.port)
    #expect(parts.status == 66)
    #expect(parts["spool.new"].message == "No such file or directory")
    #expect(parts["spool.new"].advice.hasPrefix("install -d -m 3770 -o "))
    #expect(parts["spool.new"].advice.hasSuffix(" \(box.spool)/new"))
    #expect(parts["spool.tmp"].state == "error")
    #expect(parts["spool.later"].message == "Not a directory")
    #expect(parts["spool.rights"].state == "absent")
  }

  @Test func `check warns of modes that let anybody send or keep the agent from reading`() throws {
    try #require(geteuid() == 0, "needs root")
    let gateway = try Gateway(in: box)
    try box.giveSpoolToNobody()
    chmod(box.spool + "/new", 0o2777)
    chmod(box.spool + "/tmp", 0o770)
    let checkup = try box.checkup(gateway.port)
    #expect(checkup["spool.new"].state == "warning")
    #expect(
      checkup["spool.new"].message
        == "mode 2777, nobody:nogroup: anybody on this machine may write there")
    #expect(checkup["spool.new"].advice == "chmod o-w \(box.spool)/new")
    #expect(checkup["spool.tmp"].state == "warning")
    #expect(
      checkup["spool.tmp"].message
        == "mode 770, nobody:nogroup: the agent may be unable to read files from members of the group"
    )
    #expect(checkup["spool.tmp"].advice == "chmod g+s \(box.spool)/tmp")
    // Run by root, the check tries as the spool's owner.
    #expect(
      checkup["spool.rights"].message
        == "nobody (the spool's owner) may write, rename and remove files")
    chown(box.spool + "/failed", 0, 0)
    let closed = try box.checkup(gateway.port)
    #expect(closed.status == 77)
    #expect(
      closed["spool.rights"].message
        == "nobody (the spool's owner) cannot write to failed: Permission denied")
    #expect(
      closed["spool.rights"].advice
        == "give that user the right to write to the spool and all its directories")
  }

  @Test func `check leaves to the agent's user what a member of the group cannot test`() throws {
    let gateway = try Gateway(in: box)
    mkdir(box.path + "/run", 0o755)
    chown(box.path + "/run", 65534, 65534)
    let page = "status=\(box.path)/run/status"
    let agent = try box.startAsPackaged(gateway, [page])
    try agent.line("connected to", in: .errors)
    try box.write("", to: "recipients/family")
    chmod(box.path + "/recipients/family", 0o600)
    let key = "key=" + box.path + "/agent.key"
    let member = try box.checkup(gateway.port, as: box.asMember, [key, page])
    #expect(member.status == 0)
    #expect(member.names("error") == [])
    #expect(member.names("warning").subtracting(CheckupTests.dependentOnMachine) == ["config.file"])
    for name in ["tmp", "new", "agent"] { #expect(member["spool." + name].state == "ok") }
    #expect(
      member["spool.rights"].message
        == "uid 12345 may send; only root and nobody can test what the agent may do")
    #expect(member["state.page"].state == "ok")
    #expect(member["state.directory"].state == "skipped")
    #expect(
      member["state.directory"].message.hasSuffix(
        ": only root and nobody can test what the agent may do there"))
    #expect(member["certificate.key"].state == "skipped")
    #expect(member["certificate.key"].message == "only root can read it")
    #expect(
      member["recipients.directory"].message.hasSuffix(", 1 file; this user may not read 1"))

    let stranger = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
    chmod(box.spool, 0o2755)
    chmod(box.spool + "/failed", 0o2755)
    let outside = try box.checkup(gateway.port, as: stranger, [key])
    #expect(outside.status == 77)
    #expect(outside["spool.rights"].message == "uid 12345 cannot send: Permission denied")
    #expect(
      outside["spool.rights"].advice == "add the user to the spool's group, and log in again")
    chmod(box.spool, 0o2750)
    let closed = try box.checkup(gateway.port, as: stranger, [key])
    #expect(closed["spool.directory"].advice == "run the check as root: sudo tinypush check")
    #expect(try agent.terminate() == 0)
  }

  @Test(arguments: Disk.Resource.allCases)
  func `check reports a disk that is full, in memory or read-only`(resource: Disk.Resource) throws {
    let gateway = try Gateway(in: box)
    let disk = try Disk(under: box, "size=4m,nr_inodes=500")
    let memory = try box.checkup(gateway.port)
    #expect(memory.status == 0)
    #expect(memory["spool.room"].state == "warning")
    #expect(
      memory["spool.room"].message.wholeMatch(
        of:
          #/4\.\d MB and \d+ inodes free, in memory: its files do not survive a power cut or a restart/#
      ) != nil, "\(memory["spool.room"])")
    try disk.fill(resource)
    let full = try box.checkup(gateway.port)
    #expect(full.status == 74)
    #expect(full["spool.room"].state == "error")
    #expect(full["spool.room"].message.hasSuffix(" free: it is full"))
    #expect(full["spool.room"].advice == "free some space: until then no file can be written there")
    disk.makeRoom()
    disk.isReadOnly = true
    let closed = try box.checkup(gateway.port)
    #expect(closed.status == 74)
    #expect(closed["spool.room"].message == "mounted read-only")
    #expect(closed["spool.rights"].message.hasSuffix("Read-only file system"))
    #expect(closed["spool.rights"].advice == "mount it writable")
  }

  @Test func `check warns of little free space and refuses a spool across two file systems`() throws
  {
    let gateway = try Gateway(in: box)
    _ = try Disk(under: box, at: "/new", "size=4m")
    let apart = try box.checkup(gateway.port)
    #expect(apart.status == 78)
    #expect(
      apart["spool.new"].message
        == "on another file system than tmp/, so no file can be renamed into it")
    _ = try Disk(under: box, "size=4m,nr_inodes=100")
    let low = try box.checkup(gateway.port)
    #expect(low.status == 0)
    #expect(low["spool.room"].state == "warning")
    #expect(low["spool.room"].message.hasSuffix(" inodes free: nearly full"))
  }

  // MARK: - The other directories

  @Test func `check reports state, status page and recipients that the agent cannot use`() throws {
    try #require(geteuid() == 0, "needs root")
    let gateway = try Gateway(in: box)
    try box.giveSpoolToNobody()
    mkdir(box.state, 0o700)
    let closed = try box.checkup(gateway.port)
    #expect(closed.status == 77)
    #expect(
      closed["state.directory"].message
        == "\(box.state): nobody cannot write there: Permission denied")
    #expect(
      closed["state.directory"].advice
        == "make it a directory that this user may write to, or set state")
    #expect(closed["state.page"].state == "warning")
    #expect(closed["state.page"].message.contains("/status: nobody cannot write it: "))
    chown(box.state, 65534, 65534)
    let key = try box.keyReadableByAll()
    try writeFile("no list", to: box.state + "/suppressed.list")
    chmod(box.state + "/suppressed.list", 0o600)
    let unreadable = try box.checkup(gateway.port, [key])
    #expect(unreadable.status == 0)
    #expect(unreadable["state.list"].state == "warning")
    #expect(unreadable["state.list"].message == "nobody cannot read it: Permission denied")
    #expect(
      unreadable["state.list"].advice.hasPrefix("give it to the agent's user (chown nobody): "))
    chmod(box.state + "/suppressed.list", 0o644)
    let damaged = try box.checkup(gateway.port, [key, "recipients=/nowhere"])
    #expect(damaged.status == 74)
    #expect(
      damaged["state.list"].message == "some of its lines are damaged, or version 0.2.0 wrote it")
    rename(box.state + "/suppressed.list", box.state + "/suppressed.list.damaged")
    let setAside = try box.checkup(gateway.port, [key])["state.list"]
    #expect(setAside.state == "warning")
    #expect(setAside.message == "suppressed.list.damaged is a damaged list that was set aside")
    #expect(damaged["recipients.directory"].state == "warning")
    #expect(damaged["recipients.directory"].message == "/nowhere: No such file or directory")
    try box.write("# nobody\n", to: "recipients/family")
    chmod(box.path + "/recipients/family", 0o600)
    let unread = try box.checkup(gateway.port)["recipients.directory"]
    #expect(unread.state == "warning")
    #expect(unread.message.hasSuffix("/recipients, 1 file, of which nobody may not read 1"))
  }

  @Test func `check warns of recipients files with wrong lines or with nobody to reach`() throws {
    let gateway = try Gateway(in: box)
    try box.write("# nobody\n", to: "recipients/empty")
    try box.write("\(token(1))\n", to: "recipients/gone")
    try box.write("\(token(1))\n\(token(2))\n", to: "recipients/good")
    try box.write("\(token(2))\n\(token(3)) Marie\nx\n", to: "recipients/partly")
    try box.write("\(token(3)) Marie\n", to: "recipients/wrong")
    let suppress = try box.run(
      Build.command(Build.host) + ["token", "suppress", token(1), "-o", "state=\(box.state)"])
    #expect(suppress.status == 0, "\(suppress.errors)")
    chown(box.state, 65534, 65534)
    let checkup = try box.checkup(gateway.port)
    let reach = checkup.all("recipients.reach")
    #expect(reach.map(\.state) == ["warning", "warning"])
    #expect(
      reach.map(\.message) == [
        "empty has no recipient", "gone: nothing is sent to its recipients, which are suppressed",
      ])
    let lines = checkup.all("recipients.line")
    #expect(lines.map(\.state) == ["warning", "warning"])
    let problem = "only lang=LANGUAGE, registered=SECONDS or a # comment may follow the token"
    #expect(lines.map(\.message) == ["partly, line 2: \(problem)", "wrong, line 1: \(problem)"])
  }

  // MARK: - The status page

  @Test func `check reports a status path that is no status page`() throws {
    let gateway = try Gateway(in: box)
    let page = box.path + "/page"
    func check() throws -> Checkup { try box.checkup(gateway.port, ["status=" + page]) }
    func expect(_ words: String) throws {
      let checkup = try check()
      #expect(checkup.status == 0)
      #expect(checkup["state.page"].state == "warning")
      #expect(checkup["state.page"].message == page + words)
      #expect(
        checkup["state.page"].advice
          == "remove it and restart the agent, which creates the page; or set status to another file"
      )
    }
    #expect(try check()["state.page"].state == "ok")
    mkdir(page, 0o755)
    try expect(": not a regular file")
    rmdir(page)
    symlink("/nowhere", page)
    try expect(": not a regular file")
    unlink(page)
    mkfifo(page, 0o644)
    try expect(": not a regular file")
    unlink(page)
    let words = "my notes\n"
    try writeFile(words, to: page)
    try expect(": not a status page, so the agent does not overwrite it")
    #expect(box.text("page") == words)
    try writeFile("", to: page)
    #expect(try check()["state.page"].state == "ok")
  }

  @Test func `check reports a status page that the running agent does not write`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.start(
      Build.command(Build.host) + ["run"] + box.wellSettings(gateway.port))
    try agent.line("connected to", in: .errors)
    #expect(try box.checkup(gateway.port)["state.page"].state == "ok")
    let other = box.path + "/other"
    func expect(_ words: String) throws {
      let item = try box.checkup(gateway.port, ["status=" + other])["state.page"]
      #expect(item.state == "warning")
      #expect(item.message == other + words)
      #expect(item.advice == "restart the agent: systemctl restart tinypush")
    }
    try expect(": an agent is running, but does not write this page")
    try FileManager.default.copyItem(atPath: box.path + "/status", toPath: other)
    try expect(": an agent is running, but does not write this page")
    #expect(try agent.terminate() == 0)
    #expect(try box.checkup(gateway.port, ["status=" + other])["state.page"].state == "ok")
  }
}
