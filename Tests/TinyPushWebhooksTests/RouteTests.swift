import Testing
import TinyPush
import TinyPushWebhooks

@Test(arguments: [
  ("/", Route.root), ("/health", .health), ("/family", .list(1..<7)), ("/family?a=b", .list(1..<7)),
  ("/message", .gotify), ("/message?token=a", .gotify), ("/family/publish", .publish(1..<7)),
  ("/family/trigger?message=x", .publish(1..<7)), ("/family/other", .unknown),
  ("/family/", .list(1..<7)), ("/grafana", .webhook(8..<8)),
  ("/grafana/ops", .webhook(9..<12)),
  ("/alertmanager/", .webhook(14..<14)),
  ("/a/b", .unknown), ("//", .root), ("", .unknown), ("*", .unknown), ("http://host/", .unknown),
])
func `a path names a recipients file or a webhook`(target: String, route: Route) {
  let target = Array(target.utf8)
  let found = Route(target.span)
  #expect(found == route)
}

@Test(arguments: [
  ("/web/", Route.page(5..<5), Route.list(1..<4)), ("/web", .list(1..<4), .list(1..<4)),
  ("/web/page.js?x", .page(5..<12), .unknown), ("/web/../x", .page(5..<9), .unknown),
  ("/register", .registration, .list(1..<9)), ("/register/", .registration, .list(1..<9)),
  ("/register/x", .unknown, .unknown), ("/family", .list(1..<7), .list(1..<7)),
])
func `the page for browsers has paths of its own if there is one`(
  target: String, with: Route, without: Route
) {
  let target = Array(target.utf8)
  let (found, other) = (Route(target.span, hasPage: true), Route(target.span))
  #expect(found == with)
  #expect(other == without)
}

@Test(arguments: [
  ("/github", "/github"), ("/github/", "/github"), ("/github?token=a/b", "/github"),
  ("/north%20gate/x", "/north gate/x"), ("/a+b", "/a+b"), ("/", nil), ("//", nil),
  ("/?a", nil), ("", nil), ("?a", nil), ("/50%", nil),
  ("/" + String(repeating: "a", count: 2000), nil),
])
func `rules get the path without its escapes and the query`(target: String, path: String?) {
  let target = Array(target.utf8)
  var found = Text(capacity: RuleRequest.pathBytesMax)
  let isFound = Route.appendPath(of: target.span, to: &found)
  #expect(isFound == (path != nil))
  if let path { #expect(found.string == path) }
}

@Test(
  arguments: [
    ("{}", true, nil), ("{}", nil, nil), ("", true, 0), ("", nil, nil),
    ("Tank low", nil, nil),
    ("Tank low", true, 0), (" {\"a\": }", nil, 7), ("[1", nil, 2), ("{} {}", true, 3),
    ("<xml/>", nil, nil), ("[Tank] low", nil, 1), ("[Tank] low", false, nil),
  ] as [(String, Bool?, Int?)])
func `a body that is meant as JSON must be JSON`(body: String, isJSON: Bool?, offset: Int?) {
  let body = Array(body.utf8)
  let mistake = RuleRequest.mistake(in: body.span, isJSON: isJSON)
  #expect(mistake?.offset == offset)
}

@Test(arguments: [
  ("payload=%7B%22a%22%3A+1%7D", #"{"a": 1}"#), ("payload={}&x=1", "{}"), ("payload=", ""),
  ("payloads=1", nil), ("x=1&payload={}", nil), ("payload=%7", nil), ("Tank low", nil), ("", nil),
])
func `a form may have its JSON in the field payload`(body: String, payload: String?) {
  let body = Array(body.utf8)
  var text = Text(capacity: 256)
  let isFound = RuleRequest.appendPayload(ofForm: body.span, to: &text)
  #expect(isFound == (payload != nil))
  if let payload { #expect(text.string == payload) }
}
