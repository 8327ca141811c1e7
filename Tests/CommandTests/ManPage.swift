import Foundation
import Testing

/// A name in a table of the program.
func text(_ name: Span<UInt8>) -> String {
  String(decoding: name.indices.map { name[$0] }, as: UTF8.self)
}

/// The source of a manual page.
struct ManPage {
  static let directory = Build.package + "/board/man"

  /// The names of all pages, such as `tinypush.1`.
  static func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
  }

  let name: String
  let text: String

  init(_ name: String) throws {
    self.name = name
    text = try String(contentsOfFile: "\(Self.directory)/\(name)", encoding: .utf8)
  }

  func has(_ title: String) -> Bool { text.contains("\n.Sh \(title)\n") }

  /// The text of a section, its subsections included.
  func section(_ title: String) throws -> String {
    let part = text.split(separator: "\n.Sh ").first { $0.hasPrefix(title + "\n") }
    return String(try #require(part, "there is no section \(title) in \(name)"))
  }

  /// The first words of the items of a section: `a` and `b` of `.It Ic a , b`.
  func items(_ title: String) throws -> Set<String> {
    try words(section(title).split(separator: "\n").filter { $0.hasPrefix(".It ") })
  }

  /// The keywords that a section names, in items and in sentences.
  func keywords(_ title: String) throws -> Set<String> {
    let macros = #/^\.(It )?Ic /#
    return try words(section(title).split(separator: "\n").filter { $0.contains(macros) })
  }

  /// The words of lines that begin with macros.
  private func words(_ lines: [Substring]) -> Set<String> {
    Set(
      lines.flatMap { line in
        line.split(separator: " ").drop { $0.contains(#/^\.?[A-Z][a-z]$/#) }
          .prefix { !$0.contains(#/^[A-Z][a-z]$/#) }
          .filter { $0.contains(#/^[\w-]+$/#) }.map(String.init)
      })
  }
}
