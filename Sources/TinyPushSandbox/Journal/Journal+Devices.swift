import CLinux
import TinyPush

/// Events about accepted notifications and about devices.
extension Journal {
  /// Why an accepted notification never reaches its device.
  enum Drop {
    /// A newer notification to the same app is stored instead.
    case replaced
    case expired
    /// The device is offline, and the expiration is 0.
    case notToBeStored

    var event: StaticString {
      switch self {
      case .replaced: "replaced"
      case .expired, .notToBeStored: "expired"
      }
    }

    var words: StaticString {
      switch self {
      case .replaced: "a newer notification replaces the stored one"
      case .expired: "the stored notification has expired"
      case .notToBeStored: "is offline, and expiration 0 forbids storing the notification: dropped"
      }
    }
  }

  /// Logs a notification that a device shows.
  ///
  /// - Parameter collapseID: what names the notification on the device; empty: nothing.
  func delivered(
    _ arrival: Arrival, _ presentation: borrowing Presentation, _ payload: Span<UInt8>,
    _ app: Installation, _ device: Device, replacing collapseID: Span<UInt8>
  ) {
    tally.delivered += 1
    show(
      presentation, of: app.screen, on: device, arrival, payload, token: app.token.bytes,
      replacing: collapseID)
  }

  func stored(_ notification: StoredNotification, _ app: Installation, _ device: Device) {
    tally.stored += 1
    guard begins() else { return }
    if isJSON {
      beginEvent("stored", notification.arrival, topic: app.topic, device)
      out.member("until", number: notification.expiresAt)
      out.endLine()
    } else {
      beginLine()
      write(app, device)
      out.append(" is offline: kept for ")
      out.append(seconds: max(0, notification.expiresAt - clock.unixSeconds))
      if app.browser == nil {
        out.append(", or until a newer notification comes")
      } else if !notification.arrival.collapseID.isEmpty {
        out.append(", or until a newer message of its topic comes")
      }
      out.append("\n")
    }
  }

  func dropped(_ why: Drop, _ arrival: Arrival, _ app: Installation, _ device: Device) {
    tally.dropped += 1
    guard begins() else { return }
    if isJSON {
      beginEvent(why.event, arrival, topic: app.topic, device)
      out.endLine()
    } else {
      beginLine()
      write(app, device)
      if case .notToBeStored = why { out.append(" ") } else { out.append(": ") }
      out.append(why.words)
      out.append("\n")
    }
  }

  /// Logs a notification to an app that was deleted, or to a device that was removed.
  ///
  /// - Parameters:
  ///   - isListed: whether the token has just been added to the feedback list.
  ///   - error: why it could not be added (errno), or 0.
  func undeliverable(
    _ arrival: Arrival, _ device: Device, topic: Span<UInt8>, _ token: DeviceToken,
    isListed: Bool, error: Int32
  ) {
    tally.undeliverable += 1
    guard begins() else { return }
    if isJSON {
      beginEvent("undeliverable")
      out.member("device", string: device.name)
      out.member("topic", string: topic)
      write(arrival)
      out.member("token", hex: token.bytes)
      out.member("listed", bool: isListed && error == 0)
      out.endLine()
    } else {
      beginLine()
      out.append("the app is gone from ", bytes: device.name, ", token ")
      out.append(shortToken: token.bytes)
      if error != 0 {
        out.append("; cannot write the feedback list: ", cString: clinux_error_text(error))
      } else {
        out.append(isListed ? ": added to the feedback list" : ": already on the feedback list")
      }
      out.append("\n")
    }
  }

  /// A change of a device, or of an app on it.
  enum Change {
    case added, offline, online, uninstalled, registered

    var event: StaticString {
      switch self {
      case .added: "added"
      case .offline: "offline"
      case .online: "online"
      case .uninstalled: "uninstalled"
      case .registered: "registered"
      }
    }

    func words(isBrowser: Bool) -> StaticString {
      switch self {
      case .added:
        isBrowser ? " has subscribed to messages" : " has installed the app, which registers"
      case .offline: " is offline"
      case .online: " is online"
      case .uninstalled: isBrowser ? " has ended the subscription" : " has deleted the app"
      case .registered:
        isBrowser ? " has subscribed again" : " has the app, which registers again"
      }
    }
  }

  func changed(_ device: Device, _ app: Installation?, _ change: Change) {
    guard begins() else { return }
    if isJSON {
      beginEvent("device")
      out.member("device", string: device.name)
      if let app { out.member("topic", string: app.topic) }
      out.member("state", word: change.event)
      if let app { out.member("token", hex: app.token.bytes) }
      out.endLine()
    } else {
      beginLine()
      write(device)
      out.append(change.words(isBrowser: app?.browser != nil))
      if let app, !app.topic.equals(Credentials.topic) {
        out.append(" (", bytes: app.topic, ")")
      }
      out.append("\n")
    }
  }

  // MARK: - Parts

  /// Writes `phone`, or `com.example.other on phone` for another app than the agent's.
  private func write(_ app: Installation, _ device: Device) {
    if !app.topic.equals(Credentials.topic) {
      out.append(bytes: app.topic)
      out.append(" on ")
    }
    write(device)
  }

  func beginEvent(
    _ event: StaticString, _ arrival: Arrival, topic: Span<UInt8>, _ device: Device
  ) {
    beginEvent(event)
    out.member("device", string: device.name)
    out.member("topic", string: topic)
    write(arrival)
  }

  func write(_ arrival: Arrival) {
    out.member("connection", number: arrival.connection)
    guard let push = arrival.push else {
      return out.member("identifier", number: arrival.identifier)
    }
    out.member("stream", number: arrival.identifier)
    out.member("id", string: push.id)
    switch push.kind {
    case .app(let type): out.member("pushType", word: type.name)
    case .browser(let urgency): out.member("urgency", word: urgency.name)
    }
    if push.collapseID.isEmpty {
      out.member(null: "collapseId")
    } else {
      out.member("collapseId", string: push.collapseID)
    }
  }
}
