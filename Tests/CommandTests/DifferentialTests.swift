import Foundation
import Testing

@Test(.sideBySide)
func `the scanner accepts what Python's json accepts, except for listed differences`()
  throws
{
  let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
  try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: directory) }
  let child = try Child(
    ["python3", Build.tools + "/differential.py", Build.ordinary + "/judge"], environment: [:],
    input: nil,
    directory: directory, output: directory + "/differential")
  defer { child.kill() }
  #expect(try child.wait() == 0, "\(child.output)\(child.errors)")
}
