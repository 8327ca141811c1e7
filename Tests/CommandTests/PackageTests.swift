import Foundation
import Testing

/// The Debian packages and their contents; `make debtest` installs and uses them.
@Suite(.sideBySide) struct PackageTests {
  private static let names = Build.programs
  private static let builds = ["amd64", "arm64", "armhf", Build.recent]

  @Test(arguments: names, builds)
  func `a package built at another time and in another time zone is the same`(
    name: String, build: String
  ) throws {
    let first = try Packages.file(name, build)
    let second = try Packages.make(
      name, build, in: box.path, box, before: ["faketime", "2001-01-01 12:00:00"],
      environment: ["TZ": "Pacific/Kiritimati", "NO_FAKE_STAT": "1"])
    #expect(FileManager.default.contentsEqual(atPath: first, andPath: second))
  }

  @Test func `the package for armhf refuses a processor that cannot run it`() throws {
    let control = box.path + "/control"
    try box.run(["dpkg-deb", "--control", Packages.file("tinypush", "armhf"), control])
    chmod(try box.write("#!/bin/sh\necho $MACHINE\n", to: "bin/uname"), 0o755)
    for (machine, isRefused) in [("armv6l", true), ("armv7l", false), ("aarch64", false)] {
      let script = try box.run(
        [control + "/preinst", "install"],
        environment: ["PATH": box.path + "/bin:/usr/bin:/bin", "MACHINE": machine])
      #expect(script.status == (isRefused ? 1 : 0), "\(machine)")
      #expect(script.errors.contains("needs a processor with ARMv7") == isRefused, "\(machine)")
    }
    try box.run(["dpkg-deb", "--control", Packages.file("tinypush"), box.path + "/other"])
    #expect(!FileManager.default.fileExists(atPath: box.path + "/other/preinst"))
  }

  @Test func `lintian finds no error and no warning in the packages`() throws {
    let files = try Self.names.flatMap { name in
      try Self.builds.map { try Packages.file(name, $0) }
    }
    let lintian = try box.run(
      ["lintian", "--fail-on", "error,warning", "--allow-root"] + files,
      environment: ["TMPDIR": box.path])
    #expect(lintian.status == 0)
    #expect(lintian.output == "")
  }

  /// The package of each library, of Debian 12 or 13 by its version.
  private static let libraries = [
    "libc.so.6": "libc6", "libmbedcrypto.so.7": "libmbedcrypto7",
    "libmbedtls.so.14": "libmbedtls14", "libmbedx509.so.1": "libmbedx509-1",
    "libnghttp2.so.14": "libnghttp2-14", "libmicrohttpd.so.12": "libmicrohttpd12",
    "libmbedcrypto.so.16": "libmbedcrypto16", "libmbedtls.so.21": "libmbedtls21",
    "libmbedx509.so.7": "libmbedx509-7",
  ]

  @Test(arguments: names, builds)
  func `a package depends on the libraries that its program needs`(
    name: String, build: String
  ) throws {
    let file = try Packages.file(name, build)
    try box.run(["dpkg-deb", "--extract", file, box.path + "/tree"])
    let program = "\(box.path)/tree/usr/bin/\(name)"
    let needed = try box.run(["readelf", "--dynamic", program]).output
      .matches(of: #/\(NEEDED\).*\[(.*)\]/#).map { String($0.1) }
      .filter { !$0.hasPrefix("ld-linux") }
    let depends = try box.run(["dpkg-deb", "--field", file, "Depends"]).output
      .split(separator: ",").compactMap { $0.split(whereSeparator: \.isWhitespace).first }
      .map { String($0).replacing("t64", with: "") }.filter { $0.hasPrefix("lib") }
    #expect(Set(needed.map { Self.libraries[$0] ?? $0 }) == Set(depends))
    let version = try box.run(["dpkg-deb", "--field", file, "Version"]).output
    #expect(version.contains("+deb13") == (build == Build.recent))
    // Debian 12 has glibc 2.36.
    let versions = try box.run(["readelf", "--version-info", program]).output
      .matches(of: #/GLIBC_2\.([0-9]+)/#).compactMap { Int($0.1) }
    #expect(versions.max() ?? 0 <= 36)
  }

  /// Returns the paths in a package.
  private func list(_ file: String, in box: Box) throws -> Set<String> {
    let listed = try box.run(["dpkg-deb", "--contents", file]).output
    // The name follows the rights, the owner, the size, the date and the time. A link's target
    // follows the name.
    return try Set(
      listed.split(separator: "\n").map { try String($0.split(separator: " ").at(5)) })
  }

  /// The manual pages of the program, as the package installs them.
  private func pages() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: Build.package + "/board/man")
      .filter { page in Self.names.dropFirst().allSatisfy { !page.hasPrefix($0) } }
      .map { "usr/share/man/man\($0.suffix(1))/\($0).gz" }
  }

