import TinyPush

/// The delivery of accepted notifications to devices.
///
/// A notification is delivered. If the device is offline, the newest notification for each app is
/// stored. If the app is gone, the feedback service reports the token. Source: Local and Remote
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

  /// Takes a notification to an app on a device, whose payload a reader holds.
  func take(
    _ arrival: Arrival, payload: Range<Int>, _ reader: borrowing FrameReader,
    for app: Installation, on device: Device
  ) {
    take(arrival, payload: reader.bytes(payload), for: app, on: device)
  }

  /// Takes a notification to an app on a device.
  func take(
    _ arrival: Arrival, payload: Span<UInt8>, for app: Installation, on device: Device
  ) {
    guard !device.isOnline else { return deliver(arrival, payload, to: app, on: device) }
    if arrival.expiration == 0 {
      // Expiration 0 allows only one attempt, which has failed.
      return journal.dropped(.notToBeStored, arrival, app, device)
    }
    if let former = app.stored { journal.dropped(.replaced, former.arrival, app, device) }
    let notification = StoredNotification(arrival, payload: payload)
    devices.store(notification, for: app)
    journal.stored(notification, app, device)
    expire(now: journal.clock.unixSeconds)
  }

  /// Takes a notification to an app of a device that was removed.
  func takeUndeliverable(
    _ arrival: Arrival, token: Range<Int>, _ reader: borrowing FrameReader, topic: Span<UInt8>
  ) {
    guard let token = DeviceToken(bytes: reader.bytes(token)) else { return }
    let now = journal.clock.unixSeconds
    let error = FeedbackList.append(token, time: now, topic: topic, in: home)
    journal.undeliverable(arrival, nil, topic: topic, token, isListed: true, error: error)
  }

  /// Delivers the stored notifications of a device that is online again.
  func forward(to device: Device) {
    for app in device.apps {
      guard let stored = app.stored else { continue }
      devices.store(nil, for: app)
      deliver(stored.arrival, stored.payload, to: app, on: device)
    }
  }

  /// Drops the stored notifications that have expired.
  func expire(now: Int64) {
    for device in devices.all {
      for app in device.apps {
        guard let stored = app.stored, stored.expiresAt <= now else { continue }
        devices.store(nil, for: app)
        journal.dropped(.expired, stored.arrival, app, device)
      }
    }
  }

  /// When the next stored notification expires: UNIX seconds.
  var nextExpiration: Int64? { devices.nextExpiration }

  /// Notes that a client has read the feedback list of a topic, which is empty now.
  func feedbackWasRead(topic: Span<UInt8>) {
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

  /// Puts the token of a deleted app on the feedback list, unless the list has it.
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
