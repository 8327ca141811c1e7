import CLinux
import CMicroHTTP
import CommandArguments
import TinyPush
import TinyPushAgent
import TinyPushRules
import TinyPushWebhooks

/// Makes notification files of requests.
///
/// Each file is synced before its request is answered, so that the client sends again what a crash
/// prevents. No byte of a request goes into the log.
struct Inbox: ~Copyable {
  /// The most bytes of a request's body.
  static var bodyBytesMax: Int { RuleSource.payloadBytesMax }

  private let spool: CString
  let recipients: CString
  let rules: Rules
  /// What becomes of requests to the paths of rules.
  private var pathRules: MessageRules
  /// The path of a request, for the rules.
  private var path = Text(capacity: RuleRequest.pathBytesMax)
  private let tokens: BearerTokens
  /// The machine's host name; empty: unknown.
  private var machine = Text(capacity: 256)
  var log = Log()
  /// The page on which browsers register, and whether the service has it.
  var page: WebPage
  let servesPage: Bool
  /// When the last request came.
  var lastRequest = Clock.now()
  /// The notifications that a text or a webhook makes.
  private var lines = Text(capacity: 2 * Inbox.bodyBytesMax)
  /// The body of an answer.
  var answer = Text(capacity: 8192)
  /// The code of the last refusal.
  private var code = Text(capacity: 64)
  private var counts = Counts()
  /// The file of the requests that are held; nil: there is none.
  private var box: DropBox?
  /// Whether the last file could not be written.
  private var isSpoolBroken = false
  /// Why the file cannot be written.
  private var problem: DropBox.Problem?
  private var held: InlineArray<16, Held?> = .init(repeating: nil)
  private var heldCount = 0

  /// A complete request that waits for its notifications to be on disk.
  private struct Held {
    var request: Request
    var count: Int
    /// The status of the answer if all is well.
    var status: UInt32
  }

  private struct Counts {
    var requests: UInt64 = 0
    var refused: UInt64 = 0
    var notifications: UInt64 = 0
    var files: UInt64 = 0
  }

  init(_ settings: consuming ServiceSettings, _ config: borrowing Config) {
    spool = CString(config.spool.span)
    recipients = CString(config.recipients.span)
    rules = config.courier.rules
    servesPage = !settings.pageFiles.isEmpty
    let hasPage = access(settings.pageFiles.pointer, R_OK) == 0
    page = WebPage(settings.pageFiles)
    tokens = settings.tokens
    pathRules = settings.rules
    machine.appendHostName()
    guard servesPage else { return }
    if !hasPage {
      log.write(
        .error,
        "page-files: there is no such directory, so the page cannot be shown; the package has it in /usr/share/tinypush/web"
      )
    }
    guard access(recipients.pointer, W_OK) != 0 else { return }
    var text = Text()
    text.append("recipients ", printable: recipients.span, ": ")
    text.append(cString: clinux_error_text(clinux_errno()))
    text.append(": nobody can register; man tinypush-webpush says who must be able to write there")
    log.write(.error, text)
  }

  deinit {}

  // MARK: - The headers

  /// Answers a request that its headers decide.
  mutating func begin(_ request: Request) {
    lastRequest = Clock.now()
    counts.requests += 1
    let route = Route(request.target)
    let isReading = request.method.equals("GET") || request.method.equals("HEAD")
    if isReading, route == .root { return describe(request) }
    if isReading, route == .health {
      answer.clear()
      return request.answer(204, nil, answer)
    }
    if beginPage(request) { return }
    guard request.hasClearLength else {
      refuse(
        request, 400, "length", "send either one Content-Length, or Transfer-Encoding: chunked")
      return request.addHeader("Connection", ("close" as StaticString).cString)
    }
    if isRegistration(request) { return beginRegistration(request) }
    guard !isOfWebPage(request) else {
      return refuse(request, 403, "web-page", "web pages cannot send notifications")
    }
    guard isForMachine(request) else {
      return refuse(
        request, 403, "host",
        "the header Host names another machine: use this machine's address, or set token-file")
    }
    let isOfRule = readPath(of: request)
    guard isAuthorized(request, mayBeInQuery: isOfRule || route == .gotify) else {
      refuse(
        request, 401, "unauthorized",
        isOfRule
          ? "send Authorization: Bearer TOKEN, or ?token=TOKEN behind the path"
          : "send Authorization: Bearer TOKEN")
      return request.addHeader("WWW-Authenticate", ("Bearer" as StaticString).cString)
    }
    // ntfy takes a text with PUT as well, and Apprise sends one so.
    let isPosting =
      request.method.equals("POST")
      || (route != .root || isOfRule) && request.method.equals("PUT")
    switch route {
    case _ where isOfRule: if !isPosting { return refuseMethod(request, "POST, PUT") }
    case .unknown:
      return refuse(
        request, 404, "not-found",
        "no such path: use /, /NAME of a recipients file, /message, /grafana/NAME, /alertmanager/NAME or the path of a rule"
      )
    case .health: return refuseMethod(request, "GET, HEAD")
    case .root: if !isPosting { return refuseMethod(request, "GET, HEAD, POST") }
    case .publish:
      if !isPosting, !request.method.equals("GET") {
        return refuseMethod(request, "GET, POST, PUT")
      }
      // An old browser says nothing of the page for whose picture it sends a GET.
      guard isPosting || !tokens.isEmpty || request.isOfUNIXSocket else {
        return refuse(
          request, 403, "web-page",
          "without token-file a web page could send this with GET: use POST, or set token-file")
      }
    case .list: if !isPosting { return refuseMethod(request, "POST, PUT") }
    case .gotify, .webhook, .page, .registration:
      if !request.method.equals("POST") { return refuseMethod(request, "POST") }
    }
    // The body's bytes are counted as well: it may come in chunks.
    if let header = request.header("Content-Length"), let length = Config.number(header),
      length > UInt64(Self.bodyBytesMax)
    {
      return refuseSize(request)
    }
    switch (BodyKind(request), route) {
    case (.parts, _) where isOfRule:
      refuse(request, 415, "media-type", "the rule of this path takes JSON or a text, and no form")
    case _ where isOfRule: break
    case (.other, _):
      refuse(request, 415, "media-type", "send application/json, text/plain or a form")
    case (.text, .webhook), (.form, .webhook), (.parts, .webhook):
      refuse(request, 415, "media-type", "a webhook is application/json")
    default: break
    }
  }

