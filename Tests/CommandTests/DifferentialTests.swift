import Foundation
import Testing

@Test func `the scanner takes what Python's json takes, but for differences that have a name`()
  async throws
{
  // The program that is asked stands beside the one that runs the tests.
  let judge = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .appending(path: "judge").path
  let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
  try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: directory) }
  let child = try Child(
    ["python3", Build.tools + "/differential.py", judge], environment: [:], input: nil,
    directory: directory, output: directory + "/differential")
  defer { child.kill() }
  #expect(try await child.end(within: 300) == 0, "\(child.output)\(child.errors)")
}
