import Foundation
import Testing

/// Attacks by a member of the spool's group on the agent, on root and on other members.
///
/// A member may only send.
@Suite(.sideBySide) struct AttackTests {
  /// Runs a script as a member of the group.
  private func attack(_ box: Box, _ script: String) throws -> Child {
    try box.run(box.asMember + ["sh", "-c", script, "sh", box.spool])
  }

  @Test func `a group member cannot replace the spool's directories`() throws {
    try box.giveSpoolAsPackaged()
    for name in ["new", "tmp", "failed"] {
      let moved = try attack(box, "mv \"$1/\(name)\" \"$1/other\"")
      #expect(moved.status != 0)
    }
    #expect(try attack(box, "ln -s /etc \"$1/later\"").status != 0)
    #expect(try attack(box, "echo x >\"$1/failed/evil.unread\"").status != 0)
    #expect(try attack(box, "echo x >\"$1/new/fine\"").status == 0)
  }

  /// The group could write to the spool of 0.1.0, and may be able to write to one made by hand.
  @Test(arguments: ["queue", "send", "agent"])
  func `a command run by root does not follow a link that replaces new/`(way: String) throws {
    try box.giveSpoolToNobody()
    for name in ["", "/tmp", "/new", "/failed"] { chmod(box.spool + name, 0o2770) }
    let target = box.path + "/logrotate.d"
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
    let planted = try attack(
      box,
      """
      cd "$1" && echo 'postrotate' >failed/evil.unread && mv new old && ln -s \(target) new
      """)
    #expect(planted.status == 0, "\(planted.errors)")
    let gateway = try Gateway(in: box)
    let command: [String] =
      switch way {
      case "queue": ["queue", "retry", "--all"] + (try box.settings(gateway.port))
      case "send": ["send", "hello", "--token", token(1)] + (try box.settings(gateway.port))
      default: ["run", "--once"] + (try box.settings(gateway.port))
      }
    let done = try box.run(Build.command(Build.host) + command)
    #expect(done.status != 0, "\(done.output)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: target) == [])
  }

  @Test func `a file that root retries belongs to the agent and is never a linked file`() throws {
    try box.giveSpoolToNobody()
    for name in ["", "/tmp", "/new", "/failed"] { chmod(box.spool + name, 0o2770) }
    try box.write("secret", to: "secret")
    chmod(box.path + "/secret", 0o600)
    let planted = try attack(
      box, "cd \"$1/failed\" && printf '%s' '\(line(1))' >one.unread && chmod 644 one.unread")
    #expect(planted.status == 0, "\(planted.errors)")
    // Links to a file that root may read and the agent may not.
    symlink(box.path + "/secret", box.spool + "/failed/two.unread")
    link(box.path + "/secret", box.spool + "/failed/three.unread")
    let gateway = try Gateway(in: box)
    let retried = try box.run(
      Build.command(Build.host) + ["queue", "retry", "--all"] + box.settings(gateway.port))
    #expect(retried.output.contains("one.unread"), "\(retried.output)\(retried.errors)")
    let names = box.queued
    #expect(names.count == 1)
    for name in names {
      let file = try FileManager.default.attributesOfItem(atPath: "\(box.spool)/new/\(name)")
      #expect(file[.ownerAccountID] as? Int == 65534)
      #expect(try String(contentsOfFile: "\(box.spool)/new/\(name)", encoding: .utf8) == line(1))
    }
  }

  @Test func `retry opens no recipients file outside the recipients directory`() throws {
    let pipe = box.path + "/pipe"
    guard mkfifo(pipe, 0o666) == 0 else { throw Failure("mkfifo: errno \(errno)") }
    try box.write("", to: "recipients/family")
    let list = "../pipe"
    try box.write(
      #"{"failed":{"reason":"x","file":"one","list":"\#(list)","offset":0,"line":1},"to":"a","payload":{"aps":{"alert":"x"}}}"#
        + "\n", to: "spool/failed/one")
    let gateway = try Gateway(in: box)
    let trace = box.path + "/trace"
    let retried = try box.run(
      ["strace", "-f", "-o", trace, "-e", "trace=open,openat"] + Build.command(Build.host) + [
        "queue", "retry", "one", "-o", "recipients=\(box.path)/recipients",
      ] + box.settings(gateway.port))
    #expect(retried.status == 65)
    #expect(retried.output.contains("recipients file ../pipe: "), "\(retried.output)")
    #expect(!box.text("trace").contains("../pipe"))
  }

