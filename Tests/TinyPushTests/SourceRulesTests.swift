import Foundation
import Testing

/// Everything outside `Agent/` is values in, values out: the simulator decides what network, disk and clock do.
@Test func `only the agent's folder touches the system`() throws {
  let root = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../Sources/TinyPush").standardizedFileURL
  let files = try #require(
    FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
  )
  .compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
  #expect(files.count > 20)
  let system = ["CLinux", "CMbed", "Glibc", "Musl", "Foundation", "FoundationEssentials"]
  for file in files where !file.path.hasPrefix(root.path + "/Agent/") {
    let imports = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
      .map { $0.split(separator: " ") }.filter { $0.contains("import") }
      .flatMap { $0.map(String.init) }
    #expect(Set(imports).isDisjoint(with: system), "\(file.lastPathComponent)")
  }
}