  @Test func `the package contains all files of the program`() throws {
    let file = try Packages.file("tinypush")
    let files = try list(file, in: box)
    for name in [
      "usr/share/tinypush/tinypush.conf", "etc/tinypush/recipients/", "usr/bin/tinypush",
      "usr/lib/sysusers.d/tinypush.conf", "usr/lib/tmpfiles.d/tinypush.conf",
      "usr/share/bash-completion/completions/tinypush", "usr/share/doc/tinypush/README.md.gz",
      "usr/share/doc/tinypush/copyright", "usr/share/doc/tinypush/examples/node-red.json",
      "usr/share/zsh/vendor-completions/_tinypush",
    ]
      + Self.units.filter({ !$0.contains("http") && !$0.contains("mqtt") }).map({
        "usr/lib/systemd/system/" + $0
      })
      + (try pages())
    {
      #expect(files.contains("./" + name), "\(name)")
    }
    // No conffiles: at an upgrade dpkg would ask about each changed one.
    #expect(try box.run(["dpkg-deb", "--info", file, "conffiles"]).status != 0)
    let version = try box.run(["dpkg-deb", "--field", file, "Version"]).output
    let program = try box.tinypush("--version").output
    #expect("tinypush " + version == program)
  }

  @Test func `the sandbox is in a separate package`() throws {
    let files = try list(Packages.file("tinypush-sandbox"), in: box)
      .filter { !$0.hasSuffix("/") }
    let expected: Set = [
      "./usr/bin/tinypush-sandbox", "./usr/share/doc/tinypush-sandbox/changelog.gz",
      "./usr/share/doc/tinypush-sandbox/copyright", "./usr/share/man/man1/tinypush-sandbox.1.gz",
    ]
    #expect(Set(files) == expected)
    let others = try list(Packages.file("tinypush"), in: box)
    #expect(others.isDisjoint(with: expected))
  }

  @Test func `the service for HTTP is in a separate package`() throws {
    let files = try list(Packages.file("tinypush-http"), in: box)
      .filter { !$0.hasSuffix("/") }
    let expected: Set = [
      "./usr/bin/tinypush-http", "./usr/share/doc/tinypush-http/changelog.gz",
      "./usr/share/doc/tinypush-http/copyright", "./usr/share/man/man1/tinypush-http.1.gz",
      "./usr/lib/sysusers.d/tinypush-http.conf", "./usr/lib/systemd/system/tinypush-http.socket",
      "./usr/lib/systemd/system/tinypush-http.service",
      "./usr/share/bash-completion/completions/tinypush-http",
    ]
    #expect(Set(files) == expected)
    let others = try list(Packages.file("tinypush"), in: box)
    #expect(others.isDisjoint(with: expected))
  }

