import CLinux
import TinyPush
import TinyPushAgent

/// The devices of this sandbox, with their apps and tokens.
///
/// A change is written to the sandbox's directory before the command that asked for it is answered.
final class Devices {
  /// The most devices, more than anybody adds on a command line.
  static let countMax = 256
  /// The most apps of a device.
  static let appsMax = 64
  /// The name of the device that the first start creates.
  static let first: StaticString = "phone"

  private(set) var all: [Device] = []
  private let files: DeviceFiles
  private var hasUnsaved = false

  /// Loads the devices of the directory, or creates the first one with the app of the agent.
  init(in home: Home, now: Int64) throws(SandboxFailure) {
    files = try DeviceFiles(in: home)
    all = files.load()
    guard all.isEmpty else { return }
    let request = Request(topic: CString(Credentials.topic))
    let token: DeviceToken
    do throws(Refusal) {
      token = try add(Self.first.span, request, now: now).1.token
    } catch {
      throw files.fail(error)
    }
    home.makeRecipients(token)
  }

  // MARK: - Tokens

  /// Returns where a token leads, for a client that may push to a topic.
  func address(_ token: Span<UInt8>, topic: Span<UInt8>) -> Address {
    for device in all {
      for app in device.apps where app.token.bytes.equals(token) {
        return app.topic.equals(topic) ? .app(app, device) : .invalid(.otherTopic)
      }
    }
    return .invalid(.notOurs)
  }

  /// Returns where the name of a browser's subscription leads; nil: there is no such subscription.
  ///
  /// The browser may have subscribed again: then the installation has another token.
  func subscription(_ token: Span<UInt8>) -> (Installation, Device)? {
    for device in all {
      for app in device.apps where app.browser != nil {
        if app.token.bytes.equals(token) || app.formerToken?.bytes.equals(token) == true {
          return (app, device)
        }
      }
    }
    return nil
  }

  /// Whether any app has this topic.
  func haveApp(topic: Span<UInt8>) -> Bool {
    for device in all where device.app(topic: topic) != nil { return true }
    return false
  }

  /// Returns when the service found an app gone from its device: UNIX seconds; nil: it did not.
  ///
  /// The service can find this out only while the device is online.
  func findGone(_ app: Installation, from device: Device, now: Int64) -> Int64? {
    guard !app.isInstalled else { return nil }
    if app.gone < app.registered {
      guard device.isOnline else { return nil }
      app.gone = now
      keep(app, of: device)
    }
    return app.gone
  }

  /// Where a token leads.
  enum Address {
    case app(Installation, Device)
    case invalid(TokenProblem)
  }

  // MARK: - Changes

  /// An app to add.
  struct Request: ~Copyable {
    var topic: CString
    /// The key that is set in the app; empty: there is none.
    var encryptionKey = Text(capacity: 0)
    /// The app's token; nil: the sandbox makes one.
    var token: DeviceToken?
    /// Whether the app is a page in a browser.
    var isBrowser = false
  }

  /// Why a change is refused.
  enum Refusal: Error {
    case noDevice
    case noApp
    /// The device or app already is in this state.
    case already
    case isOffline
    /// The app was deleted, and keeps its token.
    case isUninstalled
    /// The device has several apps, and the request names none.
    case severalApps
    case badName, badTopic
    /// The given token is no token, or another app has it.
    case badToken
    case tooMany
    case file(Int32)
  }

  func device(_ name: Span<UInt8>) throws(Refusal) -> Device {
    for device in all where device.name.equals(name) { return device }
    throw .noDevice
  }

  /// Installs an app on a device, which is created if missing of this name.
  func add(
    _ name: Span<UInt8>, _ request: borrowing Request, now: Int64
  ) throws(Refusal) -> (Device, Installation) {
    guard Device.isName(name) else { throw .badName }
    guard Installation.isTopic(request.topic.span) else { throw .badTopic }
    if let token = request.token {
      for device in all {
        for app in device.apps where app.token == token { throw .badToken }
      }
    }
    let device: Device
    if let known = try? self.device(name) {
      if let app = known.app(topic: request.topic.span) {
        throw app.isInstalled ? .already : .isUninstalled
      }
      guard known.isOnline else { throw .isOffline }
      guard known.apps.count < Self.appsMax else { throw .tooMany }
      device = known
    } else {
      guard all.count < Self.countMax else { throw .tooMany }
      device = Device(name: name)
    }
    let app = Installation(
      topic: request.topic.span, token: request.token ?? Self.newToken(), registered: now,
      screen: files.screen(of: request.topic.span, on: device))
    if request.isBrowser { try subscribe(app) }
    try files.make(app, on: device, request)
    if device.apps.isEmpty { all.append(device) }
    device.apps.append(app)
    return (device, app)
  }

