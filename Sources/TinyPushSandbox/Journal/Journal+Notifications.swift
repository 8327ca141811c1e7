import CLinux
import TinyPush
import TinyPushBinary

extension Journal {
  func accepted(
    _ number: Int64, _ frame: ReceivedFrame, _ summary: PayloadSummary,
    _ destination: Destination, _ reader: borrowing FrameReader
  ) {
    tally.accepted += 1
    tally.acceptedBytes += Int64(frame.byteCount)
    guard begins() else { return }
    let token = reader.bytes(frame.token ?? 0..<0)
    let payload = reader.bytes(frame.payload ?? 0..<0)
    if isJSON {
      beginEvent("accepted")
      out.member("connection", number: number)
      out.member("command", number: frame.format.rawValue)
      out.member("identifier", number: frame.identifier)
      out.member("token", hex: token)
      out.member("priority", number: frame.priority ?? 10)
      out.member("expiration", number: frame.expiration)
      out.member("payload", compacting: payload)
      out.endLine()
    } else if case .anybody = destination {
      let arrival = Arrival(frame, connection: number, nowMs: clock.unixMs)
      show(
        app.receive(summary, payload), of: app, on: nil, arrival, payload, token: token,
        replacing: arrival.collapseID)
    }
  }

  /// Shows what a device does with a notification.
  ///
  /// - Parameters:
  ///   - device: the device; nil: a nameless device.
  ///   - collapseID: what names the notification on the device; empty: nothing.
  func show(
    _ presentation: borrowing Presentation, of app: App, on device: Device?, _ arrival: Arrival,
    _ payload: Span<UInt8>, token: Span<UInt8>, replacing collapseID: Span<UInt8>
  ) {
    let replacing = lockScreens.show(payload, on: token, collapseID: collapseID)
    if case .nothing = replacing {} else { tally.replaced += 1 }
    guard begins() else { return }
    if isJSON {
      guard let device else { return }
      beginEvent("delivered", arrival, topic: app.topic, device)
      let lateMs = max(0, clock.unixMs - arrival.acceptedMs)
      out.member("late", milliseconds: lateMs)
      if arrival.push != nil { out.member("replaces", word: replacing.name) }
      presentation.write(badge: app.badge, to: &out)
      out.endLine()
      return
    }
    if case .same = replacing {
      beginLine()
      if let device {
        write(device)
        out.append(" ")
      }
      out.append("replaces a notification by the same notification: ")
    } else {
      write(presentation, of: app, on: device, arrival, replacing)
      out.append("  ")
    }
    out.append(palette.dim)
    Particulars(arrival: arrival, bytes: payload.count).write(
      token: token, now: clock.unixSeconds, to: &out)
    out.append(palette.end)
    out.append("\n")
  }

  private func write(
    _ presentation: borrowing Presentation, of app: App, on device: Device?,
    _ arrival: Arrival, _ replacing: LockScreens.Replacing
  ) {
    var time = Text(capacity: 16)
    clock.write(in: &time)
    let card = Card(columns: Int(clinux_terminal_columns(1)), palette: palette)
    let lateMs = max(0, clock.unixMs - arrival.acceptedMs)
    card.write(
      presentation, of: app.topic, badge: app.badge, on: Device.name(of: device), at: time.bytes,
      lateSeconds: lateMs / 1000, push: arrival.push?.type, replacing: replacing, to: &out)
  }

  /// Logs a notification that was refused over the binary protocol.
  ///
  /// - Parameter tokenRange: the range of the token, as far as the frame has one.
  func refused(
    _ number: Int64, identifier: UInt32?, token tokenRange: Range<Int>,
    _ reader: borrowing FrameReader, _ status: Status, _ cause: RefusalCause
  ) {
    tally.refused += 1
    guard begins() else { return }
    let token = reader.bytes(tokenRange)
    if isJSON {
      beginEvent("refused")
      out.member("connection", number: number)
      out.member("identifier", number: identifier)
      out.member("status", number: status.rawValue)
      var reason = Text(capacity: 64)
      status.rejection.appendText(to: &reason)
      out.member("reason", string: reason)
      var detail = Text()
      cause.describe(in: &detail)
      out.member("text", string: detail)
      let shown = token.count <= 64 ? token.count : 64
      out.member("token", hex: token.extracting(0..<shown))
      out.endLine()
    } else {
      beginLine(connection: number)
      out.append(palette.bad)
      out.append("refused, status ", status.rawValue)
      out.append(" (")
      status.rejection.appendText(to: &out)
      out.append(")", palette.end, ": ")
      cause.describe(in: &out)
      if let identifier {
        out.append("; identifier ", identifier)
      }
      if token.count > 0 {
        out.append(", token ")
        out.append(shortToken: token)
      }
      out.append("\n")
    }
  }

  /// Logs that a fault is played.
  ///
  /// - Parameters:
  ///   - count: the number of the notification at which it is played; nil: it is a timed fault.
  ///   - identifier: the identifier of that notification, or else of the last accepted one.
  func played(
    _ number: Int64, _ fault: Fault, at count: Int64? = nil, identifier: UInt32? = nil,
    token: Span<UInt8> = Span()
  ) {
    tally.faults += 1
    guard begins() else { return }
    var words = Text()
    fault.describe(in: &words)
    if isJSON {
      beginEvent("fault")
      out.member("connection", number: number)
      out.member("fault", string: words)
      out.member("notification", number: count)
      out.member("identifier", number: identifier)
      out.member("token", hex: token)
      out.endLine()
    } else {
      beginLine(connection: number)
      out.append(palette.bad)
      out.append("fault ", bytes: words.bytes)
      out.append(palette.end)
      out.append(" is played")
      if let count {
        out.append(" at notification ", count, ", token ")
        out.append(shortToken: token)
      }
      out.append("\n")
    }
  }

  /// Logs the bytes that followed a refused notification.
  func discarded(_ number: Int64, notifications: Int64, bytes: Int64) {
    tally.discarded += notifications
    guard begins() else { return }
    if isJSON {
      beginEvent("discarded")
      out.member("connection", number: number)
      out.member("notifications", number: notifications)
      out.member("bytes", number: bytes)
      out.endLine()
    } else {
      beginLine(connection: number)
      out.append("discarded after that: ", notifications)
      out.append(notifications == 1 ? " notification, " : " notifications, ")
      out.append(bytes)
      out.append(" bytes\n")
    }
  }
}
