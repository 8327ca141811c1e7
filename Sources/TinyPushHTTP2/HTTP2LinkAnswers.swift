import CHTTP2
import TinyPush

extension HTTP2Link {
  // MARK: - Outcomes

  /// Returns the next outcome of a notification, if any.
  public mutating func takeOutcome() -> (message: MessageNumber, outcome: LinkOutcome)? {
    guard let request = requests.takeDecided(), let outcome = request.outcome else { return nil }
    if case .accepted = outcome { proved = request.device }
    return (request.message, outcome)
  }

  /// Returns the token hash of the last accepted notification, once.
  public mutating func takeProved() -> UInt64? { proved.take() }

  // MARK: - Bytes

  /// Takes in bytes from the service.
  public mutating func received(_ bytes: Span<UInt8>) {
    guard session != nil else { return }
    liveness.quietSince = time.now
    let isSound = session!.receive(bytes)
    takeAnswers()
    guard isSound else { return isBroken() }
    guard state == .up else { return }
    recordActivity()
    collect()
    takeAnswers()
    if state == .up, session!.isGoingAway { handleGoaway() }
  }

  /// Starts the wait for the next acknowledgement again: bytes came, so the connection lives.
  private mutating func recordActivity() {
    if session?.pongs != liveness.pongs { liveness.pongDue = nil }
    guard let probe = liveness.probe else { return }
    let isAwaited = requests.currentCount > 0 || liveness.pongDue != nil
    liveness.probe =
      isAwaited
      ? Liveness.Probe(mark: probe.mark, due: time.now + Liveness.probePatience) : nil
  }

  /// Takes in bytes from the connection that is set aside.
  public mutating func receivedAside(_ bytes: Span<UInt8>) {
    guard aside != nil else { return }
    if !aside!.session.receive(bytes) { aside!.isUnsound = true }
    takeAnswers()
  }

  // MARK: - Answers

  /// Handles the finished requests.
  ///
  /// This runs after sending too, since nghttp2 can finish a request while it frames others.
  mutating func takeAnswers() {
    while let place = session?.nextFinished() {
      if answers[Int(place)].status > 0 { liveness.answered(at: time.now) }
      handle(place)
    }
    while let place = aside?.session.nextFinished() { handle(place) }
  }

  /// Handles an answer whose status has come, or the lack of an answer.
  mutating func handle(_ place: UInt16) {
    let request = requests[place]
    let answer = answers.room().baseAddress! + Int(place)
    guard answer.pointee.status > 0 else {
      return unanswered(place, request, error: answer.pointee.error)
    }
    let said = Answer(answer)
    if said.isUnknown(isOfBrowsers: service.isOfBrowsers) {
      reports.add(.unknownAnswer(status: said.status, said.unknown))
    }
    var wait: Duration?
    if answer.pointee.retry_after > 0 {
      wait = min(.seconds(UInt64(answer.pointee.retry_after)), Pace.longestWait)
    }
    let meaning =
      service.isOfBrowsers ? said.meaningOfBrowsers : said.meaning(namesTopic: request.namesTopic)
    switch meaning {
    case .accepted:
      recordProgress()
      pace.accepted()
      accepted += 1
      if request.connection == .current { hold = Hold() }
      waits.forget(request.device)
      waits.forget(request.fingerprint)
      if request.collapse != 0 {
        newest.accept(request.collapse, request.order, at: time.now)
      }
      requests.decide(place, .accepted(isProved: true))
    case .rejected(let rejection):
      recordProgress()
      if request.connection == .current { hold = Hold() }
      if service.endsAfterRefusals { pace.sendOneAtATime() }
      pace.answered()
      requests.decide(place, .rejected(rejection))
    case .tooManyRequests:
      recordProgress()
      if service.endsAfterRefusals { pace.sendOneAtATime() }
      pace.answered()
      // The wait that the answer asks for is that of one device.
      if pace.hasTooMany(request.device, at: time.now) { pace.pause(nil, at: time.now) }
      let rest = waits.failTogether(
        request.device, sentAt: request.sentAt ?? time.now, at: time.now, wait)
      giveBack(place, .tooManyRequests, notBefore: time.now + rest)
    case .trouble(let rejection): isTroubled(place, .serviceTrouble, .troubled(rejection), wait)
    case .configuration(let rejection): isRefused(place, rejection)
    case .expiredProviderToken:
      giveBack(place, .providerToken)
      if request.connection == .current {
        holdBack(Rejection(.expiredProviderToken, code: said.status))
      }
    case .shutdown:
      giveBack(place, .shutdown, notBefore: waitAfterEnd(place))
      if request.connection == .current, state == .up { leave(dialAt: dialAt()) }
    }
  }

