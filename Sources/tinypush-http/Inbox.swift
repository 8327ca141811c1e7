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

  let spool: CString
  let recipients: CString
  let rules: Rules
  /// What becomes of requests to the paths of rules.
  var pathRules: MessageRules
  /// The path of a request, for the rules.
  var path = Text(capacity: RuleRequest.pathBytesMax)
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
  var lines = Text(capacity: 2 * Inbox.bodyBytesMax)
  /// The body of an answer.
  var answer = Text(capacity: 8192)
  /// The code of the last refusal.
  var code = Text(capacity: 64)
  var counts = Counts()
  /// The file of the requests that are held; nil: there is none.
  var box: DropBox?
  /// Whether the last file could not be written.
  var isSpoolBroken = false
  /// Why the file cannot be written.
  var problem: DropBox.Problem?
  var held: InlineArray<16, Held?> = .init(repeating: nil)
  var heldCount = 0

  /// A complete request that waits for its notifications to be on disk.
  struct Held {
    var request: Request
    var count: Int
    /// The status of the answer if all is well.
    var status: UInt32
  }

  struct Counts {
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
      return refuse(
        request, 400, "length", "send either one Content-Length, or Transfer-Encoding: chunked")
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
    guard isOfRule || route != .unknown else {
      return refuse(
        request, 404, "not-found",
        "no such path: use /, /NAME of a recipients file, /message, /grafana/NAME, /alertmanager/NAME or the path of a rule"
      )
    }
    guard isMethodTaken(request, route, isOfRule: isOfRule) else {
      return refuseMethod(request, Self.methods(of: route, isOfRule: isOfRule))
    }
    // An old browser says nothing of the page for whose picture it sends a GET.
    guard !request.method.equals("GET") || !tokens.isEmpty || request.isOfUNIXSocket else {
      return refuse(
        request, 403, "web-page",
        "without token-file a web page could send this with GET: use POST, or set token-file")
    }
    checkBody(request, route, isOfRule: isOfRule)
  }

  private static func methods(of route: Route, isOfRule: Bool) -> StaticString {
    switch route {
    case _ where isOfRule: "POST, PUT"
    case .list: "POST, PUT"
    case .publish: "GET, POST, PUT"
    case .root: "GET, HEAD, POST"
    case .health: "GET, HEAD"
    case .unknown, .gotify, .webhook, .page, .registration: "POST"
    }
  }

  /// Whether a path takes the method of a request that sends an alert.
  private func isMethodTaken(_ request: Request, _ route: Route, isOfRule: Bool) -> Bool {
    if request.method.equals("POST") { return isOfRule || route != .health }
    let isPut = request.method.equals("PUT")
    switch route {
    case _ where isOfRule: return isPut
    // ntfy takes a text with PUT as well, and Apprise sends one so.
    case .list: return isPut
    case .publish: return isPut || request.method.equals("GET")
    case .root, .health, .unknown, .gotify, .webhook, .page, .registration: return false
    }
  }

  /// Refuses a body that is too large or of a kind that the path does not take.
  private mutating func checkBody(_ request: Request, _ route: Route, isOfRule: Bool) {
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
  mutating func readPath(of request: Request) -> Bool {
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
