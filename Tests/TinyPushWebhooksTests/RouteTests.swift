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
  ("/github", "/github"), ("/github/", "/github"), ("/github?token=a/b", "/github"),
  ("/north%20gate/x", "/north gate/x"), ("/a+b", "/a+b"), ("/", "/"), ("//", "/"),
  ("", nil), ("?a", nil), ("/50%", nil), ("/" + String(repeating: "a", count: 2000), nil),
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
    ("{}", true, nil), ("{}", false, nil), ("", true, 0), ("", false, nil),
    ("Tank low", false, nil),
    ("Tank low", true, 0), (" {\"a\": }", false, 7), ("[1", false, 2), ("{} {}", true, 3),
    ("<xml/>", false, nil),
  ] as [(String, Bool, Int?)])
func `a body that is meant as JSON must be JSON`(body: String, isJSON: Bool, offset: Int?) {
  let body = Array(body.utf8)
  let mistake = RuleRequest.mistake(in: body.span, isJSON: isJSON)
  #expect(mistake?.offset == offset)
}