  @Test func `the program for mails is in a separate package, under the names of a mail server`()
    throws
  {
    let file = try Packages.file("tinypush-sendmail")
    let files = try list(file, in: box).filter { !$0.hasSuffix("/") }
    let expected: Set = [
      "./usr/bin/tinypush-sendmail", "./usr/share/doc/tinypush-sendmail/changelog.gz",
      "./usr/share/doc/tinypush-sendmail/copyright",
      "./usr/share/man/man1/tinypush-sendmail.1.gz", "./usr/share/man/man8/sendmail.8.gz",
      "./usr/share/man/man1/newaliases.1.gz", "./usr/sbin/sendmail", "./usr/lib/sendmail",
      "./usr/bin/newaliases",
    ]
    #expect(Set(files) == expected)
    for field in ["Provides", "Conflicts", "Replaces"] {
      let value = try box.run(["dpkg-deb", "--field", file, field]).output
      #expect(value == "mail-transport-agent\n", "\(field)")
    }
    let tree = box.path + "/tree"
    try box.run(["dpkg-deb", "--extract", file, tree])
    for name in ["sbin/sendmail", "lib/sendmail", "bin/newaliases"] {
      let target = URL(filePath: "\(tree)/usr/\(name)").resolvingSymlinksInPath().path
      #expect(target.hasSuffix("/usr/bin/tinypush-sendmail"), "\(name)")
    }
    let others = try list(Packages.file("tinypush"), in: box)
    #expect(others.isDisjoint(with: expected))
  }

  @Test func `the bridge is in a separate package`() throws {
    let files = try list(Packages.file("tinypush-mqtt"), in: box)
      .filter { !$0.hasSuffix("/") }
    let expected: Set = [
      "./usr/bin/tinypush-mqtt", "./usr/share/doc/tinypush-mqtt/changelog.gz",
      "./usr/share/doc/tinypush-mqtt/copyright", "./usr/share/man/man1/tinypush-mqtt.1.gz",
      "./usr/share/man/man5/tinypush-mqtt.conf.5.gz", "./usr/share/tinypush-mqtt/mqtt.conf",
      "./usr/lib/tmpfiles.d/tinypush-mqtt.conf", "./usr/lib/sysusers.d/tinypush-mqtt.conf",
      "./usr/lib/systemd/system/tinypush-mqtt.service",
      "./usr/lib/systemd/system/tinypush-mqtt-config.path",
      "./usr/lib/systemd/system/tinypush-mqtt-config.service",
      "./usr/share/bash-completion/completions/tinypush-mqtt",
    ]
    #expect(Set(files) == expected)
    let others = try list(Packages.file("tinypush"), in: box)
    #expect(others.isDisjoint(with: expected))
  }

  // MARK: - A repository

  @Test func `a repository has the packages of each release, and is the same at another time`()
    throws
  {
    for build in [Build.host, "armhf", Build.recent] {
      try Packages.make("tinypush", build, in: box.path + "/packages", box)
    }
    let command = [Build.package + "/board/repository", "none", box.path + "/packages"]
    let epoch = ["SOURCE_DATE_EPOCH": "1700000000"]
    let made = try box.run(command + [box.path + "/first"], environment: epoch)
    #expect(made.status == 0, "\(made.errors)")
    try box.run(
      ["faketime", "2001-01-01 12:00:00"] + command + [box.path + "/second"],
      environment: epoch.merging(["TZ": "Pacific/Kiritimati"]) { $1 })
    let compared = try box.run(["diff", "--recursive", "first", "second"])
    #expect(compared.status == 0, "\(compared.output)\(compared.errors)")
    for (suite, count) in [("bookworm", 2), ("trixie", 1)] {
      let release = box.text("first/dists/\(suite)/Release")
      #expect(release.contains("\nDate: Tue, 14 Nov 2023 22:13:20 +0000\n"))
      #expect(release.matches(of: #/(?m)^ [0-9a-f]{64} .*Packages$/#).count == count)
      let packages = box.text("first/dists/\(suite)/main/binary-\(Build.host)/Packages")
      let isRecent = packages.contains("+deb13_\(Build.host).deb\n")
      #expect(isRecent == (suite == "trixie"), "\(packages)")
    }
  }

