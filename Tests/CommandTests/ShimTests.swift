import Foundation
import Testing

/// The C code between Swift and mbedTLS, run alone with the sanitizers (`Tests/Shim`).
@Suite(.sideBySide) struct ShimTests {
  @Test(arguments: [Build.host, Build.recent])
  func `the sanitizers find no error in the C code, however little the socket accepts`(
    build: String
  ) throws {
    let directory = "\(Build.directory)/\(build)"
    var command = ["\(directory)/shim", box.path, Build.tools]
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
