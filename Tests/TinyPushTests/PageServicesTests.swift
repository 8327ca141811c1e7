import Foundation
import Testing

@testable import TinyPush
@testable import TinyPushAgent

/// What the agent publishes on the status page.
private enum Change: Sendable {
  /// It starts or reloads its configuration; the service of devices, or none.
  case begins(String)
  /// A lane is given to a service of browsers.
  case assigns(Int, String)
  case changes(Int, StatusPage.Connectivity, String)
}

private let devices = "api.push.apple.com:443"
private let ready = Change.changes(0, .up, "ready")

/// Changes, the services that the page then shows, and the agent's state.
private let rows: [(changes: [Change], services: [String], state: String)] = [
  ([.begins(devices)], ["devices \(devices) not connected: "], "not connected: "),
  (
    [.begins(devices), .changes(0, .up, "connected to it")],
    ["devices \(devices) connected: connected to it"], "connected: connected to it"
  ),
  // A service of browsers that is down is not the state of an agent that serves devices.
  (
    [
      .begins(devices), .changes(0, .up, "connected to it"), .assigns(1, "a.example"),
      .changes(1, .down, "refused"),
    ],
    [
      "devices \(devices) connected: connected to it", "browsers a.example not connected: refused",
    ], "connected: connected to it"
  ),
  // Without devices there is no first service.
  ([.begins(""), ready], [], "connected: ready"),
  (
    [.begins(""), ready, .assigns(1, "a.example")], ["browsers a.example idle: "],
    "connected: ready"
  ),
  (
    [.begins(""), ready, .assigns(1, "a.example"), .changes(1, .connecting, "")],
    ["browsers a.example connecting: "], "connecting: a.example"
  ),
  (
    [
      .begins(""), ready, .assigns(1, "a.example"), .changes(1, .up, "b"),
      .assigns(2, "b.example:8443"), .changes(2, .down, "refused"),
    ],
    ["browsers a.example connected: b", "browsers b.example:8443 not connected: refused"],
    "not connected: b.example:8443: refused"
  ),
  // A lane that is given to another service says nothing of the former one.
  (
    [
      .begins(""), ready, .assigns(1, "a.example"), .changes(1, .down, "refused"),
      .assigns(1, "b.example"),
    ],
    ["browsers b.example idle: "], "connected: ready"
  ),
  (
    [.begins(""), ready, .assigns(1, "a.example"), .changes(1, .down, "x"), .begins(devices)],
    ["devices \(devices) connected: ready"], "connected: ready"
  ),
  (
    [.begins(""), .assigns(1, String(repeating: "a", count: 255))],
    ["browsers \(String(repeating: "a", count: 255)) idle: "], "not connected: "
  ),
]

@Test(arguments: rows.indices)
func `the status page shows the push services in use, and the state of the agent`(row: Int) throws {
  let path = NSTemporaryDirectory() + "page.\(UUID().uuidString)"
  defer { unlink(path) }
  var page = MappedStatusPage()
  let error = page.keep(at: path)
  #expect(error == 0)
  for change in rows[row].changes {
    switch change {
    case .begins(let host): page.begin(Array(host.utf8).span)
    case .assigns(let lane, let host): page.assign(Lane(lane), to: Array(host.utf8).span)
    case .changes(let lane, let state, let words):
      page.change(Lane(lane), state, words: Array(words.utf8).span)
    }
  }
  let reading = try StatusReading(path)
  var services: [String] = []
  reading.page.forEachService { service in
    services.append(
      "\(service.recipients) \(text { service.appendHost(to: &$0) }) "
        + "\(StatusPage.words(service.connectivity)): \(text { service.appendWords(to: &$0) })")
  }
  #expect(services == rows[row].services)
  let state = StatusPage.words(reading.page.connectivity)
  #expect("\(state): \(text { reading.page.appendWords(to: &$0) })" == rows[row].state)
  // The first service of browsers gets the first lane.
  let hasBrowsers = rows[row].services.contains { $0.hasPrefix("browsers") }
  #expect(reading.page.hasBrowsers == hasBrowsers)
}
