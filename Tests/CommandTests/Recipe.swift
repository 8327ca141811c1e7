import Foundation

/// The recipes of tinypush-recipes(7) and tinypush-operation(7): the literal block behind each comment
/// `recipe: NAME`.
enum Recipe {
  static let pages = ["recipes", "operation"].map { "\(ManPage.directory)/tinypush-\($0).7" }

  /// The texts of the recipes by name.
  static let all = Result {
    var recipes: [String: String] = [:]
    for page in pages {
      try recipes.merge(read(page)) { _, _ in throw Failure("\(page): a recipe is on both pages") }
    }
    return recipes
  }

  /// Returns the texts of the recipes of a page by name.
  static func read(_ page: String) throws -> [String: String] {
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
