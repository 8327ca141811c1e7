import CLinux
import TinyPush

/// Runs the command of the setting `on-trouble`.
extension Agent {
  /// Runs the command if trouble began or ended; called before each wait.
  mutating func watchTrouble() {
    let time = Clock.time()
    if let status = troubleCommand.look(at: time.now), status != 0 {
      var text = Text()
      text.append("the on-trouble command exited with status ", status)
      output.log.write(.warning, text)
    }
    guard !config.onTrouble.isEmpty, !config.courier.isOnce else { return }
    troubles.update(facts(time))
    guard !troubleCommand.isRunning, let (kind, began) = troubles.take() else { return }
    var reason = Text(capacity: 1024)
    if began { explain(kind, time, in: &reason) } else { Self.explainEnd(of: kind, in: &reason) }
    runCommand(kind, began, reason)
    TroubleFile.write(troubles.reported, in: config.state)
  }

  private func facts(_ time: Time) -> Troubles.Facts {
    var facts = Troubles.Facts(time: time)
    facts.isWaiting =
      courier.filesUnderWay > 0 || !courier.areFilesKnown && filesFound > 0
    facts.missedSince = courier.mostMissed()?.since
    facts.settled = courier.counters.settled &+ courier.counters.refused &+ courier.counters.gone
    facts.isConnected = link.isAnyUp
    facts.isSettling = link.isSettling
    facts.isRefused = link.refusedConfiguration != nil || isAnyConfigBroken
    facts.certificateEnd = knownCertificateEnd
    return facts
  }

  private func explain(_ kind: Troubles.Kind, _ time: Time, in text: inout Text) {
    switch kind {
    case .offline:
      text.append("alerts ")
      let missed = missedLane(time)
      if let missed {
        text.append("for ", cString: channels.gateway(of: missed))
        text.append(" ")
      }
      text.append("wait, and none could be delivered for ")
      text.append(rounded: config.troubleAfter)
      text.append(": ")
      let problem = if let missed { self.problem(of: missed) } else { connectionProblem }
      if problem.count == 0 {
        text.append("the service does not accept them")
      } else {
        text.append(bytes: problem)
      }
    case .certificate:
      let left = knownCertificateEnd - (time.wallSeconds ?? 0)
      text.append("the push certificate ", left < 0 ? "ended " : "ends in ")
      text.append(roundedSeconds: left < 0 ? -left : left)
      text.append(left < 0 ? " ago: renew it" : ": renew it")
    case .credentials:
      text.append("the service refuses our credentials: ")
      if let refused = link.refusedConfiguration {
        refused.describe(in: &text)
        text.append("; ", refused.advice)
      } else {
        let start = text.count
        appendConfigProblem(to: &text)
        if text.count == start { text.append(bytes: providerToken.problem.unsafeBytes) }
        if text.count == start { text.append(vapidToken.problem) }
      }
    }
  }

  /// Appends why a connection failed because of our certificate or key, if one did.
  private func appendConfigProblem(to text: inout Text) {
    if let lane = firstLane({ $0.state.isConfigBroken }) { text.append(bytes: problem(of: lane)) }
  }

  /// The lane that has taken nothing for so long that this is trouble; nil: there is none, or the
  /// trouble is everywhere.
  private func missedLane(_ time: Time) -> Lane? {
    guard !troubles.isEverywhere(at: time.now), let (lane, since) = courier.mostMissed(),
      since + config.troubleAfter <= time.now,
      channels.has(lane)
    else { return nil }
    return lane
  }

  private static func explainEnd(of kind: Troubles.Kind, in text: inout Text) {
    switch kind {
    case .offline: text.append("alerts can be delivered again")
    case .certificate: text.append("a push certificate that is valid for longer is in use")
    case .credentials: text.append("the service accepts our credentials again")
    }
  }

  private mutating func runCommand(_ kind: Troubles.Kind, _ began: Bool, _ reason: borrowing Text) {
    var text = Text(capacity: 1200)
    text.append("running the on-trouble command: ", reason)
    output.log.write(.notice, text)
    text.clear()
    text.append(began ? "TINYPUSH_TROUBLE=began" : "TINYPUSH_TROUBLE=over")
    text.append(byte: 0)
    text.append("TINYPUSH_KIND=", kind.name)
    text.append(byte: 0)
    text.append("TINYPUSH_REASON=", printable: reason)
    let error = troubleCommand.start(
      config.onTrouble, text, epoll: events.epoll, at: Clock.now())
    guard error != 0 else { return }
    text.clear()
    text.append("the on-trouble command cannot be started: ", cString: clinux_error_text(error))
    output.log.write(.error, text)
  }
}

/// The troubles that were reported to `on-trouble`, in a file of the directory `state`.
///
/// So a later agent does not report a trouble twice, and can report its end.
enum TroubleFile {
  private static let name: StaticString = "/trouble"

  private static func path(in state: borrowing CString) -> CString {
    var path = Text(capacity: 4200)
    path.append(bytes: state.span)
    path.append(name)
    return path.cString()
  }

  static func read(in state: borrowing CString) -> UInt8 {
    let path = path(in: state)
    var error: Int32 = 0
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
    guard let file = Descriptor(AT_FDCWD, path.pointer, flags, error: &error) else { return 0 }
    var bits: UInt8 = 0
    return CLinux.read(file.number, &bits, 1) == 1 && bits >= .zeroDigit && bits <= .zeroDigit + 7
      ? bits - .zeroDigit : 0
  }

  static func write(_ bits: UInt8, in state: borrowing CString) {
    let text: InlineArray<2, UInt8> = [bits + .zeroDigit, .lineFeed]
    let path = path(in: state)
    _ = Replacement.write(text.span, to: path.pointer, mode: 0o640)
  }
}

extension UInt8 {
  fileprivate static let zeroDigit = UInt8(ascii: "0")
}
