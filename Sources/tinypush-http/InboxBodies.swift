import CMicroHTTP
import TinyPush
import TinyPushAgent
import TinyPushRules
import TinyPushWebhooks

/// Makes notifications of the bodies of requests.
extension Inbox {
  /// Answers a complete request.
  mutating func complete(_ request: Request) {
    lastRequest = Clock.now()
    let isOfRule = readPath(of: request)
    if let coding = request.header("Content-Encoding"), !coding.equals("identity") {
      return refuse(
        request, 415, "content-encoding", "send the body as it is, without Content-Encoding")
    }
    var kind = BodyKind(request)
    if kind == .parts, !isOfRule { request.readForm() }
    switch request.bodyCount {
    case Int(CMICROHTTP_TOO_LARGE):
      return isRegistration(request) ? refuseRegistrationSize(request) : refuseSize(request)
    case Int(CMICROHTTP_MALFORMED):
      return refuse(request, 400, "form", "the body is no form of the type multipart/form-data")
    case Int(CMICROHTTP_FILE):
      return refuse(request, 415, "file", "the form has a file: send only texts")
    case ..<0:
      return refuse(
        request, 503, "busy", "too many large requests at a time: send it again", retryAfter: "5")
    default: break
    }
    if isRegistration(request) { return register(request) }
    if isOfRule { return takeByRules(request) }
    // `curl -d` calls each text a form.
    if kind == .form, SenderMessage.isMessage(request.body) { kind = .json }
    let target = request.target
    var options = MessageOptions()
    var list = Text(capacity: 256)
    do throws(MessageOptions.Problem) {
      let route = Route(target)
      // Gotify's query has the token of the sender, which is no device token.
      if route != .gotify { try options.read(target.extracting(Route.query(of: target))) }
      switch route {
      case .list(let name), .publish(let name), .webhook(let name):
        guard FormReader.decode(target.extracting(name), isPath: true, to: &list) else {
          throw .escape
        }
      default: break
      }
      if case .webhook = route {
        takeWebhook(request, list, &options)
      } else if kind == .json, !SenderMessage.isMessage(request.body) {
        guard list.count == 0, route != .gotify else {
          if reportsJSON(of: request) { return }
          return refuse(
            request, 400, "no-text",
            "there is no text in message, text, body or msg; a notification is posted to /")
        }
        takeNotifications(request, options)
      } else {
        if case .publish = route { try options.takePriority(.ntfy) }
        try takeText(request, kind, &list, &options, route)
      }
    } catch {
      var message = Text()
      error.describe(options, in: &message)
      refuse(request, 400, code: error.code.span, message.bytes)
    }
  }

  /// Refuses the request if its body is not JSON; returns whether that is so.
  private mutating func reportsJSON(of request: Request) -> Bool {
    guard let mistake = Finding.inJSON(request.body) else { return false }
    report(mistake, in: request.body, 400, request)
    return true
  }

  /// Refuses the request if there is no such recipients file, as far as this user can see.
  private mutating func hasRecipients(
    _ request: Request, _ list: borrowing Text, _ options: borrowing MessageOptions
  ) -> Bool {
    if list.count == 0, options.draft.hasTokens { return true }
    let name = list.count > 0 ? list.unsafeBytes : Notification.defaultList.span
    switch RecipientsFile.presence(of: name, in: recipients.span) {
    case .present: return true
    case .missing:
      refuse(
        request, 404, "list-missing",
        "there is no recipients file of this name; tinypush recipient list shows the names")
    case .empty:
      refuse(
        request, 404, "list-empty",
        "the recipients file of this name has no recipient: add one with tinypush recipient add")
    }
    return false
  }

  private mutating func takeNotifications(_ request: Request, _ options: borrowing MessageOptions) {
    guard options.draft.isEmpty else {
      return refuse(
        request, 400, "parameter-and-json",
        "a notification in JSON takes no parameters: write them into it")
    }
    let body = request.body
    guard let count = check(body, request, hasLines: true) else { return }
    write(body, count, request)
  }