  /// Returns a notification that the service did not take.
  private mutating func giveBack(
    _ place: UInt16, _ cause: RetryCause, notBefore: Instant? = nil
  ) {
    if requests[place].sentAt != nil {
      requests[place].wasSent = true
      traffic.recordRetry(cause)
    }
    goesAgain(place, notBefore: notBefore)
  }

  /// Handles a request that was closed without an answer.
  private mutating func unanswered(_ place: UInt16, _ request: Requests.Request, error: UInt32) {
    let wasRefused = error == UInt32(CHTTP2_REFUSED_STREAM)
    let isGoingAway = request.connection == .aside || session.map { $0.isGoingAway } ?? true
    guard isGoingAway else {
      let cause = wasRefused ? RetryCause.refusedStream : .connectionLost
      return isTroubled(place, cause, .closed(error: error), nil)
    }
    let notBefore = waitAfterEnd(place)
    if wasRefused {
      giveBack(place, .shutdown, notBefore: notBefore)
    } else {
      decideUncertain(place, .connectionLost, notBefore: notBefore)
    }
  }

  /// Returns when a notification goes again after which the service says goodbye; nil: at once.
  ///
  /// The first one on a connection, or a lone one, may be the cause, if that happens again.
  private mutating func waitAfterEnd(_ place: UInt16) -> Instant? {
    guard requests[place].connection == .current, !hasBlamed,
      !hasProgressed || requests.currentCount == 1
    else { return nil }
    hasBlamed = true
    guard let wait = waits.failByGoodbye(requests[place].fingerprint) else { return nil }
    // The next connection is for the others, and need not wait.
    hasProgressed = true
    return time.now + wait
  }

  // MARK: - Trouble

  /// Whether a request brings no news of the service: its connection is left, or it was sent
  /// before the service last failed to take a notification.
  private func isOld(_ request: Requests.Request) -> Bool {
    request.connection == .aside || state != .up || pace.isOld(sentAt: request.sentAt ?? time.now)
  }

  /// Returns a notification that the service failed to take.
  ///
  /// The notification waits by itself. If the service is the cause, nothing is sent for a time.
  ///
  /// - Parameter wait: the wait that the service asks for.
  private mutating func isTroubled(
    _ place: UInt16, _ cause: RetryCause, _ report: Report, _ wait: Duration?
  ) {
    let request = requests[place]
    var notBefore: Instant?
    if !isOld(request) {
      let entry = waits.fail(request.fingerprint)
      let isFirst = entry.failures == 1
      // A busy service refuses some of many requests.
      let isBusy = cause == .refusedStream && requests.currentCount > 1
      if !isBusy || !isFirst { notBefore = time.now + max(entry.wait, wait ?? entry.wait) }
      if !isBusy {
        if isFirst { reports.add(report) }
        if pace.suspect(request.fingerprint, isFirst: isFirst, at: time.now) {
          pace.pause(wait, at: time.now)
        }
        if pace.mustLeave { leave(dialAt: max(pace.pausedUntil ?? time.now, time.now)) }
      }
    }
    if cause == .connectionLost {
      decideUncertain(place, cause, notBefore: notBefore)
    } else {
      giveBack(place, cause, notBefore: notBefore)
    }
  }

