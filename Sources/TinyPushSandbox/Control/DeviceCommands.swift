import CLinux
import TinyPush
import TinyPushAgent

/// The handling of the requests of `tinypush sandbox device`.
final class DeviceCommands {
  private let devices: Devices
  private let post: StoreAndForward
  private let journal: Journal
  /// The port of the gateway, which the endpoints of browsers name.
  private let port: Int32
  /// The topic of a page in a browser, unless the request names one.
  static let browserTopic: StaticString = "browser"

  init(_ devices: Devices, _ post: StoreAndForward, _ journal: Journal, port: Int32) {
    self.port = port
    self.devices = devices
    self.post = post
    self.journal = journal
  }

  /// Handles a request, and appends the answer: the status and the text.
  func answer(_ request: Span<UInt8>, in text: inout Text) {
    text.append(byte: UInt8(ExitStatus.ok.rawValue))
    let verb = ControlRequest.value(.verb, in: request)
    let name = ControlRequest.value(.device, in: request)
    do throws(Devices.Refusal) {
      if verb.equals("list") { return DeviceList.write(devices, request, in: &text) }
      if verb.equals("add") { return try add(name, request, in: &text) }
      let device = try devices.device(name)
      if verb.equals("offline") {
        try devices.setOnline(device, false)
        journal.changed(device, nil, .offline)
      } else if verb.equals("online") {
        try devices.setOnline(device, true)
        journal.changed(device, nil, .online)
        post.forward(to: device)
      } else {
        try change(device, verb, request, in: &text)
      }
    } catch {
      text.clear()
      refuse(error, verb, name, request, in: &text)
    }
  }

  private func add(
    _ name: Span<UInt8>, _ request: Span<UInt8>, in text: inout Text
  ) throws(Devices.Refusal) {
    let topic = ControlRequest.value(.topic, in: request)
    let isBrowser = ControlRequest.has(.browser, in: request)
    let usual = isBrowser ? Self.browserTopic : Credentials.topic
    var wanted = Devices.Request(topic: CString(topic.isEmpty ? usual.span : topic))
    wanted.isBrowser = isBrowser
    wanted.encryptionKey = Text(ControlRequest.value(.encryptionKey, in: request))
    if ControlRequest.has(.token, in: request) {
      wanted.token = DeviceToken(hex: ControlRequest.value(.token, in: request))
      guard wanted.token != nil else { throw .badToken }
    }
    let (device, app) = try devices.add(name, wanted, now: journal.clock.unixSeconds)
    journal.changed(device, app, .added)
    write(app, in: &text)
  }

  /// Handles a verb that is about one app of a device.
  private func change(
    _ device: Device, _ verb: Span<UInt8>, _ request: Span<UInt8>, in text: inout Text
  ) throws(Devices.Refusal) {
    let app = try only(device, ControlRequest.value(.topic, in: request))
    if verb.equals("uninstall") {
      try devices.uninstall(app, from: device)
      journal.changed(device, app, .uninstalled)
    } else if verb.equals("reregister") {
      try devices.register(app, on: device, now: journal.clock.unixSeconds)
      journal.changed(device, app, .registered)
      write(app, in: &text)
    } else {
      write(app, in: &text)
    }
  }

  /// Returns the app with this topic, or the only app.
  private func only(
    _ device: Device, _ topic: Span<UInt8>
  ) throws(Devices.Refusal) -> Installation {
    if !topic.isEmpty {
      guard let app = device.app(topic: topic) else { throw .noApp }
      return app
    }
    guard device.apps.count == 1 else { throw .severalApps }
    return device.apps[0]
  }

  /// Appends the token of an app, or the subscription of a browser.
  private func write(_ app: Installation, in text: inout Text) {
    if let browser = app.browser {
      return browser.writeSubscription(of: app.token, port: port, in: &text)
    }
    text.append(hex: app.token.bytes)
    text.append("\n")
  }

  // MARK: - Refusals

  private func refuse(
    _ refusal: Devices.Refusal, _ verb: Span<UInt8>, _ name: Span<UInt8>, _ request: Span<UInt8>,
    in text: inout Text
  ) {
    text.append(byte: UInt8(status(of: refusal).rawValue))
    switch refusal {
    case .noDevice:
      text.append("there is no device ", printable: name)
      if let nearest = nearest(to: name) {
        text.append("; did you mean ", bytes: nearest.name, "?")
      }
    case .noApp:
      text.append("there is no app ", printable: ControlRequest.value(.topic, in: request))
      text.append(" on ", bytes: name)
    case .severalApps:
      text.append("there are several apps on ", bytes: name, ": name one with --topic")
    case .already:
      text.append(bytes: name)
      if verb.equals("add") {
        text.append(" already has this app: name another app with --topic, or print the ")
        text.append(ControlRequest.has(.browser, in: request) ? "subscription" : "token")
        text.append(" with tinypush sandbox device token")
      } else if verb.equals("uninstall") {
        text.append(" no longer has this app")
      } else {
        text.append(" is already ", bytes: verb)
      }
    case .isOffline:
      text.append(bytes: name)
      text.append(" is offline, but an app can register only while its device is online")
    case .isUninstalled:
      text.append(bytes: name)
      text.append(" had this app before: install it again with `device reregister`")
    case .badName:
      text.append("a device's name has 1 to ", Device.nameBytesMax)
      text.append(" letters, digits, \".\", \"_\" and \"-\": unexpected name ", printable: name)
    case .badTopic:
      text.append("a topic has 1 to ", FrameCheck.topicBytesMax)
      text.append(" letters, digits, \".\", \"_\" and \"-\"")
    case .badToken:
      text.append("--token takes an even number of hex digits, at most 200, of a token that no")
      text.append(" other app of the sandbox has")
    case .tooMany:
      text.append("a sandbox has at most ", Devices.countMax)
      text.append(" devices, each with at most ", Devices.appsMax, " apps")
    case .file(let error):
      text.append("cannot write the device's files: ", cString: clinux_error_text(error))
    }
  }

  private func status(of refusal: Devices.Refusal) -> ExitStatus {
    switch refusal {
    case .noDevice, .noApp: .noInput
    case .severalApps, .badName, .badTopic, .badToken: .usage
    case .already, .isOffline, .isUninstalled: .dataRefused
    case .tooMany: .unavailable
    case .file: .cannotCreate
    }
  }

  private func nearest(to name: Span<UInt8>) -> Device? {
    var best: Device?
    var bestDistance = Nearest.distanceMax(name) + 1
    for device in devices.all {
      let distance = Nearest.distance(name, device.name)
      if distance < bestDistance { (best, bestDistance) = (device, distance) }
    }
    return best
  }
}