  private mutating func takeText(
    _ request: Request, _ kind: BodyKind, _ list: inout Text, _ options: inout MessageOptions,
    _ route: Route
  ) throws(MessageOptions.Problem) {
    var body = request.body
    let isOfGotify = route == .gotify
    // Programs for Gotify and ntfy expect the status of these services.
    var status: UInt32 = isOfGotify || kind == .json && list.count == 0 ? 200 : 202
    if case .publish = route { status = 200 }
    if kind == .json {
      try SenderMessage.read(body, isOfGotify ? .gotify : nil, into: &options, list: &list)
      body = ("" as StaticString).span
    }
    try readHeaders(request, &options)
    if case .publish = route, body.count == 0 { options.setDefaultText() }
    guard !Self.isFile(body, request) else {
      return refuse(request, 415, "file", "the body is a file: send only texts")
    }
    guard !TextMessage.isNotification(body) else {
      return refuse(
        request, 415, "media-type",
        "this is JSON: send it with Content-Type: application/json")
    }
    lines.clear()
    if kind == .parts || kind == .form && MessageOptions.isForm(body) {
      try options.read(body, isForm: true)
      guard options.draft.has(.alert) else {
        return refuse(request, 400, "no-text", "the form has no message")
      }
      if isOfGotify { try options.takePriority(.gotify) }
      TextMessage.append(("" as StaticString).span, to: list.bytes, &options, in: &lines)
    } else {
      guard body.count == 0 || !options.draft.has(.alert) else {
        return refuse(
          request, 400, "two-texts", "send the text in the body or as message, not in both")
      }
      guard body.count > 0 || !options.draft.isEmpty else {
        return refuse(request, 400, "no-text", "the request is empty: send a text in its body")
      }
      TextMessage.append(body, to: list.bytes, &options, in: &lines)
    }
    guard hasRecipients(request, list, options) else { return }
    takeLines(request, status)
  }

  /// Returns whether a body is an attachment of ntfy, or no text.
  private static func isFile(_ body: Span<UInt8>, _ request: Request) -> Bool {
    if request.header("Filename") != nil || request.header("X-Filename") != nil { return true }
    for index in body.indices where body[index] == 0 { return true }
    return false
  }

  /// Reads the headers of ntfy.
  private func readHeaders(
    _ request: Request, _ options: inout MessageOptions
  ) throws(MessageOptions.Problem) {
    let names: [9 of StaticString] = [
      "Title", "Message", "Priority", "Tags", "Click", "Icon", "Delay", "At", "In",
    ]
    let others: [9 of StaticString] = [
      "X-Title", "X-Message", "X-Priority", "X-Tags", "X-Click", "X-Icon", "X-Delay", "X-At",
      "X-In",
    ]
    let hadPriority = options.draft.has(.priority)
    for index in names.indices {
      if let value = request.header(names[index]) {
        try SenderMessage.read(header: names[index], value, into: &options)
      }
      if let value = request.header(others[index]) {
        try SenderMessage.read(header: names[index], value, into: &options)
      }
    }
    if !hadPriority, options.draft.has(.priority) { try options.takePriority(.ntfy) }
  }

  private mutating func takeWebhook(
    _ request: Request, _ list: borrowing Text, _ options: inout MessageOptions
  ) {
    guard !options.hasText else {
      return refuse(
        request, 400, "webhook-parameter",
        "a webhook has its own text: leave out message, title, subtitle, badge, collapse-id, url, icon, image, group and copy"
      )
    }
    guard hasRecipients(request, list, options) else { return }
    if reportsJSON(of: request) { return }
    lines.clear()
    do throws(Webhook.NoAlerts) {
      try Webhook.append(
        request.body, to: list.bytes, &options, limit: rules.payloadLimit(for: .alert), in: &lines)
    } catch {
      begin(Webhook.NoAlerts.code.span, Webhook.NoAlerts.text.span)
      appendPlace(error.index..<error.index, in: request.body)
      return finish(request, 400)
    }
    takeLines(request)
  }

  /// Makes the notifications of a request by the rules of its path.
  private mutating func takeByRules(_ request: Request) {
    let kind = BodyKind(request)
    if kind == .form {
      var payload = Text(capacity: request.body.count)
      if RuleRequest.appendPayload(ofForm: request.body, to: &payload) {
        return takeByRules(payload.bytes, isJSON: nil, request)
      }
    }
    let isText = kind == .text && request.header("Content-Type") != nil
    takeByRules(request.body, isJSON: kind == .json ? true : isText ? false : nil, request)
  }

