import CLinux
import TinyPush
import TinyPushAgent

/// The control socket in the sandbox's directory, for `tinypush sandbox device`.
///
/// Only the socket's owner may connect.
struct ControlListener: ~Copyable {
  static let name: StaticString = "control"

  let descriptor: Int32
  private let home: Home

  init(in home: Home) throws(SandboxFailure) {
    self.home = home
    descriptor = clinux_listen_local(home.descriptor, Self.name.cString, 8)
    guard descriptor < 0 else { return }
    var text = Text(capacity: 8192)
    text.append("cannot listen at ", home.path("/control"))
    text.append(": ", cString: clinux_error_text(-descriptor))
    SandboxFailure.print(text)
    throw .cannotCreate
  }

  deinit {
    unlinkat(home.descriptor, Self.name.cString, 0)
    close(descriptor)
  }
}
