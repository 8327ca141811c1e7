import Foundation
import Testing

/// The status page of an agent that delivers over HTTP/2.
@Suite(.sideBySide) struct HTTP2StatusTests {
  private func page(_ box: Box) throws -> [String: Any] {
    let shown = try box.tinypush("status", "--json", "-o", "status=" + box.path + "/page")
    return try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any] ?? [:]
  }

  /// Starts an agent with a faulty service and waits until the agent logs these words.
  private func agent(
    _ box: Box, fault: String, untilItLogs words: String, _ settings: [String] = []
  ) throws -> Child {
    let gateway = try HTTP2Gateway(in: box, .certificate, ["--fault", fault])
    try box.drop((1...50).map { line($0, "Alert \($0)") + "\n" }.joined(), as: "many.ndjson")
    let agent = try box.start(
      Build.command(Build.host) + ["run"]
        + box.http2Settings(
          gateway.port, .certificate, ["status=" + box.path + "/page"] + settings))
    try agent.line(words, in: .errors)
    return agent
  }

  @Test(arguments: [
    ("cut-lost@20", "uncertain", "connection_lost", "connection lost"),
    ("silent@20", "no answer", "no_answer", "no answer"),
    ("unavailable@5", "has a problem", "service_trouble", "service in trouble"),
  ])
  func `the status page counts the causes of resent notifications`(
    fault: String, words: String, cause: String, text: String
  ) throws {
    let agent = try agent(
      box, fault: fault, untilItLogs: words,
      cause == "no_answer" ? ["answer-timeout=2s"] : ["answer-timeout=5m"])
    try wait(for: "all to be accepted") { try page(box)["settled_by_proof"] as? Int == 50 }
    let told = try page(box)
    #expect(told["protocol"] as? String == "http2")
    let retries = try #require(told["retried_by_cause"] as? [String: Int])
    #expect(Array(retries.keys) == [cause])
    #expect(retries[cause] ?? 0 > 0)
    let screen = try box.tinypush("status", "-o", "status=" + box.path + "/page").output
    #expect(screen.contains("sent again: \(retries[cause] ?? 0) \(text)\n"), "\(screen)")
    #expect(screen.contains("accepted                50"), "\(screen)")
    let metrics = try box.tinypush("status", "--prometheus", "-o", "status=" + box.path + "/page")
      .output
    #expect(metrics.contains("tinypush_retried_total{cause=\"\(cause)\"} \(retries[cause] ?? 0)\n"))
    #expect(metrics.contains("tinypush_configuration_refused 0\n"))
    #expect(try agent.terminate() == 0)
  }

  @Test func `the status page shows that the service refuses the configuration`() throws {
    let agent = try agent(
      box, fault: "bad-certificate", untilItLogs: "the service refuses the configuration")
    try wait(for: "the page to show it") { try page(box)["configuration_refused"] != nil }
    let told = try page(box)
    #expect(told["configuration_refused"] as? String == "bad_certificate")
    #expect(told["state"] as? String == "not connected")
    let status = try box.tinypush("status", "-o", "status=" + box.path + "/page")
    #expect(status.status == 78)
    let screen = status.output
    #expect(
      screen.contains(
        "  held: the service refuses the configuration: bad certificate; renew the push certificate\n"
      ), "\(screen)")
    let metrics = try box.tinypush("status", "--prometheus", "-o", "status=" + box.path + "/page")
      .output
    #expect(metrics.contains("tinypush_configuration_refused 1\n"))
    #expect(try agent.terminate() == 0)
    #expect(box.queued == ["many.ndjson"])
  }
}
