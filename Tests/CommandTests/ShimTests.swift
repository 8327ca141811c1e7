import Foundation
import Testing

/// The C between Swift and mbedTLS by itself, with the sanitizers in it: `Tests/Shim`.
@Suite(.sideBySide) struct ShimTests {
  @Test(arguments: [Build.host, Build.recent])
  func `the C holds under the sanitizers, whatever the socket takes`(build: String) throws {
    let box = try Box()
    defer { box.end() }
    let directory = "\(Build.directory)/\(build)"
    var command = ["\(directory)/shim", box.path]
    if FileManager.default.fileExists(atPath: directory + "/root") {
      command =
        [
          "sh", "-c",
          #"exec "$0"/lib*/ld-linux-*.so.* --library-path "$(echo "$0"/usr/lib/*-linux-gnu*)" "$@""#,
          directory + "/root",
        ] + command
    }
    let shim = try box.run(command)
    #expect(shim.status == 0, "\(shim.output)\(shim.errors)")
    #expect(shim.output.hasSuffix("all tests passed\n"), "\(shim.output)\(shim.errors)")
  }
}