  /// Handles a refusal that may concern the configuration, or only this notification.
  private mutating func isRefused(_ place: UInt16, _ rejection: Rejection) {
    let key = requests[place].fingerprint
    guard !isOld(requests[place]) else {
      // A notification that was not refused is tried first.
      return giveBack(place, .configuration, notBefore: time.now + Hold.wait(1))
    }
    // If the service accepted others before, and refuses only this one, the configuration is good.
    let isOnlyOne = accepted > 0 && pace.isOnlySuspect(key)
    let entry = waits.refuse(key, rejection.reason, accepted: accepted, isOnlyOne: isOnlyOne)
    guard !entry.isHopeless else { return refuse(place, rejection) }
    giveBack(place, .configuration, notBefore: time.now + Hold.wait(Int(entry.failures)))
    let isConfirmed = pace.suspect(
      key, isFirst: entry.failures == 1, isRefusal: true, at: time.now)
    // If there is no other notification to try, this one stands for all.
    let isUntested = supply.isAllSent && requests.openCount == 0
    if service.isOfBrowsers, accepted > 0 || !isUntested && !entry.isAmongRefused {
      // Each subscription knows one key. The service may take this one for others.
      if entry.failures == 1 { reports.add(.refusedOnce(rejection)) }
    } else if isConfirmed, !service.isOfBrowsers {
      holdBack(rejection)
    } else if !isOnlyOne, isUntested || entry.isAmongRefused {
      if !hold.isHeld { reports.add(.configurationRefused(rejection)) }
      hold.note(rejection)
    } else if entry.failures == 1 {
      reports.add(.refusedOnce(rejection))
    }
  }

  /// Returns the notification that was the only unanswered one when the service ended a connection.
  ///
  /// It is refused after three connections, if others were accepted between them: an outage also
  /// ends connections.
  ///
  /// - Parameter isShort: whether another connection had more answers. If not, the service may end
  ///   each connection after a number of requests.
  mutating func endsConnection(_ place: UInt16, isShort: Bool) {
    let key = requests[place].fingerprint
    let entry =
      isShort
      ? waits.refuse(key, .endsConnections, accepted: accepted) : waits.fail(key)
    _ = pace.suspect(key, isFirst: entry.failures == 1, at: time.now)
    // This notification waits by itself. Others need not wait for the next connection.
    if entry.failures > 1 { hasProgressed = true }
    if entry.isHopeless, settings.uncertain == .resend {
      traffic.uncertain += 1
      return refuse(place, Rejection(.endsConnections))
    }
    decideUncertain(place, .connectionLost, notBefore: time.now + entry.wait)
  }

  /// Refuses a notification that failed again and again while the service accepted others.
  private mutating func refuse(_ place: UInt16, _ rejection: Rejection) {
    waits.forget(requests[place].fingerprint)
    requests[place].wasSent = true
    requests.decide(place, .rejected(rejection))
  }

  /// Settles or returns a notification of which nobody knows whether the service took it.
  mutating func decideUncertain(
    _ place: UInt16, _ cause: RetryCause, notBefore: Instant? = nil
  ) {
    requests[place].wasSent = true
    traffic.uncertain += 1
    guard settings.uncertain == .resend else { return requests.decide(place, .dropped) }
    traffic.recordRetry(cause)
    goesAgain(place, notBefore: notBefore)
  }

  /// Returns a notification, or settles it as superseded if a newer one was accepted meanwhile.
  mutating func goesAgain(_ place: UInt16, notBefore: Instant? = nil) {
    let request = requests[place]
    let isStale = request.collapse != 0 && newest.isNewer(than: request.order, request.collapse)
    requests.decide(
      place, isStale ? .superseded : .returned(wasSent: request.wasSent, notBefore: notBefore))
  }

  private mutating func recordProgress() {
    hasProgressed = true
    backoff.reset()
  }

  /// Leaves the connection, since the service refuses the configuration, and sets the next attempt.
  private mutating func holdBack(_ rejection: Rejection) {
    guard state == .up else { return }
    let wait = hold.begin(rejection)
    reports.add(.configurationRefused(rejection))
    leave(dialAt: time.now + wait)
  }

  // MARK: - Time

  /// When the oldest request has waited long enough for its answer.
  var answerDue: Instant? {
    guard requests.oldest != Requests.none, let sentAt = requests[requests.oldest].sentAt else {
      return nil
    }
    return sentAt + settings.answerTimeout
  }

