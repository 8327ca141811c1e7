import CLinux
import TinyPush
import TinyPushAgent
import TinyPushWebhooks

/// Registers recipients by invitations, if the page for browsers is served.
extension Inbox {
  /// Answers a request for the page; returns whether it was one.
  mutating func beginPage(_ request: Request) -> Bool {
    guard request.method.equals("GET") || request.method.equals("HEAD") else { return false }
    if servesPage, request.target.equals("/web") {
      answer.clear()
      request.answer(301, nil, answer)
      request.addHeader("Location", ("web/" as StaticString).cString)
      return true
    }
    guard case .page(let name) = Route(request.target, hasPage: true)
    else { return false }
    guard servesPage else {
      if case .publish = Route(request.target) { return false }
      refuse(
        request, 404, "no-page", "the page is not served: set page-files (tinypush-webpush(7))")
      return true
    }
    if !page.answer(request, file: request.target.extracting(name)) {
      refuse(
        request, 404, "not-found", "there is no such file in the directory that page-files names")
    }
    return true
  }

  /// Whether a request is a registration, for which only the code of an invitation counts.
  func isRegistration(_ request: Request) -> Bool {
    servesPage && Route(request.target, hasPage: true) == .registration
  }

  /// Answers a registration that its headers decide.
  mutating func beginRegistration(_ request: Request) {
    guard request.method.equals("POST") else { return refuseMethod(request, "POST") }
    guard BodyKind(request) == .json else {
      return refuse(request, 415, "media-type", "a registration is application/json")
    }
    // Anybody may send it, and must leave room for others.
    request.limitBody(to: Registration.bodyBytesMax)
  }

  mutating func refuseRegistrationSize(_ request: Request) {
    refuse(request, 413, "request-too-large", "a registration has at most 8192 bytes")
  }

  /// Answers a complete registration.
  mutating func register(_ request: Request) {
    let body = request.body
    let registration: Registration
    do throws(Registration.Problem) { registration = try Registration(body) } catch {
      return refuse(request, 400, error.code, error.text)
    }
    guard let now = Clock.time().wallSeconds else {
      return refuse(
        request, 503, "clock", "the clock of this machine is not set: try again later",
        retryAfter: "60")
    }
    var error: Int32 = 0
    guard let invitations = Invitations(recipients.span, error: &error) else {
      var message = Text()
      _ = RecipientsEditor.explain(error, recipients.span, nil, in: &message)
      return refuseRegistration(request, message)
    }
    guard let found = invitations.find(code: body.extracting(registration.code), at: now) else {
      return refuse(
        request, 403, "invitation",
        "the code is wrong, was used, or is older than an hour: tinypush recipient invite NAME makes one"
      )
    }
    register(request, registration, found, invitations)
  }

  private mutating func register(
    _ request: Request, _ registration: Registration, _ found: borrowing Invitations.Found,
    _ invitations: borrowing Invitations
  ) {
    let body = request.body
    let recipient: NamedRecipient
    do throws(NamedRecipient.Problem) {
      recipient = try NamedRecipient(body.extracting(registration.recipient), isNew: true)
    } catch {
      guard case .subscription(let problem) = error else {
        return refuse(request, 400, "token-not-hex", RecipientsFile.Problem.tokenNotHex.text)
      }
      return refuse(request, 400, Subscription.Problem.code, problem.text)
    }
    guard recipient.canBeSent(by: rules.pushProtocol) else {
      return refuse(request, 400, "token-size", RecipientsFile.Problem.tokenSizeOfBinary.text)
    }
    var language = RecipientChange.Detail.kept
    if !registration.language.isEmpty {
      language = .set(Text(body.extracting(registration.language)))
    }
    var change = recipient.addition(language: language, comment: .kept)
    var message = Text()
    do throws(ExitStatus) {
      try invitations.use(found, for: &change, in: recipients.span, message: &message)
    } catch {
      return refuseRegistration(request, message)
    }
    answer.clear()
    answer.beginObject()
    answer.member("name", string: found.list.bytes)
    answer.member("state", word: change.outcome.words)
    answer.endLine()
    request.answer(200, Self.json, answer)
    message.append("registered a recipient for ", bytes: found.list.bytes, ": ")
    message.append(change.outcome.words)
    log.write(.info, message)
  }

  /// Says in the log alone why a recipients file cannot be changed.
  private mutating func refuseRegistration(_ request: Request, _ message: borrowing Text) {
    log.write(.error, message, about: .spool)
    refuse(
      request, 503, "recipients",
      "the recipients file cannot be changed; the log of tinypush-http says why",
      retryAfter: "60")
  }
}
