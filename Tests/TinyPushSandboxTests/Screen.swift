@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

/// A device with an app.
struct Screen {
  /// The badge of the app before the notification.
  var badge: UInt64 = 0
  var topic = "com.example.cellar"
  var device = "kitchen"
  var time = "14:05:59"
  var late: Int64 = 0
  var columns = 0
  var palette = Palette.plain
  var push: PushType?
  var replacing = LockScreens.Replacing.nothing

  /// Passes the presentation of a payload to `body`, or returns nil if the payload is invalid.
  private func present<Result>(
    _ payload: String, _ body: (borrowing Presentation, UInt64) -> Result
  ) -> Result? {
    let payload = payload.bytes
    guard let summary = try? PayloadSummary(payload.span) else { return nil }
    let presentation = Presentation(summary, payload.span)
    return body(presentation, presentation.badge ?? badge)
  }

  /// Returns the card of a payload.
  func card(_ payload: String) -> String? {
    let (topic, device, time) = (topic.bytes, device.bytes, time.bytes)
    let card = Card(columns: columns, palette: palette)
    return present(payload) { presentation, badge in
      text {
        card.write(
          presentation, of: topic.span, badge: badge, on: device.span, at: time.span,
          lateSeconds: late, push: push, replacing: replacing, to: &$0)
      }
    }
  }

  /// Returns the JSON object that describes what the device shows.
  func members(_ payload: String) -> String? {
    present(payload) { presentation, badge in
      text {
        $0.beginObject()
        presentation.write(badge: badge, to: &$0)
        $0.endLine()
      }
    }
  }

}
