import CLinux
import TinyPush
import TinyPushAgent

/// The two worlds of the service, which have no device token in common.
enum Environment {
  case production, sandbox

  /// The one that this gateway serves: that of the client's certificate.
  static var own: Environment { .sandbox }

  var text: StaticString {
    switch self {
    case .production: "production"
    case .sandbox: "sandbox"
    }
  }

  init?(_ text: Span<UInt8>) {
    if text.equals("production") {
      self = .production
    } else if text.equals("sandbox") {
      self = .sandbox
    } else {
      return nil
    }
  }
}

/// The keys of both environments: a file each in the sandbox's directory, made when it is missing.
struct TokenKeys: ~Copyable {
  private let production: TokenKey
  private let sandbox: TokenKey

  init(in home: Home) throws(SandboxFailure) {
    try home.make("/keys", mode: 0o700)
    let production = try Self.read("/keys/production", in: home)
    let sandbox = try Self.read("/keys/sandbox", in: home)
    self.production = production
    self.sandbox = sandbox
  }

  func seal(_ content: TokenContent, for environment: Environment) -> DeviceToken {
    switch environment {
    case .production: production.seal(content)
    case .sandbox: sandbox.seal(content)
    }
  }

  func open(_ token: Span<UInt8>, of environment: Environment) -> TokenContent? {
    switch environment {
    case .production: production.open(token)
    case .sandbox: sandbox.open(token)
    }
  }

  private static func read(
    _ name: StaticString, in home: Home
  ) throws(SandboxFailure) -> TokenKey {
    let path = home.path(name)
    var text = Text(capacity: TokenKey.byteCount + 1)
    var error = Home.read(path, into: &text)
    if error == ENOENT {
      let random = FixedBuffer<UInt8>(capacity: TokenKey.byteCount)
      guard getrandom(random.room().baseAddress, random.capacity, 0) == random.capacity else {
        throw .software
      }
      text.append(random, count: random.capacity)
      error = Home.replace(path, by: text, mode: 0o600)
    }
    guard error == 0, text.count == TokenKey.byteCount else {
      var words = Text(capacity: 8192)
      words.append(path)
      words.append(": ")
      words.append(
        cString: error == 0
          ? ("is not a key of 64 bytes" as StaticString).cString
          : clinux_error_text(error))
      words.append(". Without it no device token can be read: remove it, and the devices beside it")
      SandboxFailure.say(words)
      throw .cannotCreate
    }
    return TokenKey(text.bytes)
  }
}