  /// - Parameter isJSON: as in ``RuleRequest/mistake(in:isJSON:)``.
  private mutating func takeByRules(
    _ body: Span<UInt8>, isJSON: Bool?, _ request: Request
  ) {
    if isJSON == true, body.count == 0 {
      return refuse(request, 400, "unexpected-end", "the body is empty: send JSON in it")
    }
    if let mistake = RuleRequest.mistake(in: body, isJSON: isJSON) {
      return report(mistake, in: body, 400, request)
    }
    lines.clear()
    var next: Int? = 0
    while let first = next {
      next = nil
      switch pathRules.append(
        address: path.unsafeBytes, payload: body, packetID: nil, from: first, to: &lines)
      {
      case .rule(let rule): if pathRules.goesOn(rule) { next = rule + 1 }
      case .tooLarge:
        return refuse(
          request, 413, "object-too-large",
          "the rule makes a notification of more than 64 KB: use a shorter part of the body")
      case .notification, .ignored, .retained, .unchanged, .heard: break
      }
    }
    guard lines.count == 0 else { return takeLines(request) }
    // Programs try again what is not answered with success, or give up.
    answer.clear()
    answer.beginObject()
    answer.member("notifications", number: 0)
    answer.member("message", word: "the conditions of no rule hold")
    answer.endLine()
    request.answer(200, Self.json, answer)
    var text = Text()
    text.append("ignored a request: the conditions of no rule hold: [")
    text.append(printable: pathRules.filter(pathRules.first(for: path.unsafeBytes) ?? 0))
    text.append("]")
    log.write(.info, text, about: .messages)
  }

  /// Checks the composed lines, and writes them into the spool.
  private mutating func takeLines(_ request: Request, _ status: UInt32 = 202) {
    guard !lines.isCut else { return refuseSize(request) }
    let text = lines.unsafeBytes
    guard let count = check(text, request, hasLines: false) else { return }
    write(text, count, request, status)
  }

  /// Checks notifications, and refuses the request at the first mistake.
  ///
  /// - Parameter hasLines: whether the client knows the text, so that a place in it helps.
  /// - Returns: the number of notifications; nil: the request was refused.
  private mutating func check(_ text: Span<UInt8>, _ request: Request, hasLines: Bool) -> Int? {
    var reader = NotificationReader()
    var findings = Findings()
    var count = 0
    while true {
      switch reader.next(in: text, isWhole: true, rules, &findings) {
      case .notification(let notification):
        if let finding = RecipientsFile.missing(notification, of: text, in: recipients.span) {
          report(finding, in: text, 404, request, hasLines: hasLines)
          return nil
        }
        count += 1
      case .refused(let finding, _):
        let status: UInt32 = if case .objectTooLarge = finding.reason { 413 } else { 400 }
        report(finding, in: text, status, request, hasLines: hasLines)
        return nil
      case .more, .end:
        guard count == 0 else { return count }
        report(Finding(.notAnObject, at: text.count), in: text, 400, request)
        return nil
      }
    }
  }
}

/// What a request's body is, after its media type.
enum BodyKind {
  case json
  case text
  /// A form, or a text of `curl -d`.
  case form
  /// A form of `curl -F`, with a part for each value.
  case parts
  case other

  init(_ request: Request) {
    guard let type = request.header("Content-Type") else {
      self = .text
      return
    }
    self.init(type)
  }

  private init(_ type: Span<UInt8>) {
    var name = Text(capacity: 64)
    for index in type.indices {
      guard type[index] != .semicolon else { break }
      name.append(byte: type[index].lowerCase)
    }
    let known: WordList =
      "application/json application/x-ndjson text/plain application/x-www-form-urlencoded multipart/form-data"
    switch known.index(of: name.bytes.trimmed()) {
    case 0, 1: self = .json
    case 2: self = .text
    case 3: self = .form
    case 4: self = .parts
    default: self = .other
    }
  }
}
