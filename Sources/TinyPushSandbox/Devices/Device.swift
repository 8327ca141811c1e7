import TinyPush
import TinyPushAgent

/// A device: its apps, including deleted apps, and whether the service can reach it.
final class Device {
  /// The name: letters, digits, `.`, `_` and `-`, since a directory has this name.
  var name: Span<UInt8> { @_lifetime(immortal) get { CString.span(nameString.pointer) } }
  private let nameString: CString
  static let nameBytesMax = 32
  var isOnline = true
  var apps: [Installation] = []

  init(name: Span<UInt8>) { nameString = CString(name) }

  /// Returns a device's name; empty for nil.
  @_lifetime(immortal)
  static func name(of device: Device?) -> Span<UInt8> {
    guard let device else { return Span() }
    return device.name
  }

  func app(topic: Span<UInt8>) -> Installation? {
    for app in apps where app.topic.equals(topic) { return app }
    return nil
  }

  static func isName(_ name: Span<UInt8>) -> Bool {
    isFileName(name, max: nameBytesMax)
  }

  /// Whether the name is safe for a file, and needs no quotes in a shell.
  fileprivate static func isFileName(_ name: Span<UInt8>, max: Int) -> Bool {
    guard name.count > 0 && name.count <= max else { return false }
    for index in name.indices {
      switch name[index] {
      case UInt8.digits, UInt8.capitals, UInt8.smallLetters, .underscore: continue
      case .hyphen where index > 0, .dot where index > 0: continue
      default: return false
      }
    }
    return true
  }
}

/// An app on a device, installed or deleted; or a page in a browser that has subscribed to messages.
final class Installation {
  /// The app's bundle identifier.
  var topic: Span<UInt8> { @_lifetime(immortal) get { CString.span(topicString.pointer) } }
  private let topicString: CString
  /// The token, or what the endpoint of a browser's subscription ends with.
  private(set) var token: DeviceToken
  /// The token of the browser's subscription before this one.
  var formerToken: DeviceToken?
  /// The keys of a browser's subscription; nil: this is an app.
  private(set) var browser: Browser?
  var isInstalled = true
  /// When the app last registered: UNIX seconds.
  var registered: Int64
  /// Whether the feedback list has the token since then, and nobody has read the list.
  var isListed = false
  /// When the service last found the app gone: UNIX seconds; 0: never.
  var gone: Int64 = 0
  /// The part of the app that the user sees.
  var screen: App
  /// The notifications that came while the device was offline: of an app, only the newest one.
  var stored: [StoredNotification] = []
  var isStoredOnDisk = true

  init(topic: Span<UInt8>, token: DeviceToken, registered: Int64, screen: App) {
    topicString = CString(topic)
    self.token = token
    self.registered = registered
    self.screen = screen
  }

  /// Makes a page in a browser of this, or gives its subscription new keys.
  func subscribe(_ browser: Browser, token: DeviceToken) {
    self.browser = browser
    self.token = token
  }

  /// Whether an app can have this topic.
  ///
  /// It has letters, digits, `.`, `_` and `-`, since a directory has this name.
  static func isTopic(_ topic: Span<UInt8>) -> Bool {
    Device.isFileName(topic, max: FrameCheck.topicBytesMax)
  }
}
