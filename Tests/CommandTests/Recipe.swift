import Foundation

/// The recipes of tinypush-recipes(7), as they stand there: the literal text behind a comment `recipe: NAME`.
enum Recipe {
  static let page = Build.package + "/board/man/tinypush-recipes.7"

  /// Their names and texts.
  static let all = Result {
    let source = try String(contentsOfFile: page, encoding: .utf8)
    var recipes: [String: String] = [:]
    for part in source.components(separatedBy: "\n.\\\" recipe: ").dropFirst() {
      let lines = part.components(separatedBy: "\n")
      guard lines.count > 2, lines[1] == ".Bd -literal", recipes[lines[0]] == nil,
        let end = lines.firstIndex(of: ".Ed")
      else { throw Failure("\(page): recipe \(lines[0])") }
      let text = lines[2..<end].joined(separator: "\n") + "\n"
      // No other escapes are used.
      let plain = text.replacing("\\e", with: "\u{0}")
      guard !plain.contains("\\"), !plain.contains("\n."), !plain.contains("\n'") else {
        throw Failure("\(page): recipe \(lines[0]) has an escape or a request in it")
      }
      recipes[lines[0]] = plain.replacing("\u{0}", with: "\\")
    }
    return recipes
  }

  static func text(_ name: String) throws -> String {
    guard let text = try all.get()[name] else { throw Failure("there is no recipe \(name)") }
    return text
  }
}
