import TinyPush

/// What the service does with a notification that it has accepted: it delivers it, or keeps the newest one for each app of
/// a device that is offline, or finds the app gone, which the feedback service then tells. Source: Local and Remote
/// Notification Programming Guide, 2015-10, Quality of Service and The Feedback Service.
final class StoreAndForward {
  private let devices: Devices
  private let home: Home
  private let journal: Journal

  init(_ devices: Devices, in home: Home, journal: Journal) {
    self.devices = devices
    self.home = home
    self.journal = journal
  }

  /// A notification to an app on a device, whose payload a reader holds.
  func take(
    _ arrival: Arrival, payload: Range<Int>, _ reader: borrowing FrameReader,
    for app: Installation, on device: Device
  ) {
    take(arrival, payload: reader.bytes(payload), for: app, on: device)
  }

  /// A notification to an app on a device.
  func take(
    _ arrival: Arrival, payload: Span<UInt8>, for app: Installation, on device: Device
  ) {
    guard !device.isOnline else { return deliver(arrival, payload, to: app, on: device) }
    if arrival.expiration == 0 {
      // One attempt, which has failed.
      return journal.dropped(.notToBeStored, arrival, app, device)
    }
    if let former = app.stored { journal.dropped(.replaced, former.arrival, app, device) }
    let notification = StoredNotification(arrival, payload: payload)
    devices.store(notification, for: app)
    journal.stored(notification, app, device)
    expire(now: journal.clock.unixSeconds)
  }

  /// A notification to an app of a device that is not there any more.
  func takeLost(
    _ arrival: Arrival, token: Range<Int>, _ reader: borrowing FrameReader, topic: Span<UInt8>
  ) {
    guard let token = DeviceToken(bytes: reader.bytes(token)) else { return }
    let now = journal.clock.unixSeconds
    let error = FeedbackList.append(token, time: now, topic: topic, in: home)
    journal.undeliverable(arrival, nil, topic: topic, token, isListed: true, error: error)
  }

  /// Delivers what was stored for a device that can be reached again.
  func forward(to device: Device) {
    for app in device.apps {
      guard let stored = app.stored else { continue }
      devices.store(nil, for: app)
      deliver(stored.arrival, stored.payload, to: app, on: device)
    }
  }

  /// Drops what has expired.
  func expire(now: Int64) {
    for device in devices.all {
      for app in device.apps {
        guard let stored = app.stored, stored.expiresAt <= now else { continue }
        devices.store(nil, for: app)
        journal.dropped(.expired, stored.arrival, app, device)
      }
    }
  }

  /// When ``expire(now:)`` has something to do: UNIX seconds.
  var nextExpiration: Int64? { devices.nextExpiration }

  /// The feedback list of a topic is empty.
  func feedbackIsRead(topic: Span<UInt8>) {
    for device in devices.all {
      guard let app = device.app(topic: topic), app.isListed else { continue }
      app.isListed = false
      devices.keep(app, of: device)
    }
  }

  private func deliver(
    _ arrival: Arrival, _ payload: Span<UInt8>, to app: Installation, on device: Device
  ) {
    guard app.isInstalled else { return list(arrival, app, device) }
    let needsAps = arrival.push?.type.needsAps ?? true
    guard let summary = try? PayloadSummary(payload, needsAps: needsAps) else { return }
    let badge = app.screen.badge
    let presentation = app.screen.receive(summary, payload)
    if app.screen.badge != badge { devices.keep(app, of: device) }
    journal.delivered(arrival, presentation, payload, app, device)
  }

  /// Puts the token of an app that is gone on the feedback list, where it stands once.
  private func list(_ arrival: Arrival, _ app: Installation, _ device: Device) {
    let topic = app.topic
    var error: Int32 = 0
    let isListed = app.isListed && !FeedbackList.isEmpty(topic: topic, in: home)
    if !isListed {
      app.gone = journal.clock.unixSeconds
      error = FeedbackList.append(app.token, time: app.gone, topic: topic, in: home)
      app.isListed = error == 0
      devices.keep(app, of: device)
    }
    journal.undeliverable(
      arrival, device, topic: topic, app.token, isListed: !isListed, error: error)
  }
}
