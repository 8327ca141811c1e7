import Foundation

/// The Debian packages of the builds.
enum Packages {
  /// Returns the file of a package, which several tests share.
  static func file(_ name: String, _ build: String = Build.host) throws -> String {
    let directory = try Shared.make("\(name)-\(build)") { path in
      let box = try Box()
      defer { box.end() }
      try make(name, build, in: path, box)
    }
    return try directory + "/" + FileManager.default.contentsOfDirectory(atPath: directory).at(0)
  }

  /// Makes a package in a directory, and returns its file.
  @discardableResult
  static func make(
    _ name: String, _ build: String, in directory: String, _ box: Box,
    before: [String] = [], environment: [String: String] = [:]
  ) throws -> String {
    _ = try Build.command(build)
    let made = try box.run(
      before + [Build.package + "/board/deb", name, build, directory], environment: environment)
    guard made.status == 0 else { throw Failure(made.errors) }
    return made.output.trimmingCharacters(in: .newlines)
  }
}
