import Foundation
import Testing

/// A small tmpfs under a box's spool or one of its directories, to be filled up or made read-only.
///
/// The disk is unmounted at the end of the test. Needs root; without root `init` throws.
final class Disk {
  private let path: String
  private var fillers: [String] = []

  /// - Parameter options: mount options as in tmpfs(5).
  init(at path: String, _ options: String) throws {
    self.path = path
    guard mount("tinypush", path, "tmpfs", 0, options) == 0 else {
      throw Failure("mount: \(String(cString: strerror(errno))); these tests are run as root")
    }
    // Also if the disk is busy.
    CommandTests.box.atEnd { umount2(path, Int32(MNT_DETACH)) }
  }

  convenience init(under box: Box, at directory: String = "", _ options: String) throws {
    try self.init(at: box.spool + directory, options)
    guard directory == "" else { return }
    for name in ["new", "failed", "tmp"] { mkdir("\(path)/\(name)", 0o777) }
  }

  var isReadOnly = false {
    didSet {
      let flags = UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
      guard mount("tinypush", path, "tmpfs", flags, nil) == 0 else {
        Issue.record("remount: \(String(cString: strerror(errno)))")
        return
      }
    }
  }

  enum Resource: CaseIterable, Sendable { case bytes, inodes }

  /// Uses up the rest of a resource.
  func fill(_ resource: Resource) throws {
    var isFull = false
    while !isFull {
      let name = "\(path)/.filler\(fillers.count)"
      guard let file = fopen(name, "we") else { break }
      fillers.append(name)
      if resource == .bytes {
        let bytes = String(repeating: "x", count: 4096)
        while fputs(bytes, file) >= 0, fflush(file) == 0 {}
      }
      isFull = fclose(file) != 0 || resource == .bytes
    }
    guard errno == ENOSPC else { throw Failure("filling: \(String(cString: strerror(errno)))") }
  }

  func makeRoom() {
    for name in fillers { unlink(name) }
    fillers = []
  }
}

extension Box {
  /// Starts an agent as `nobody`, also if root runs the tests.
  func unprivilegedAgent(_ gateway: Gateway, _ settings: [String] = []) throws -> Child {
    let key = path + "/client.key"
    try FileManager.default.copyItem(atPath: Certificates.path("client.key"), toPath: key)
    chmod(key, 0o644)
    let command =
      try Build.command(Build.host) + ["run"]
      + self.settings(gateway.port, settings + ["key=" + key])
    guard geteuid() == 0 else { return try start(command) }
    return try start(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + command)
  }

  /// Gives the spool to `nobody`, the user of `unprivilegedAgent`.
  func giveSpoolToNobody() throws {
    guard geteuid() == 0 else { return }
    for name in ["", "/new", "/failed", "/tmp"] {
      guard chown(spool + name, 65534, 65534) == 0 else { throw Failure("chown: errno \(errno)") }
    }
  }
}

extension String {
  func count(of words: String) -> Int { components(separatedBy: words).count - 1 }
}
