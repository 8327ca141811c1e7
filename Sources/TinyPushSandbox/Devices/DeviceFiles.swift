import CLinux
import TinyPush
import TinyPushAgent

/// The files in the sandbox's directory that keep the devices over a restart.
///
///     devices/NAME/device                 online
///     devices/NAME/TOPIC/app              installed, registered, listed, gone, badge, token, former token
///     devices/NAME/TOPIC/stored           the notifications that are stored for the device
///     devices/NAME/TOPIC/browser          the keys of a page in a browser, see Browser
///     devices/NAME/TOPIC/encryption-key   the key that is set in the app
///
/// The first two have lines of `KEY VALUE`. The third has for each notification a line with
/// the size of the payload and the ``Arrival``, and then the payload.
struct DeviceFiles: ~Copyable {
  private let home: Home

  init(in home: Home) throws(SandboxFailure) {
    self.home = home
    try home.make("/devices", mode: 0o755)
  }

  /// Prints that a file cannot be written, and returns the failure.
  func fail(_ refusal: Devices.Refusal) -> SandboxFailure {
    var text = Text(capacity: 8192)
    text.append("cannot write ", home.path("/devices"))
    if case .file(let error) = refusal {
      text.append(": ", cString: clinux_error_text(error))
    }
    SandboxFailure.print(text)
    return .cannotCreate
  }

  // MARK: - Paths

  private func path(_ device: Span<UInt8>, _ file: StaticString = "") -> Text {
    var path = home.path("/devices/")
    path.append(bytes: device)
    path.append(file)
    return path
  }

  private func path(_ app: Span<UInt8>, _ device: Span<UInt8>, _ file: StaticString = "") -> Text {
    var path = path(device, "/")
    path.append(bytes: app)
    path.append(file)
    return path
  }

  /// Returns the part of an app that the user sees.
  func screen(of topic: Span<UInt8>, on device: Device, badge: UInt64 = 0) -> App {
    App(topic: topic, keyFile: path(topic, device.name, "/encryption-key").bytes, badge: badge)
  }

  // MARK: - Reading

  func load() -> [Device] {
    var devices: [Device] = []
    for name in DirectoryName.all(in: home.path("/devices"))
    where devices.count < Devices.countMax {
      if let device = load(name.span) { devices.append(device) }
    }
    return devices
  }

  private func load(_ name: Span<UInt8>) -> Device? {
    var text = Text(capacity: 4096)
    guard Device.isName(name), Home.read(path(name, "/device"), into: &text) == 0 else {
      return nil
    }
    let device = Device(name: name)
    device.isOnline = !Self.value("online", in: text.bytes).equals("no")
    for topic in DirectoryName.all(in: path(name)) where device.apps.count < Devices.appsMax {
      if let app = load(topic.span, of: device) { device.apps.append(app) }
    }
    return device.apps.isEmpty ? nil : device
  }

  private func load(_ topic: Span<UInt8>, of device: Device) -> Installation? {
    var text = Text(capacity: 4096)
    guard Installation.isTopic(topic),
      Home.read(path(topic, device.name, "/app"), into: &text) == 0
    else { return nil }
    // Version 0.2.0 wrote no token.
    let token = DeviceToken(hex: Self.value("token", in: text.bytes))
    let app = Installation(
      topic: topic, token: token ?? Devices.newToken(),
      registered: Self.decimal("registered", in: text.bytes),
      screen: screen(
        of: topic, on: device, badge: UInt64(Self.decimal("badge", in: text.bytes))))
    app.formerToken = DeviceToken(hex: Self.value("former", in: text.bytes))
    app.gone = Self.decimal("gone", in: text.bytes)
    app.isInstalled = !Self.value("installed", in: text.bytes).equals("no")
    app.isListed = Self.value("listed", in: text.bytes).equals("yes")
    if token == nil { _ = try? write(app, of: device) }
    loadBrowser(app, of: device)
    app.stored = loadStored(app, of: device)
    return app
  }

  private func loadBrowser(_ app: Installation, of device: Device) {
    var keys = Text(capacity: 512)
    guard Home.read(path(app.topic, device.name, "/browser"), into: &keys) == 0,
      let browser = Browser(keys.bytes)
    else { return }
    app.subscribe(browser, token: app.token)
  }

  private func loadStored(_ app: Installation, of device: Device) -> [StoredNotification] {
    var text = Text(capacity: Self.storedBytesMax)
    guard Home.read(path(app.topic, device.name, "/stored"), into: &text) == 0 else { return [] }
    var stored: [StoredNotification] = []
    let bytes = text.bytes
    var start = 0
    while start < bytes.count {
      var space = start
      while space < bytes.count, bytes[space] != .space { space += 1 }
      var end = space
      while end < bytes.count, bytes[end] != .lineFeed { end += 1 }
      guard end < bytes.count, let count = Config.number(bytes.extracting(start..<space)),
        count < bytes.count - end, let arrival = Arrival(bytes.extracting(space + 1..<end))
      else { break }
      start = end + 1 + Int(count)
      stored.append(StoredNotification(arrival, payload: bytes.extracting(end + 1..<start)))
    }
    return stored
  }

