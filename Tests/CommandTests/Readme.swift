import Foundation

/// The Markdown pages of the repository, and the code blocks of README.md.
enum Readme {
  static let path = Build.package + "/README.md"

  static let text = Result { try String(contentsOfFile: path, encoding: .utf8) }

  /// The code blocks of the README as they stand, each with a line end.
  static let blocks = Result {
    let parts = try text.get().components(separatedBy: "\n```")
    guard parts.count % 2 == 1 else { throw Failure("\(path): a code block has no end") }
    return stride(from: 1, to: parts.count, by: 2).map { index in
      // The rest of the first line is the language.
      String(parts[index].drop { $0 != "\n" }.dropFirst()) + "\n"
    }
  }

  /// The code block that begins with this text.
  static func block(_ beginning: String) throws -> String {
    let found = try blocks.get().filter { $0.hasPrefix(beginning) }
    guard found.count == 1 else {
      throw Failure("\(path): \(found.count) code blocks begin with \(beginning)")
    }
    return found[0]
  }

  /// The README, CONTRIBUTING and so on, and the pages in docs/, by their paths.
  static let pages = Result {
    let manager = FileManager.default
    return try ["", "docs/"].flatMap { folder in
      try manager.contentsOfDirectory(atPath: "\(Build.package)/\(folder)")
        .filter { $0.hasSuffix(".md") }.map { folder + $0 }
    }.sorted()
  }
}
