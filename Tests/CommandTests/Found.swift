import Foundation
import Testing

// What a program printed may be shorter than a test expects, or of another form. A test that takes
// a part of the output by these functions fails with the output; an index or `!` would end the run.

extension Collection {
  /// Returns the element at this offset, or throws with the whole collection.
  func at(_ offset: Int) throws -> Element {
    guard let element = dropFirst(offset).first else {
      throw Failure("no element \(offset) in \(Array(self))")
    }
    return element
  }
}

extension [String: Any] {
  /// Returns a member of a JSON object, or throws with the object.
  func member<Member>(_ name: String, as type: Member.Type = Member.self) throws -> Member {
    guard let value = self[name] as? Member else {
      throw Failure("no \(type) named \(name) in \(self)")
    }
    return value
  }
}

/// Returns the number in a text.
func number(_ text: some StringProtocol) throws -> Int {
  guard let number = Int(text) else { throw Failure("no number: \(text)") }
  return number
}

/// Returns the mode of a file.
func mode(_ path: String) throws -> Int {
  let attributes = try FileManager.default.attributesOfItem(atPath: path)
  return try #require(attributes[.posixPermissions] as? Int)
}
