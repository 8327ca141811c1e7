import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush sandbox`, which runs the program `tinypush-sandbox` beside this one.
///
/// A board that only delivers needs no sandbox, so that the sandbox is a separate program.
enum SandboxCommand {
  static let command = Command(
    "sandbox", "run a push service on this machine, to try and test with", options: "", usage: ""
  ) { run($0.values) }

  /// Replaces this process by the sandbox with the same arguments; returns only on failure.
  private static func run(
    _ words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  ) -> ExitStatus {
    let link: StaticString = "/proc/self/exe"
    let own = FixedBuffer<UInt8>(capacity: Int(PATH_MAX))
    var end = readlink(link.cString, own.room().baseAddress!, own.capacity)
    guard end > 0 else { return fail(link.span, clinux_errno()) }
    while own[end - 1] != .slash { end -= 1 }
    var path = Text(capacity: own.capacity + 32)
    path.append(own, count: end)
    path.append("tinypush-sandbox")
    // The sandbox prints how to call the agent, by the path with which this program was called.
    var name = Text(capacity: own.capacity)
    name.append(cString: clinux_arguments()[0])
    name.append("-sandbox")
    let program = path.cString()
    let called = name.cString()
    words[0] = UnsafeMutablePointer(mutating: called.pointer)
    execv(program.pointer, words)
    return fail(program.span, clinux_errno())
  }

  private static func fail(_ path: Span<UInt8>, _ error: Int32) -> ExitStatus {
    var text = Text(capacity: 8192)
    text.append("tinypush sandbox: ", printable: path)
    text.append(": ", cString: clinux_error_text(error))
    if error == ENOENT {
      text.append(
        "\nThe sandbox is a separate program: install the package tinypush-sandbox, or put it there."
      )
    }
    text.append("\n")
    text.write(to: STDERR_FILENO)
    return .unavailable
  }
}