  @Test func `a group member cannot keep the agent from starting`() throws {
    let gateway = try Gateway(in: box)
    let first = try box.startAsPackaged(gateway)
    try first.line("connected to", in: .errors)
    #expect(try first.terminate() == 0)
    let holder = try box.start(
      box.asMember + [
        "sh", "-c",
        """
        exec 3<"$1/.lock" && flock --shared 3 || exit 1
        flock --shared "$1/.agent" true && exit 2
        rm -f "$1/.lock" "$1/.agent"; echo holding; exec sleep 100
        """, "sh", box.spool,
      ])
    try holder.line("holding")
    let second = try box.startAsPackaged(gateway)
    try second.line("connected to", in: .errors)
    try box.drop(line(1, "all the same"), as: "one")
    try gateway.accepts("all the same")
    #expect(try second.terminate() == 0)
  }

  @Test func `group members cannot remove or change notifications that others have queued`() throws
  {
    try box.giveSpoolAsPackaged()
    let sent = try box.run(
      ["setpriv", "--reuid=12346", "--regid=12346", "--groups=65534"]
        + Build.command(Build.host) + [
          "send", "Fire", "--token", token(1), "-o", "spool=" + box.spool,
        ])
    #expect(sent.status == 0, "\(sent.errors)")
    let name = sent.output.trimmingCharacters(in: .newlines)
    for script in [
      "rm -f \"$1/new/\(name)\"", "mv \"$1/new/\(name)\" \"$1/new/x\"",
      "echo x >>\"$1/new/\(name)\"",
      "echo x >\"$1/tmp/x\" && mv -f \"$1/tmp/x\" \"$1/new/\(name)\"",
    ] {
      #expect(try attack(box, script).status != 0, "\(script)")
    }
    #expect(box.queued == [name])
  }

  @Test func `locks of others stop no change of the recipients, the suppressions and the queue`()
    throws
  {
    let gateway = try Gateway(in: box)
    let agent = try box.startAsPackaged(gateway)
    try agent.line("connected to", in: .errors)
    try box.drop("no JSON\n", as: "refused")
    try wait(for: "the record") { !box.names(in: "failed").isEmpty }
    mkdir(box.state, 0o750)
    mkdir(box.path + "/recipients", 0o755)
    for name in ["/state", "/recipients"] { chown(box.path + name, 65534, 65534) }
    let settings = try box.settings(gateway.port, ["recipients=\(box.path)/recipients"])
    func change() throws {
      let commands = [
        ["token", "suppress", token(1)], ["recipient", "add", "family", token(2)],
        ["queue", "retry", "--all"],
      ]
      for words in commands {
        let child = try box.run(Build.command(Build.host) + words + settings)
        // The file that was refused is refused again.
        #expect(child.status == (words[0] == "queue" ? 65 : 0), "\(words) \(child.errors)")
      }
    }
    // The lock files are there.
    try change()
    let script = """
      cd "$1" && exec 3<state 4<recipients 5<spool/failed 6<spool/failed/refused || exit 1
      for number in 3 4 5 6; do flock --nonblock --exclusive $number || exit 2; done
      for file in state/.lock recipients/.lock spool/failed/.lock; do
        flock --nonblock "$file" true && exit 3
      done
      echo holding
      exec sleep 100
      """
    let holder = try box.start(box.asMember + ["sh", "-c", script, "sh", box.path])
    try holder.line("holding")
    try change()
    holder.kill()
    #expect(try agent.terminate() == 0)
  }

  @Test func `a command that waits for a lock says so after 10 s`() throws {
    mkdir(box.state, 0o750)
    let holder = try box.start(
      ["flock", box.state + "/.lock", "sh", "-c", "echo holding; exec sleep 100"])
    try holder.line("holding")
    let start = ContinuousClock.now
    let waiting = try box.run(
      Build.command(Build.host) + ["token", "suppress", token(1), "-o", "state=" + box.state])
    #expect(ContinuousClock.now - start >= .seconds(10))
    #expect(waiting.status == 75)
    #expect(waiting.errors.contains("another program has locked it for 10 s: try again"))
    holder.kill()
  }

