import Foundation
import Testing
import TinyPush
import TinyPushMQTT

/// The topic and the payload by which Home Assistant discovers a box.
private func discovery(_ clientID: String) -> (topic: String, payload: String) {
  var topic = Text(capacity: 1024)
  HomeAssistant.appendTopic(
    prefix: Array("homeassistant".utf8).span, clientID: Array(clientID.utf8).span, to: &topic)
  var payload = Text(capacity: BrokerSession.publishedBytesMax)
  HomeAssistant.append(
    clientID: Array(clientID.utf8).span, state: Array("tinypush/fleet/\(clientID)".utf8).span,
    version: "1.2.3", to: &payload)
  return (topic.bytes.string, payload.bytes.string)
}

private func object(_ text: String) throws -> [String: Any] {
  try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
}

@Test func `the discovery message has what Home Assistant requires of a device`() throws {
  let (topic, payload) = discovery("tinypush-cellar")
  #expect(topic == "homeassistant/device/tinypush-cellar/config")
  let config = try object(payload)
  let device = try #require(config["device"] as? [String: Any])
  #expect(device["identifiers"] as? [String] == ["tinypush-cellar"])
  #expect(device["name"] as? String == "tinypush-cellar")
  #expect(device["sw_version"] as? String == "1.2.3")
  #expect((config["origin"] as? [String: Any])?["name"] as? String == "tinypush-mqtt")
  #expect(config["state_topic"] as? String == "tinypush/fleet/tinypush-cellar")
  let components = try #require(config["components"] as? [String: [String: Any]])
  #expect(Set(components.keys) == ["connected", "waiting", "sent_last_minute", "problem"])
  for (key, component) in components {
    let platform = component["platform"] as? String
    #expect(platform == (key == "connected" ? "binary_sensor" : "sensor"))
    #expect(component["unique_id"] as? String == "tinypush-cellar_\(key)")
    #expect((component["value_template"] as? String)?.contains("value_json.") == true)
    // The connectivity is off, and not unknown, while the box is offline.
    let topic = component["availability_topic"] as? String
    #expect(topic == (key == "connected" ? nil : "tinypush/fleet/tinypush-cellar"))
  }
  #expect(components["connected"]?["device_class"] as? String == "connectivity")
}

@Test(arguments: ["keller.example.org", "Büro 2", #"a"b\c"#])
func `a client ID with other characters becomes an ID that Home Assistant allows`(clientID: String)
  throws
{
  let (topic, payload) = discovery(clientID)
  #expect(topic.contains(#/^homeassistant/device/[a-zA-Z0-9_-]+/config$/#))
  let device = try #require(try object(payload)["device"] as? [String: Any])
  #expect(device["name"] as? String == clientID)
  // Two names that differ in such characters only are two devices.
  #expect(topic != discovery(String(clientID.map { $0 == "." ? "," : $0 }) + ".").topic)
}

@Test func `the longest client ID leaves the discovery message whole`() throws {
  let (topic, payload) = discovery(String(repeating: "x", count: 190))
  _ = try object(payload)
  #expect(topic.utf8.count + payload.utf8.count <= BrokerSession.publishedBytesMax)
}
