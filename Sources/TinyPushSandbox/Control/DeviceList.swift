import TinyPush

/// The answer to `device list`.
enum DeviceList {
  static func write(_ devices: Devices, _ request: Span<UInt8>, in text: inout Text) {
    let isJSON = ControlRequest.has(.json, in: request)
    for device in devices.all {
      if !isJSON { write(device, in: &text) }
      for app in device.apps {
        if isJSON { writeJSON(app, of: device, in: &text) } else { write(app, in: &text) }
      }
    }
  }

  private static func write(_ device: Device, in text: inout Text) {
    text.append(bytes: device.name)
    text.append(device.isOnline ? ", online" : ", offline")
    if !device.language.isEmpty {
      text.append(", ")
      text.append(printable: device.language)
    }
    text.append("\n")
  }

  private static func write(_ app: Installation, in text: inout Text) {
    text.append("  ")
    text.append(bytes: app.topic)
    if app.environment != .own {
      text.append(", ")
      text.append(app.environment.text)
    }
    if !app.isInstalled { text.append(", uninstalled") }
    if app.screen.badge > 0 {
      text.append(", badge ")
      text.append(app.screen.badge)
    }
    if app.stored != nil { text.append(", a notification waits") }
    text.append("\n    ")
    text.append(hex: app.token.bytes.span)
    text.append("\n")
  }

  /// A line for each app.
  private static func writeJSON(_ app: Installation, of device: Device, in text: inout Text) {
    text.append("{\"device\":")
    text.append(json: device.name)
    member("topic", app.topic, in: &text)
    member("environment", app.environment.text.span, in: &text)
    member("language", device.language, in: &text)
    member("token", in: &text)
    text.append("\"")
    text.append(hex: app.token.bytes.span)
    text.append("\"")
    member("online", device.isOnline, in: &text)
    member("installed", app.isInstalled, in: &text)
    member("registered", in: &text)
    text.append(app.registered)
    member("badge", in: &text)
    text.append(app.screen.badge)
    member("stored", app.stored != nil, in: &text)
    text.append("}\n")
  }

  private static func member(_ name: StaticString, in text: inout Text) {
    text.append(",\"")
    text.append(name)
    text.append("\":")
  }

  private static func member(_ name: StaticString, _ value: Span<UInt8>, in text: inout Text) {
    member(name, in: &text)
    text.append(json: value)
  }

  private static func member(_ name: StaticString, _ value: Bool, in text: inout Text) {
    member(name, in: &text)
    text.append(value ? "true" : "false")
  }
}