  @Test func `another process of the agent's user cannot read the agent's memory`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.startAsPackaged(gateway)
    try agent.line("connected to", in: .errors)
    func read(_ process: String) throws -> Child {
      try box.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c"]
          + ["head -c 1 /proc/\(process)/mem /proc/\(process)/environ 2>&1 | grep Permission"])
    }
    #expect(try read("$$").status == 1)
    #expect(try read("\(agent.id)").output.split(separator: "\n").count == 2)
    #expect(try agent.terminate() == 0)
  }

  @Test func `members can read the agent's records and not change them`() throws {
    let gateway = try Gateway(in: box)
    let agent = try box.startAsPackaged(gateway)
    try agent.line("connected to", in: .errors)
    try box.drop("no JSON\n", as: "refused")
    try box.drop(line(1).replacing("}\n", with: ",\"not-before\":4000000000}\n"), as: "early")
    try wait(for: "both records") {
      !box.names(in: "failed").isEmpty && !box.names(in: "later").isEmpty
    }
    for place in ["failed", "later"] {
      let name = try box.names(in: place).at(0)
      #expect(try attack(box, "cat \"$1/\(place)/\(name)\"").status == 0)
      #expect(try attack(box, "echo x >>\"$1/\(place)/\(name)\"").status != 0)
    }
    #expect(try agent.terminate() == 0)
  }

  @Test func `an agent that starts closes a spool whose directories other users could replace`()
    throws
  {
    for name in ["", "/tmp", "/new", "/failed"] { chmod(box.spool + name, 0o2770) }
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway)
    try agent.line("other users could replace its directories", in: .errors)
    try agent.line("connected to", in: .errors)
    #expect(try agent.terminate() == 0)
    try #expect(
      ["", "/failed", "/new", "/tmp"].map { try mode(box.spool + $0) }
        == [0o2750, 0o2750, 0o3770, 0o3770])
    try #expect(mode(box.spool + "/.agent") == 0o600)
  }

  // MARK: - Files

  @Test(arguments: [Build.host, "armhf"])
  func `a sparse file of 40 GB does not delay other files`(build: String) throws {
    let path = try box.write("", to: "spool/new/a-giant")
    guard truncate(path, 40 << 30) == 0 else { throw Failure("truncate: errno \(errno)") }
    try box.drop(line(1, "behind"), as: "z")
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, build: build, ["settle=300ms"])
    try gateway.accepts("behind")
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    let failures = try box.failures("a-giant")
    #expect(failures.count == 2)
    #expect(
      (failures.last?["reason"] as? String)?.hasPrefix("no notification was found in 1 MB") == true)
    #expect(box.names(in: "failed") == ["a-giant", "a-giant.original"])
    #expect(try agent.terminate() == 0)
    let again = try box.deliver(gateway)
    #expect(again.status == 0)
  }

  @Test func `a directory that takes the place of a file keeps no place of the agent`() throws {
    let gateway = try HTTP2Gateway(in: box)
    let agent = try box.agent(gateway)
    try agent.line("connected to", in: .errors)
    let swapped = try box.run([
      "python3", "-c",
      """
      import ctypes, os, sys
      libc, (new, text) = ctypes.CDLL(None), sys.argv[1:]
      for number in range(300):
          name = f"{new}/{1700000000 + number}.000000000.{number}".encode()
          os.mkdir(name + b".tmp", 0o770)
          with open(name + b".part", "w") as file:
              file.write(text)
          os.rename(name + b".part", name)
          for _ in range(20):
              libc.renameat2(-100, name, -100, name + b".tmp", 2)
      """, box.spool + "/new", line(1),
    ])
    #expect(swapped.status == 0, "\(swapped.errors)")
    try box.drop(line(2, "behind"), as: "z")
    try gateway.accepts("behind")
    try wait(for: "taken/ to become empty") { box.names(in: "taken").isEmpty }
    #expect(try agent.terminate() == 0)
  }

  @Test func `directories in failed/ that occupy the needed names delay no other file`() throws {
    for number in 0..<300 {
      for suffix in ["", ".other"] {
        try box.write("x", to: "spool/failed/n\(number)\(suffix)/within")
      }
      try box.write("no JSON\n", to: "spool/new/n\(number)")
    }
    try box.drop(line(1, "behind"), as: "z")
    let gateway = try Gateway(in: box)
    let agent = try box.agent(gateway, ["settle=300ms"])
    try gateway.accepts("behind")
    try wait(for: "new/ to become empty") { box.queued.isEmpty }
    #expect(try agent.terminate() == 0)
    #expect(!agent.errors.contains("disk"))
  }

  @Test func `a large file does not delay a notification with a collapse-id`()
    throws
  {
    let many = (2..<400_000).map { line($0, "bulk") }.joined()
    try box.write(many, to: "spool/new/m")
    func collapsing(_ number: Int, _ alert: String) -> String {
      #"{"token":"\#(token(number))","payload":{"aps":{"alert":"\#(alert)"}},"collapse-id":"x"}"#
        + "\n"
    }
    // The agent reads the files in the order of their names.
    try box.drop(collapsing(1, "first"), as: "n")
    let gateway = try Gateway(in: box)
    let busy = try box.start([
      "sh", "-c",
      """
      i=0; while [ $i -lt 100000 ]; do i=$((i+1))
      printf '%s' '\(line(1, "small"))' >"$1/tmp/s$i"; mv "$1/tmp/s$i" "$1/new/p$i"; done
      """, "sh", box.spool,
    ])
    let agent = try box.agent(gateway, ["settle=300ms"])
    try gateway.accepts("first")
    try gateway.accepts("small")
    #expect(box.queued.contains("m"))
    busy.kill()
    #expect(try agent.terminate() == 0)
  }
}
