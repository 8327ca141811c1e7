import Foundation

/// The recipes of tinypush-recipes(7): the literal block behind each comment `recipe: NAME`.
enum Recipe {
  static let page = Build.package + "/board/man/tinypush-recipes.7"

  /// The texts of the recipes by name.
  static let all = Result {
    let source = try String(contentsOfFile: page, encoding: .utf8)
    var recipes: [String: String] = [:]
    for part in source.components(separatedBy: "\n.\\\" recipe: ").dropFirst() {
      let lines = part.components(separatedBy: "\n")
      guard lines.count > 2, lines[1] == ".Bd -literal", recipes[lines[0]] == nil,
        let end = lines.firstIndex(of: ".Ed")
      else { throw Failure("\(page): recipe \(lines[0])") }
      let text = lines[..<end].dropFirst(2).joined(separator: "\n") + "\n"
      // `\e` is the only escape in recipes.
      let plain = text.replacing("\\e", with: "\u{0}")
      guard !plain.contains("\\"), !plain.contains("\n."), !plain.contains("\n'") else {
        throw Failure("\(page): recipe \(lines[0]) has an escape or a request in it")
      }
      recipes[lines[0]] = plain.replacing("\u{0}", with: "\\")
    }
    return recipes
  }

  static func text(_ name: String) throws -> String {
    guard let text = try all.get()[name] else { throw Failure("no recipe \(name)") }
    return text
  }
}