  /// Whether a browser sends the request for a web page.
  ///
  /// A browser says so for each POST, also if the page's name leads to this machine by a trick with
  /// DNS. Another program does not, and is trusted.
  private func isOfWebPage(_ request: Request) -> Bool {
    guard request.header("Origin") == nil else { return true }
    if let relation = request.header("Sec-Fetch-Site"), !relation.equals("none") { return true }
    guard let referer = request.header("Referer") else { return false }
    return RequestOrigin.isForeign(referer: referer, host: request.header("Host"))
  }

  /// Whether the name to which the request goes is one of this machine, or does not matter.
  ///
  /// No web page uses a UNIX socket, and none knows a token.
  private func isForMachine(_ request: Request) -> Bool {
    guard tokens.isEmpty, !request.isOfUNIXSocket, let host = request.header("Host") else {
      return true
    }
    return RequestOrigin.isOfMachine(host: host, machine: machine.bytes)
  }

  /// - Parameter mayBeInQuery: whether the client may be unable to send the header.
  private func isAuthorized(_ request: Request, mayBeInQuery: Bool) -> Bool {
    guard !tokens.isEmpty else { return true }
    if let header = request.header("Authorization"), tokens.matches(header) { return true }
    guard mayBeInQuery else { return false }
    if let key = request.header("X-Gotify-Key"), tokens.matches(token: key) { return true }
    let target = request.target
    let value = target.extracting(Route.value(of: "token", in: target))
    if tokens.matches(token: value) { return true }
    // No token has a space, so that a plus sign is one.
    var token = Text(capacity: BearerTokens.lengths.upperBound)
    guard FormReader.decode(value, isPath: true, to: &token), !token.isCut else { return false }
    return tokens.matches(token: token.bytes)
  }

  /// Sets ``path``; returns whether a rule is for it.
  private mutating func readPath(of request: Request) -> Bool {
    path.clear()
    return Route.appendPath(of: request.target, to: &path)
      && pathRules.first(for: path.unsafeBytes) != nil
  }

  private mutating func describe(_ request: Request) {
    answer.clear()
    answer.append(
      "tinypush-http: POST a text, or a notification in JSON; tinypush-http(1) explains it\n")
    request.answer(200, "text/plain", answer)
  }

  // MARK: - The body