  func setOnline(_ device: Device, _ isOnline: Bool) throws(Refusal) {
    guard device.isOnline != isOnline else { throw .already }
    device.isOnline = isOnline
    try files.write(device)
  }

  func uninstall(_ app: Installation, from device: Device) throws(Refusal) {
    guard app.isInstalled else { throw .already }
    app.isInstalled = false
    if app.browser != nil { store([], for: app) }
    try files.write(app, of: device)
  }

  /// Gives a page in a browser a new subscription.
  private func subscribe(_ app: Installation) throws(Refusal) {
    guard let browser = Browser() else { throw .file(EIO) }
    if app.browser != nil { app.formerToken = app.token }
    app.subscribe(browser, token: Self.newToken())
  }

  /// Registers an app, which is installed again if it was deleted; a browser subscribes again.
  ///
  /// Inferred: the token stays the same. The documents name only other devices and new operating
  /// systems as reasons for another token, and mention tokens that are registered again.
  func register(_ app: Installation, on device: Device, now: Int64) throws(Refusal) {
    guard device.isOnline else { throw .isOffline }
    // A deleted app loses its badge.
    if !app.isInstalled { app.screen = files.screen(of: app.topic, on: device) }
    app.isInstalled = true
    app.isListed = false
    // Later than the time in the feedback list, which has seconds.
    app.registered = max(now, app.gone + 1)
    if app.browser != nil { try subscribe(app) }
    try files.write(app, of: device)
  }

  /// Remembers the sender of a subscription's first message, the only one from then on.
  func bind(_ app: Installation, of device: Device, to sender: SenderKey) {
    guard let browser = app.browser, browser.sender == nil else { return }
    browser.sender = sender
    keep(app, of: device)
  }

  // MARK: - Stored notifications

  /// Stores these notifications for an app instead of the ones before.
  ///
  /// ``save()`` writes them to disk: of thousands that come at once, only the last ones are written.
  func store(_ notifications: [StoredNotification], for app: Installation) {
    app.stored = notifications
    app.isStoredOnDisk = false
    hasUnsaved = true
  }

  /// Writes the changed stored notifications to disk.
  ///
  /// Errors are ignored: a notification that cannot be written is lost only if the sandbox ends.
  func save() {
    guard hasUnsaved else { return }
    hasUnsaved = false
    for device in all {
      for app in device.apps where !app.isStoredOnDisk {
        files.writeStored(app, of: device)
        app.isStoredOnDisk = true
      }
    }
  }

  /// Writes the state of an app to disk; if that fails, changes are lost when the sandbox ends.
  func keep(_ app: Installation, of device: Device) { _ = try? files.write(app, of: device) }

  /// When the first stored notification expires: UNIX seconds.
  var nextExpiration: Int64? {
    var next: Int64?
    for device in all {
      for app in device.apps {
        for stored in app.stored { next = min(next ?? .max, stored.expiresAt) }
      }
    }
    return next
  }

  /// Returns a token that nobody can guess.
  static func newToken() -> DeviceToken {
    var random = InlineArray<32, UInt8>(repeating: 0)
    guard getrandom(&random, random.count, 0) == random.count else { fatalError("no random") }
    return DeviceToken(bytes: random.span)!
  }
}

/// Why a token of the right size is invalid.
enum TokenProblem {
  case otherTopic, notOurs

  var text: StaticString {
    switch self {
    case .otherTopic: "the device token belongs to another app than the client's certificate"
    case .notOurs:
      "this sandbox has not issued the device token: it is made up, or of another service or environment"
    }
  }
}
