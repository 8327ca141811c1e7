import CLinux
import TinyPush
import TinyPushAgent

/// The first lines of the sandbox: the ports, the files, and how to start an agent.
enum Greeting {
  static func write(
    _ gateway: borrowing Listener, _ feedback: borrowing Listener, _ home: Home, _ faults: Faults,
    _ devices: Devices?, isQuiet: Bool, in text: inout Text
  ) {
    text.append("listening on 127.0.0.1")
    if gateway.v6 >= 0 && feedback.v6 >= 0 { text.append(" and [::1]") }
    text.append(": the gateway (HTTP/2 and the binary protocol) at port ", gateway.port)
    text.append(", the feedback service at port ", feedback.port, "\n")
    if !isQuiet {
      text.append("  config        ")
      home.write(ConfigFile.name, in: &text)
      text.append("\n  for binary    ")
      home.write(ConfigFile.binaryName, in: &text)
      text.append("\n  run an agent  ", bytes: agent, " run --config ")
      write(quoted: home, ConfigFile.name, in: &text)
      text.append("\n  send          ", bytes: agent, " send Hello --config ")
      write(quoted: home, ConfigFile.name, in: &text)
      text.append("\n  or by sh      cd ")
      write(quoted: home, "/spool", in: &text)
      text.append(" &&\n                echo '{\"aps\":{\"alert\":\"Hello\"}}'")
      text.append(" >tmp/1.json && mv tmp/1.json new/\n")
      if let devices {
        write(devices, in: &text)
      } else {
        text.append("  device        every token has one\n")
      }
      text.append("  feedback      ")
      home.write(FeedbackList.name, in: &text)
      text.append(": lines UNIXSECONDS HEXTOKEN, which the feedback service sends next\n")
      write(faults, in: &text)
    }
    text.append("ready; Ctrl-C ends it\n")
  }

  /// The path of the agent's program, which lies beside this one.
  private static var agent: Span<UInt8> {
    @_lifetime(immortal) get {
      let name = CString.span(clinux_arguments()![0]!)
      let ending: StaticString = "-sandbox"
      let end = max(name.count - ending.utf8CodeUnitCount, 0)
      guard name.extracting(end..<name.count).equals(ending) else {
        return ("tinypush" as StaticString).span
      }
      return name.extracting(0..<end)
    }
  }

  private static func write(_ devices: Devices, in text: inout Text) {
    for device in devices.all {
      for app in device.apps {
        text.append("  device        ", bytes: device.name)
        if !app.topic.equals(Credentials.topic) {
          text.append(", app ", bytes: app.topic)
        }
        if !device.isOnline { text.append(", offline") }
        if !app.isInstalled { text.append(", uninstalled") }
        text.append(": ")
        text.append(hex: app.token.bytes)
        text.append("\n")
      }
    }
  }

  private static func write(_ faults: Faults, in text: inout Text) {
    for index in 0..<faults.count {
      text.append("  fault         ")
      faults[index].describe(in: &text)
      text.append("\n")
    }
    guard let seed = faults.seed else { return }
    text.append("  seed          ", seed, "\n")
  }

  /// Appends a path, in quotes if a shell needs them.
  private static func write(quoted home: Home, _ name: StaticString, in text: inout Text) {
    var path = Text(capacity: 8192)
    home.write(name, in: &path)
    text.append(shell: path.bytes)
  }
}
