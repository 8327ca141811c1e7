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