  /// Answers a complete request.
  mutating func complete(_ request: Request) {
    lastRequest = Clock.now()
    let isOfRule = readPath(of: request)
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
      error.describe(in: &message)
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

  /// Reads the headers of ntfy.
  private func readHeaders(
    _ request: Request, _ options: inout MessageOptions
  ) throws(MessageOptions.Problem) {
    let names: [6 of StaticString] = ["Title", "Message", "Priority", "Tags", "Click", "Icon"]
    let others: [6 of StaticString] = [
      "X-Title", "X-Message", "X-Priority", "X-Tags", "X-Click", "X-Icon",
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
        "a webhook has its own text: leave out text, title, subtitle, badge, collapse-id and data")
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

  // MARK: - The file

  /// Holds a request whose notifications wait for the sync of the file.
  private mutating func write(
    _ text: Span<UInt8>, _ count: Int, _ request: Request, _ status: UInt32 = 202
  ) {
    request.hold()
    held[heldCount] = Held(request: request, count: count, status: status)
    heldCount += 1
    guard problem == nil else { return }
    do throws(DropBox.Problem) {
      if box == nil { box = try DropBox(spool.pointer) }
      // The notifications of the request before need not end with a line.
      if heldCount > 1 { try box!.write(("\n" as StaticString).span) }
      try box!.write(text)
    } catch {
      problem = error
    }
  }

  /// Puts the file of all held requests into the spool, and answers them once it is on disk.
  ///
  /// - Returns: whether there were any.
  mutating func writeHeld() -> Bool {
    guard heldCount > 0 else { return false }
    var name = CString("")
    if problem == nil {
      do throws(DropBox.Problem) {
        name = try box!.drop(isSynced: true)
        counts.files += 1
      } catch {
        problem = error
      }
    }
    box = nil
    let problem = self.problem
    self.problem = nil
    if let problem {
      log.write(.error, problem.text(spool.pointer), about: .spool)
    } else if isSpoolBroken {
      log.write(.notice, "the spool can be written to again", about: .spool)
    }
    isSpoolBroken = problem != nil
    for index in 0..<heldCount {
      guard let held = held[index] else { continue }
      if let problem {
        refuse(held.request, problem)
      } else {
        counts.notifications += UInt64(held.count)
        answer.clear()
        answer.beginObject()
        answer.member("file", string: name.span)
        answer.member("notifications", number: held.count)
        answer.endLine()
        held.request.answer(held.status, Self.json, answer)
      }
      held.request.release()
    }
    heldCount = 0
    return true
  }

  private mutating func refuse(_ request: Request, _ problem: DropBox.Problem) {
    switch problem {
    case .cannotWrite(ENOSPC), .cannotWrite(EDQUOT):
      refuse(
        request, 503, "disk-full", "the disk of the spool is full: send it again later",
        retryAfter: "60")
    case .cannotSync:
      refuse(
        request, 500, "not-synced", "the file is in the spool, but may not survive a power cut")
    default:
      refuse(
        request, 503, "spool", "the spool cannot be written; the log of tinypush-http says why",
        retryAfter: "60")
    }
  }

  // MARK: - Refusals

  static var json: StaticString { "application/json" }

  mutating func refuseMethod(_ request: Request, _ allowed: StaticString) {
    refuse(request, 405, "method", "this path takes another method")
    request.addHeader("Allow", allowed.cString)
  }

  private mutating func refuseSize(_ request: Request) {
    refuse(
      request, 413, "request-too-large",
      "a request has at most 1 MB: send the notifications in several requests")
  }

  mutating func refuse(
    _ request: Request, _ status: UInt32, _ code: StaticString, _ message: StaticString,
    retryAfter seconds: StaticString? = nil
  ) {
    refuse(request, status, code: code.span, message.span)
    if let seconds { request.addHeader("Retry-After", seconds.cString) }
  }

  private mutating func refuse(
    _ request: Request, _ status: UInt32, code: Span<UInt8>, _ message: Span<UInt8>
  ) {
    begin(code, message)
    finish(request, status)
  }

  private mutating func report(
    _ finding: Finding, in text: Span<UInt8>, _ status: UInt32, _ request: Request,
    hasLines: Bool = true
  ) {
    begin(finding)
    if hasLines {
      appendPlace(finding.offset..<Excerpt.end(of: finding.offset, in: text), in: text)
    }
    finish(request, status)
  }

  private mutating func begin(_ finding: Finding) {
    var code = Text(capacity: 64)
    var message = Text(capacity: 4096)
    finding.appendCode(to: &code)
    finding.describe(in: &message)
    begin(code.bytes, message.bytes)
  }

  private mutating func begin(_ code: Span<UInt8>, _ message: Span<UInt8>) {
    self.code.clear()
    self.code.append(bytes: code)
    answer.clear()
    answer.beginObject()
    answer.member("code", string: code)
    answer.member("message", string: message)
  }

  /// Appends a place in the request's body, as `tinypush check --json` does.
  private mutating func appendPlace(_ place: Range<Int>, in text: Span<UInt8>) {
    let start = TextPlace(place.lowerBound, in: text)
    answer.member("line", number: start.line)
    answer.member("column", number: start.column)
    answer.member("end_column", number: start.column + TextPlace.characters(place, in: text))
    answer.member("offset", number: place.lowerBound)
  }

  private mutating func finish(_ request: Request, _ status: UInt32) {
    answer.endLine()
    counts.refused += 1
    request.answer(status, Self.json, answer)
    var text = Text()
    text.append("refused a request: ", status, " ")
    text.append(code)
    log.write(.warning, text, about: .refusals)
  }

  // MARK: - The log

  /// Logs what was done, at the end.
  mutating func logTotals() {
    log.flush()
    guard counts.requests > 0 else { return }
    var text = Text()
    text.append("ended; requests: ", counts.requests, ", refused: ")
    text.append(counts.refused)
    text.append(", notifications: ", counts.notifications, ", files: ")
    text.append(counts.files)
    log.write(.info, text)
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
