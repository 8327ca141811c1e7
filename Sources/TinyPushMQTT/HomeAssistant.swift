import TinyPush

/// The message with which Home Assistant discovers a box: one device, and its sensors.
///
/// Home Assistant's documentation of MQTT calls this device discovery. All values are templates
/// over the box's state, which is one JSON object.
public enum HomeAssistant {
  /// The time after which a value of a silent box counts as unknown, in seconds: three messages.
  private static let expireSeconds = 2700

  /// Appends the topic: `PREFIX/device/ID/config`.
  public static func appendTopic(
    prefix: Span<UInt8>, clientID: Span<UInt8>, to text: inout Text
  ) {
    text.append(bytes: prefix)
    text.append("/device/")
    appendID(clientID, to: &text)
    text.append("/config")
  }

  /// Appends the payload.
  ///
  /// - Parameter state: the topic of the box's state.
  public static func append(
    clientID: Span<UInt8>, state: Span<UInt8>, version: StaticString, to text: inout Text
  ) {
    text.beginObject()
    text.key("device")
    text.beginObject()
    text.key("identifiers")
    text.beginArray()
    text.element(string: id(clientID).bytes)
    text.endArray()
    text.member("name", string: clientID)
    text.member("manufacturer", word: "TinyPush")
    text.member("model", word: "push agent")
    text.member("sw_version", word: version)
    text.endObject()
    text.key("origin")
    text.beginObject()
    text.member("name", word: "tinypush-mqtt")
    text.member("sw_version", word: version)
    text.endObject()
    text.member("state_topic", string: state)
    text.key("components")
    text.beginObject()
    appendSensors(clientID, state, to: &text)
    text.endObject()
    text.endObject()
  }

  private static func appendSensors(
    _ clientID: Span<UInt8>, _ state: Span<UInt8>, to text: inout Text
  ) {
    // This sensor is off when the box goes offline, before it expires.
    begin("connected", "binary_sensor", "Connected", clientID, &text)
    text.member("device_class", word: "connectivity")
    text.member("value_template", word: "{{ 'ON' if value_json.state == 'connected' else 'OFF' }}")
    text.endObject()
    begin("waiting", "sensor", "Waiting files", clientID, &text)
    appendNumber("{{ value_json.waiting | default(none) }}", "files", &text)
    appendAvailability(state, &text)
    text.endObject()
    begin("sent_last_minute", "sensor", "Sent in the last minute", clientID, &text)
    appendNumber(
      "{{ value_json.sent_last_minute | default(none) }}", "notifications", &text)
    appendAvailability(state, &text)
    text.endObject()
    begin("problem", "sensor", "Last problem", clientID, &text)
    text.member("entity_category", word: "diagnostic")
    // A state of Home Assistant has at most 255 characters.
    text.member("value_template", word: "{{ (value_json.problem | default('none'))[:255] }}")
    appendAvailability(state, &text)
    text.endObject()
  }

  private static func begin(
    _ key: StaticString, _ platform: StaticString, _ name: StaticString, _ clientID: Span<UInt8>,
    _ text: inout Text
  ) {
    text.key(key)
    text.beginObject()
    text.member("platform", word: platform)
    var unique = id(clientID)
    unique.append("_", key)
    text.member("unique_id", string: unique)
    text.member("name", word: name)
    text.member("expire_after", number: expireSeconds)
  }

  private static func appendNumber(
    _ template: StaticString, _ unit: StaticString, _ text: inout Text
  ) {
    text.member("state_class", word: "measurement")
    text.member("unit_of_measurement", word: unit)
    text.member("value_template", word: template)
  }

  private static func appendAvailability(_ state: Span<UInt8>, _ text: inout Text) {
    text.member("availability_topic", string: state)
    text.member(
      "availability_template",
      word: "{{ 'offline' if value_json.state == 'offline' else 'online' }}")
  }

  private static func id(_ clientID: Span<UInt8>) -> Text {
    var text = Text(capacity: 320)
    appendID(clientID, to: &text)
    return text
  }

  /// Appends an ID in Home Assistant's characters: letters, digits, `_` and `-`.
  ///
  /// A hash keeps client IDs apart that differ in other characters only.
  private static func appendID(_ clientID: Span<UInt8>, to text: inout Text) {
    var isPlain = true
    for index in clientID.indices {
      let byte = clientID[index]
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
        text.append(byte: byte)
      default:
        text.append("_")
        isPlain = false
      }
    }
    guard !isPlain else { return }
    var hash = Hash()
    hash.add(clientID)
    text.append("_")
    text.append(hex: hash.value)
  }
}
