import Foundation
import Testing

/// The builds of the product under test, each in `build/NAME`.
enum Build {
  /// The build for this machine: tests that do not depend on the build use only this one.
  static let host: String = {
    #if arch(arm64)
      "arm64"
    #else
      "amd64"
    #endif
  }()
  /// The build with mbedTLS 3.6, which has TLS 1.3.
  static let recent = "debian13-\(host)"
  static let programs = [
    "tinypush", "tinypush-sandbox", "tinypush-mqtt", "tinypush-http", "tinypush-sendmail",
  ]
  static let all = ["ordinary", "amd64", "arm64", "armhf", recent]

  /// The directory of the builds, which `make test` sets.
  static let directory =
    ProcessInfo.processInfo.environment["TINYPUSH_BUILD"]
    ?? URL(filePath: #filePath).appending(path: "../../../build").standardized.path
  static let package = URL(filePath: directory).deletingLastPathComponent().path
  static let tools = package + "/Tests/Tools"

  /// The directory of the products built with the tests, among them the programs in ordinary Swift.
  static let ordinary = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().path

  /// Returns the command that runs a program of a build on this machine, whatever its processor.
  ///
  /// A missing build is an error: no test is skipped.
  static func command(_ name: String, _ program: String = "tinypush") throws -> [String] {
    let home = name == "ordinary" ? ordinary : "\(directory)/\(name)"
    for program in programs {
      guard FileManager.default.isExecutableFile(atPath: "\(home)/\(program)") else {
        throw Failure("\(home)/\(program) is missing: make test builds it")
      }
    }
    if name == "ordinary" { return ["\(home)/\(program)"] }
    return [package + "/board/run", name] + (program == "tinypush" ? [] : [program])
  }
}

/// The reason why a test cannot continue.
struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
