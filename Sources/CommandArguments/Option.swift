/// An option of a command.
public struct Option {
  public enum Value: Int32 {
    case none = 0
    case required = 1
    case optional = 2
  }

  public let name: StaticString
  public let value: Value

  public init(_ name: StaticString, _ value: Value = .none) {
    self.name = name
    self.value = value
  }
}
