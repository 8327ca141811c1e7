import CLinux
import TinyPush
import TinyPushAgent

/// The output of the sandbox: words for people, JSON Lines for programs, or only sums at the end.
///
/// Events are collected, and written once in a turn of the loop.
final class Journal {
  /// The room for an event: a payload of the largest size, and the members around it.
  ///
  /// Words can take four bytes for a byte of a payload, and are then cut.
  private static let eventBytesMax = SandboxOptions.payloadLimitMax + 16_384
  private static let capacity = eventBytesMax + 65_536

  var out = Text(capacity: capacity)
  var tally = Tally()
  var binaryConnections = ConnectionCount()
  var lockScreens = LockScreens()
  private(set) var clock = SystemClock()
  let isJSON: Bool
  let isQuiet: Bool
  let palette: Palette
  /// Whether the terminal shows only ASCII.
  private let isPlain: Bool
  /// The app that shows notifications to a nameless device.
  let app = App(topic: Credentials.topic.span)
  /// Whether the output cannot be written any more.
  private(set) var isLost = false

  init(isJSON: Bool, isQuiet: Bool) {
    self.isJSON = isJSON
    self.isQuiet = isQuiet
    let terminal = Terminal(STDOUT_FILENO)
    isPlain = terminal.isPlain
    palette = isJSON || !terminal.isColoured ? .plain : .terminal
  }

  /// Sets the time of the next events.
  func tick(_ clock: SystemClock) { self.clock = clock }

  func flush() {
    guard out.count > 0 else { return }
    if isPlain {
      // An ellipsis must have one column, or else the frame around it breaks.
      var plain = Text(capacity: out.count)
      plain.append(ascii: out.bytes, ellipsis: "~")
      if Home.writeAll(STDOUT_FILENO, plain) != 0 { isLost = true }
    } else if Home.writeAll(STDOUT_FILENO, out) != 0 {
      isLost = true
    }
    out.clear()
  }

  // MARK: - The sandbox

  func listening(
    _ sandbox: borrowing Listener, _ feedback: borrowing Listener, _ home: Home, _ faults: Faults,
    _ devices: Devices?
  ) {
    if isJSON {
      beginEvent("listening")
      out.member("gateway", number: sandbox.port)
      out.member("feedback", number: feedback.port)
      var path = Text(capacity: 8192)
      home.write(ConfigFile.name, in: &path)
      out.member("config", string: path)
      path.clear()
      home.write(ConfigFile.binaryName, in: &path)
      out.member("binaryConfig", string: path)
      if let seed = faults.seed { out.member("seed", number: seed) }
      out.endLine()
    } else {
      Greeting.write(sandbox, feedback, home, faults, devices, isQuiet: isQuiet, in: &out)
    }
    flush()
  }

  /// Prints the sums at the end.
  func stopped() {
    begin()
    if isJSON {
      beginEvent("stopped")
      tally.writeMembers(in: &out)
      out.endLine()
    } else {
      out.append("Goodbye. ")
      tally.write(in: &out)
      out.append(".\n")
    }
    flush()
  }

  /// Prints a note that is not about a single notification or device.
  func record(_ words: borrowing Text) {
    guard begins() else { return }
    if isJSON {
      beginEvent("note")
      out.member("text", string: words)
      out.endLine()
    } else {
      beginLine()
      out.append(bytes: words.bytes)
      out.append("\n")
    }
  }

  // MARK: - Parts

  /// Makes room for an event.
  private func begin() {
    if out.count > Self.capacity - Self.eventBytesMax { flush() }
  }

  /// Makes room for an event; false: the sandbox is quiet, and prints none.
  func begins() -> Bool {
    guard !isQuiet else { return false }
    begin()
    return true
  }

  func write(_ device: Device) {
    out.append(palette.strong)
    out.append(bytes: device.name)
    out.append(palette.end)
  }

  /// Begins a line of JSON with the members that every event has.
  func beginEvent(_ event: StaticString) {
    out.beginObject()
    out.member("event", word: event)
    out.member("time", milliseconds: clock.unixMs)
  }

  func beginLine(connection: Int64? = nil) {
    out.append(palette.dim)
    clock.write(in: &out)
    out.append(palette.end)
    out.append("  ")
    guard let connection else { return }
    out.append("connection ", connection, ": ")
  }
}
