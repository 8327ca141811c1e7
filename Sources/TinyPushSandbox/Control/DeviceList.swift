import TinyPush

/// The answer to the verb `list`.
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
    text.append(device.isOnline ? ", online\n" : ", offline\n")
  }

  private static func write(_ app: Installation, in text: inout Text) {
    text.append("  ", bytes: app.topic)
    if !app.isInstalled { text.append(", uninstalled") }
    if app.screen.badge > 0 {
      text.append(", badge ", app.screen.badge)
    }
    if app.stored.count == 1 { text.append(", a notification is stored") }
    if app.stored.count > 1 { text.append(", ", app.stored.count, " notifications are stored") }
    text.append("\n    ")
    text.append(hex: app.token.bytes)
    text.append("\n")
  }

  /// Appends a line of JSON for an app.
  private static func writeJSON(_ app: Installation, of device: Device, in text: inout Text) {
    text.beginObject()
    text.member("device", string: device.name)
    text.member("topic", string: app.topic)
    text.member("token", hex: app.token.bytes)
    text.member("online", bool: device.isOnline)
    text.member("installed", bool: app.isInstalled)
    text.member("registered", number: app.registered)
    text.member("badge", number: app.screen.badge)
    text.member("stored", bool: !app.stored.isEmpty)
    text.member("browser", bool: app.browser != nil)
    text.endLine()
  }
}
