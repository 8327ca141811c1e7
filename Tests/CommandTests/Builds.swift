import Foundation
import Testing

/// The builds of the product that are tested, each in `build/NAME`.
enum Build {
  /// For this machine. What does not depend on the build is tested on it alone.
  static let host: String = {
    #if arch(arm64)
      "arm64"
    #else
      "amd64"
    #endif
  }()
  /// With mbedTLS 3.6, and so TLS 1.3.
  static let recent = "debian13-\(host)"
  static let all = ["ordinary", "amd64", "arm64", "armhf", recent]

  /// Where the builds are: `make test` says so.
  static let directory =
    ProcessInfo.processInfo.environment["TINYPUSH_BUILD"]
    ?? URL(filePath: #filePath).appending(path: "../../../build").standardized.path
  static let package = URL(filePath: directory).deletingLastPathComponent().path
  static let tools = package + "/Tests/Tools"

  /// Where what was built with the tests is: the programs, in ordinary Swift, among it.
  static let ordinary = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().path

  /// What runs a build, whatever it was built for. One that is missing is an error: nothing is skipped.
  static func command(_ name: String) throws -> [String] {
    let home = name == "ordinary" ? ordinary : "\(directory)/\(name)"
    for program in ["tinypush", "tinypush-sandbox"] {
      guard FileManager.default.isExecutableFile(atPath: "\(home)/\(program)") else {
        throw Failure("there is no \(home)/\(program): make test builds it")
      }
    }
    return name == "ordinary" ? [home + "/tinypush"] : [package + "/board/run", name]
  }
}

/// Why a test cannot go on.
struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