  var settingsDue: Instant? {
    guard let upSince, let session, !session.hasSettings else { return nil }
    return upSince + Liveness.settingsPatience
  }

  /// When a quiet connection gets a ping: sooner while answers are awaited.
  var pingDue: Instant? {
    guard state == .up, batch.isEmpty, liveness.pongDue == nil, idleDue == nil else { return nil }
    return liveness.quietSince
      + (requests.currentCount > 0 ? Liveness.answerlessPatience : settings.ping)
  }

  /// When a connection is closed that nobody needs: devices keep theirs.
  var idleDue: Instant? {
    guard service.isOfBrowsers, state == .up, batch.isEmpty, requests.openCount == 0 else {
      return nil
    }
    return liveness.quietSince + Liveness.idleMax
  }

  /// When another connection is tried, since the service allows no request on this one.
  var streamsDue: Instant? {
    guard let upSince, let session, session.hasSettings, session.streamsMax == 0,
      !supply.isAllSent, requests.currentCount == 0
    else { return nil }
    return max(upSince, liveness.answeredAt) + settings.answerTimeout
  }

  private func isDue(_ instant: Instant?) -> Bool { instant.map { $0 <= time.now } ?? false }

  mutating func checkDeadlines() -> Courier.Step? {
    if isDue(answerDue) {
      guard stream.heardAt >= answerDue! else { return .listen }
      missAnswers()
    }
    guard state == .up else { return nil }
    if isDue(settingsDue) {
      guard stream.heardAt >= settingsDue! else { return .listen }
      return lose()
    }
    if isDue(liveness.pongDue) {
      guard stream.heardAt >= liveness.pongDue! else { return .listen }
      return lose()
    }
    if isDue(liveness.probe?.due) {
      guard stream.sampledAt >= liveness.probe!.due else { return .sample }
      // A forgotten connection is no failure of the service: the requests go on a new one at once.
      if hasLasted { hasProgressed = true }
      return lose(isForgotten: true)
    }
    if isDue(streamsDue) { leave(dialAt: time.now + backoff.fail()) }
    if isDue(idleDue) {
      state = .closing(dialAt: time.now)
      return nil
    }
    if isDue(pingDue) {
      liveness.pongs = session?.pongs ?? 0
      liveness.pongDue = time.now + Liveness.pongPatience
      session?.ping()
      collect()
    }
    return nil
  }

  /// Returns the requests whose answers are overdue, and cancels their streams.
  ///
  /// The connection is closed after three overdue answers, if no other answer came since the requests.
  private mutating func missAnswers() {
    var missed = 0
    while isDue(answerDue) {
      let place = requests.oldest
      let isAnswered = isAnswered(place)
      if requests[place].connection == .current {
        if !isAnswered, requests[place].sentAt! > liveness.answeredAt { liveness.timeouts += 1 }
        session?.cancel(place)
      } else {
        aside?.session.cancel(place)
      }
      // Only the end of the answer is missing.
      guard !isAnswered else {
        handle(place)
        continue
      }
      let entry = waits.fail(requests[place].fingerprint)
      decideUncertain(place, .noAnswer, notBefore: time.now + entry.wait)
      missed += 1
    }
    if missed > 0 { reports.add(.timedOut(missed)) }
    if state == .up {
      collect()
      if liveness.timeouts >= Liveness.timeoutsMax { lose() }
    }
  }

  /// Whether the status of an unfinished answer tells enough.
  func isAnswered(_ place: UInt16) -> Bool {
    let status = answers[Int(place)].status
    return status == 413 || (200..<300).contains(status)
  }

  /// Closes the connection, since it is dead or the service does not respond.
  @discardableResult
  private mutating func lose(isForgotten: Bool = false) -> Courier.Step? {
    let uncertain = end()
    if uncertain > 0 {
      reports.add(isForgotten ? .forgotten(uncertain: uncertain) : .cut(uncertain: uncertain))
    }
    state = .closing(dialAt: dialAt())
    return nil
  }
}