  @Test func `a repository is signed with a key that is given`() throws {
    try Packages.make("tinypush", Build.host, in: box.path + "/packages", box)
    let command = Build.package + "/board/repository"
    let without = try box.run([command, "", "packages", "first"])
    #expect(without.status == 1)
    #expect(without.errors.contains("gpg --quick-generate-key"))
    let unknown = try box.run([command, "0000000000", "packages", "first"])
    #expect(unknown.status == 1)
    #expect(unknown.errors.contains("There is no secret key 0000000000."))

    let home = ["gpg", "--homedir", box.path + "/home", "--batch"]
    try box.run(["mkdir", "--mode=700", "home"])
    try box.run(
      home + ["--passphrase", "", "--quick-generate-key", "Own", "ed25519", "sign", "never"])
    try box.write(box.run(home + ["--armor", "--export-secret-keys"]).output, to: "own.key")
    try box.run(["gpgconf", "--homedir", box.path + "/home", "--kill", "all"])
    let signed = try box.run([command, "own.key", "packages", "first"])
    #expect(signed.status == 0, "\(signed.errors)")
    let release = box.path + "/first/dists/bookworm/InRelease"
    try box.run(["gpg", "--batch", "--dearmor", "--output", "own.gpg", "first/tinypush.asc"])
    #expect(try box.run(["gpgv", "--keyring", box.path + "/own.gpg", release]).status == 0)
    let text = box.text("first/dists/bookworm/InRelease").replacing("main", with: "mine")
    let changed = try box.run(
      ["gpgv", "--keyring", box.path + "/own.gpg", box.write(text, to: "changed")])
    #expect(changed.status != 0)
  }

  // MARK: - Units

  private static let units = [
    "tinypush.service", "tinypush@.service", "tinypush-feedback.service",
    "tinypush-feedback@.service", "tinypush-feedback.timer", "tinypush-feedback@.timer",
    "tinypush-config.path", "tinypush-config@.path", "tinypush-config.service",
    "tinypush-config@.service", "tinypush-mqtt.service", "tinypush-mqtt-config.path",
    "tinypush-mqtt-config.service", "tinypush-http.socket", "tinypush-http.service",
  ]

  /// The units, copied with this machine's build as their program.
  private func copyUnits(_ box: Box) throws {
    for unit in Self.units {
      let text = try String(
        contentsOfFile: "\(Build.package)/board/systemd/\(unit)", encoding: .utf8)
      let program = "\(Build.directory)/\(Build.host)/tinypush"
      try box.write(text.replacing("/usr/bin/tinypush", with: program), to: unit)
    }
  }

  @Test func `systemd-analyze verifies the units`() throws {
    try copyUnits(box)
    let names = Self.units.map { "\(box.path)/" + $0.replacing("@.", with: "@app.") }
    for unit in Self.units where unit.contains("@") {
      symlink(unit, "\(box.path)/" + unit.replacing("@.", with: "@app."))
    }
    let verified = try box.run(["systemd-analyze", "verify", "--man=no"] + names)
    #expect(verified.status == 0)
    let words = (verified.output + verified.errors).split(separator: "\n")
      .filter { $0.contains("tinypush") }
    #expect(words == [])
  }

  @Test(arguments: units.filter { $0.hasSuffix(".service") })
  func `each service has an exposure level of at most 1.2`(unit: String) throws {
    let path = "\(Build.package)/board/systemd/\(unit)"
    let judged = try box.run(
      ["systemd-analyze", "security", "--offline=true", "--threshold=12", path])
    #expect(judged.status == 0, "\(judged.output.suffix(200))")
  }

  @Test func `systemd does not restart a service whose error only a person can correct`() throws {
    for unit in [
      "tinypush", "tinypush@", "tinypush-feedback", "tinypush-feedback@", "tinypush-mqtt",
    ] {
      let text = try String(
        contentsOfFile: "\(Build.package)/board/systemd/\(unit).service", encoding: .utf8)
      #expect(text.contains("\nRestartPreventExitStatus=66 77 78\n"), "\(unit)")
      #expect(text.contains("\nOOMScoreAdjust=-500\n"), "\(unit)")
    }
  }

  @Test func `all services have the same restrictions`() throws {
    let restrictions = try Self.units.filter { $0.hasSuffix(".service") }.map { unit in
      let text = try String(
        contentsOfFile: "\(Build.package)/board/systemd/\(unit)", encoding: .utf8)
      let start = try #require(text.range(of: "# Restrictions")).lowerBound
      return try text[start...].components(separatedBy: "\n\n").at(0)
        .trimmingCharacters(in: .newlines)
    }
    #expect(Set(restrictions).count == 1)
    #expect(try restrictions.at(0).contains("SystemCallFilter="))
  }
}
