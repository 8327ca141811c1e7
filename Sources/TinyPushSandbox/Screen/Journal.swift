import CLinux
import TinyPush
import TinyPushAgent

/// Says what happens: as words for a person, as JSON Lines for a program, or, when quiet, as sums at the end. What is
/// said is gathered, and goes out once a turn of the loop.
final class Journal {
  /// Room for a whole event at any time: an accepted payload of the largest size, and what is said around it. Words
  /// can take four bytes for a byte of a payload, which they are then cut at.
  private static let eventBytesMax = SandboxOptions.payloadLimitMax + 16_384
  private static let capacity = eventBytesMax + 65_536

  var out = Text(capacity: capacity)
  var tally = Tally()
  var lockScreens = LockScreens()
  private(set) var clock = SystemClock()
  let isJSON: Bool
  let isQuiet: Bool
  let palette: Palette
  /// The terminal shows nothing but ASCII.
  private let isPlain: Bool
  /// The one that a notification is for when it is for no device in particular.
  let app = App(topic: Credentials.topic.span, directory: nil)
  /// Whether nobody reads it any more.
  private(set) var isLost = false

  init(isJSON: Bool, isQuiet: Bool) {
    self.isJSON = isJSON
    self.isQuiet = isQuiet
    let terminal = Terminal(STDOUT_FILENO)
    isPlain = terminal.isPlain
    palette = isJSON || !terminal.isColoured ? .plain : .terminal
  }

  /// The time of what is said next.
  func tick(_ clock: SystemClock) { self.clock = clock }

  func flush() {
    guard out.count > 0 else { return }
    if isPlain {
      // In a frame what is cut has room for one character.
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

  /// The last words.
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

  /// Something that a person should know.
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

  /// Makes room for one more event.
  private func begin() {
    if out.count > Self.capacity - Self.eventBytesMax { flush() }
  }

  /// The same, where one is said at all.
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

  /// Begins an object of JSON Lines with what every event bears.
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