  /// The size of the largest file of stored notifications.
  ///
  /// One payload of the largest size is stored for an app, and many small ones for a browser.
  private static let storedBytesMax =
    (StoredNotification.countMax + 1) * (MessageCheck.bodyMax + 256)
    + SandboxOptions.payloadLimitMax

  /// Returns the value on the line that begins with the key; empty: there is no such line.
  @_lifetime(copy text)
  private static func value(_ key: StaticString, in text: Span<UInt8>) -> Span<UInt8> {
    var start = 0
    while start < text.count {
      var end = start
      while end < text.count && text[end] != .lineFeed { end += 1 }
      let value = start + key.utf8CodeUnitCount + 1
      if value <= end, text[value - 1] == .space, text.extracting(start..<value - 1).equals(key) {
        return text.extracting(value..<end)
      }
      start = end + 1
    }
    return text.extracting(0..<0)
  }

  /// Returns the number of a key; 0 if absent.
  private static func decimal(_ key: StaticString, in text: Span<UInt8>) -> Int64 {
    Int64(Config.number(value(key, in: text)) ?? 0)
  }

  // MARK: - Writing

  func write(_ device: Device) throws(Devices.Refusal) {
    var text = Text()
    text.append(device.isOnline ? "online yes\n" : "online no\n")
    try replace(path(device.name, "/device"), by: text)
  }

  func write(_ app: Installation, of device: Device) throws(Devices.Refusal) {
    var text = Text()
    text.append(app.isInstalled ? "installed yes" : "installed no")
    text.append("\nregistered ", app.registered)
    text.append(app.isListed ? "\nlisted yes" : "\nlisted no")
    text.append("\ngone ", app.gone)
    text.append("\nbadge ", app.screen.badge, "\ntoken ")
    text.append(hex: app.token.bytes)
    if let former = app.formerToken {
      text.append("\nformer ")
      text.append(hex: former.bytes)
    }
    text.append("\n")
    try replace(path(app.topic, device.name, "/app"), by: text)
    guard let browser = app.browser else { return }
    var keys = Text(capacity: 512)
    browser.write(in: &keys)
    try replace(path(app.topic, device.name, "/browser"), by: keys, mode: 0o600)
  }

  /// Creates the files of an app and of its device.
  func make(
    _ app: Installation, on device: Device, _ request: borrowing Devices.Request
  ) throws(Devices.Refusal) {
    try make(path(device.name))
    try write(device)
    try make(path(app.topic, device.name))
    if request.encryptionKey.count > 0 {
      try replace(path(app.topic, device.name, "/encryption-key"), by: request.encryptionKey)
    }
    try write(app, of: device)
  }

  /// Writes the stored notifications of an app, or removes the file if there are none.
  func writeStored(_ app: Installation, of device: Device) {
    let path = path(app.topic, device.name, "/stored")
    guard !app.stored.isEmpty else {
      _ = path.withCString { path in unlink(path) }
      return
    }
    var text = Text(capacity: Self.storedBytesMax)
    for stored in app.stored {
      text.append(stored.payload.count)
      text.append(" ")
      stored.arrival.write(in: &text)
      text.append("\n", bytes: stored.payload)
    }
    _ = Home.replace(path, by: text)
  }

  private func make(_ path: borrowing Text) throws(Devices.Refusal) {
    let error = path.withCString { path in Home.makeOne(path, mode: 0o755) }
    if error != 0 { throw .file(error) }
  }

  private func replace(
    _ path: borrowing Text, by text: borrowing Text, mode: UInt32 = 0o644
  ) throws(Devices.Refusal) {
    let error = Home.replace(path, by: text, mode: mode)
    if error != 0 { throw .file(error) }
  }
}

/// A directory's name, as a class that an array can hold.
private final class DirectoryName {
  private let string: CString
  var span: Span<UInt8> { @_lifetime(immortal) get { CString.span(string.pointer) } }
  private init(_ bytes: Span<UInt8>) { string = CString(bytes) }

  /// Returns the names of the directories in a directory, sorted.
  static func all(in path: borrowing Text) -> [DirectoryName] {
    var names: [DirectoryName] = []
    Home.eachDirectory(in: path) { name in
      names.append(DirectoryName(name))
      var place = names.count - 1
      while place > 0, names[place].span.sorts(before: names[place - 1].span) {
        names.swapAt(place, place - 1)
        place -= 1
      }
    }
    return names
  }
}
