import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// What systemd knows of the MQTT bridge, which runs as another user than the agent.
struct BridgeState: ~Copyable {
  /// Whether systemd runs the bridge; nil if nobody has started it.
  private(set) var isRunning: Bool?
  /// What the bridge says of its connection, or where to see why it does not run.
  private(set) var words = Text(capacity: 1024)

  init() {}

  /// Asks systemd, which has a bridge only beside the agent of the package.
  init(beside config: borrowing Config) {
    guard config.status.span.equals(Config.packagedStatus.span) else { return }
    let command: StaticString =
      "exec timeout 5 systemctl show tinypush-mqtt --property=ActiveState,StatusText 2>/dev/null"
    guard var answer = InputLines(outputOf: command) else { return }
    while let line = answer.next() { take(line.trimmed()) }
    guard isRunning == false else { return }
    words.clear()
    words.append("not running: systemctl status tinypush-mqtt shows why")
  }

  deinit {}

  private mutating func take(_ line: Span<UInt8>) {
    let (state, text): (StaticString, StaticString) = ("ActiveState=", "StatusText=")
    if line.begins(with: text.span) {
      words.append(printable: line.extracting(text.utf8CodeUnitCount..<line.count))
    } else if line.equals("ActiveState=active") || line.equals("ActiveState=reloading") {
      isRunning = true
    } else if line.begins(with: state.span), !line.equals("ActiveState=inactive") {
      // Failed, or about to be started again.
      isRunning = false
    }
  }
}
