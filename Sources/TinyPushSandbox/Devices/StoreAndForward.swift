import TinyPush

/// The delivery of accepted notifications to devices.
///
/// A notification is delivered. If the device is offline, the newest notification for each app is
/// stored. If the app is gone, the feedback service reports the token. For a browser, all messages
/// are stored but those that a newer one of the same topic replaces (RFC 8030, section 5.4). Source: Local and Remote
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
    // Expiration 0 allows only one attempt, which has failed.
    let isStored = arrival.expiration != 0
    if !isStored {
      journal.dropped(.notToBeStored, arrival, app, device)
      // The service of a browser removes the message that a new one replaces.
      guard app.browser != nil else { return }
    }
    var kept: [StoredNotification] = []
    for former in app.stored {
      if replaces(arrival, former, of: app) {
        journal.dropped(.replaced, former.arrival, app, device)
      } else {
        kept.append(former)
      }
    }
    guard isStored else { return devices.store(kept, for: app) }
    if kept.count == StoredNotification.countMax {
      journal.dropped(.replaced, kept.removeFirst().arrival, app, device)
    }
    let notification = StoredNotification(arrival, payload: payload)
    kept.append(notification)
    devices.store(kept, for: app)
    journal.stored(notification, app, device)
    expire(now: journal.clock.unixSeconds)
  }

  /// Takes a message for a browser, which decrypts its body.
  func take(
    _ arrival: Arrival, body: Span<UInt8>, _ acceptance: MessageCheck.Acceptance
  ) {
    let (app, device) = (acceptance.app, acceptance.device)
    devices.bind(app, of: device, to: acceptance.sender)
    do throws(BodyProblem) {
      take(arrival, try acceptance.browser.open(body), of: body.count, for: app, on: device)
    } catch {
      journal.accepted(arrival, app, device, body: body.count, nil)
      var words = Text()
      words.append("the body cannot be decrypted: ", error.words)
      journal.mistaken(words, arrival, app, device)
    }
  }

  /// Takes the text of a message for a browser.
  ///
  /// - Parameter bodyBytes: the size of the encrypted body.
  private func take(
    _ arrival: Arrival, _ text: borrowing Text, of bodyBytes: Int, for app: Installation,
    on device: Device
  ) {
    journal.accepted(arrival, app, device, body: bodyBytes, text.bytes)
    take(arrival, payload: text.bytes, for: app, on: device)
  }

  /// Whether a new notification takes the place of a stored one.
  private func replaces(
    _ arrival: Arrival, _ former: StoredNotification, of app: Installation
  ) -> Bool {
    guard app.browser != nil else { return true }
    return !arrival.collapseID.isEmpty && arrival.collapseID.equals(former.arrival.collapseID)
  }

  /// Delivers the stored notifications of a device that is online again.
  func forward(to device: Device) {
    for app in device.apps {
      guard !app.stored.isEmpty else { continue }
      let all = app.stored
      devices.store([], for: app)
      for stored in all { deliver(stored.arrival, stored.payload, to: app, on: device) }
    }
  }

  /// Drops the stored notifications that have expired.
  func expire(now: Int64) {
    for device in devices.all {
      for app in device.apps {
        var kept: [StoredNotification] = []
        for stored in app.stored {
          if stored.expiresAt > now {
            kept.append(stored)
          } else {
            journal.dropped(.expired, stored.arrival, app, device)
          }
        }
        if kept.count < app.stored.count { devices.store(kept, for: app) }
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
    if app.browser != nil { return show(arrival, payload, to: app, on: device) }
    let needsAps = arrival.push?.type?.needsAps ?? true
    present(
      arrival, payload, payload, needsAps: needsAps, to: app, on: device,
      replacing: arrival.collapseID)
  }

  /// Has a device show a notification.
  ///
  /// - Parameters:
  ///   - payload: the payload that the device shows.
  ///   - sent: what was sent.
  ///   - collapseID: what names the notification on the device; empty: nothing.
  private func present(
    _ arrival: Arrival, _ payload: Span<UInt8>, _ sent: Span<UInt8>, needsAps: Bool = true,
    to app: Installation, on device: Device, replacing collapseID: Span<UInt8>
  ) {
    guard let summary = try? PayloadSummary(payload, needsAps: needsAps) else { return }
    let badge = app.screen.badge
    let presentation = app.screen.receive(summary, payload)
    if app.screen.badge != badge { devices.keep(app, of: device) }
    journal.delivered(arrival, presentation, sent, app, device, replacing: collapseID)
  }

  /// Has a browser show the text of a message, which a notification on it with the same tag replaces.
  private func show(
    _ arrival: Arrival, _ text: Span<UInt8>, to app: Installation, on device: Device
  ) {
    do throws(DeclarativeMessage.Problem) {
      show(try DeclarativeMessage(text), of: text, arrival, to: app, on: device)
    } catch {
      var words = Text()
      words.append("nothing is shown: ")
      error.describe(in: &words)
      words.append("; a browser ends a subscription after some such messages")
      journal.mistaken(words, arrival, app, device)
    }
  }

  private func show(
    _ message: borrowing DeclarativeMessage, of text: Span<UInt8>, _ arrival: Arrival,
    to app: Installation, on device: Device
  ) {
    let tag = text.extracting(message.tag ?? 0..<0)
    present(arrival, message.payload.bytes, text, to: app, on: device, replacing: tag)
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
