@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

/// A device with an app on it, and what the app brought along.
struct Screen {
  var strings = ""
  var categories = ""
  /// What the app's icon bears at first.
  var badge: UInt64 = 0
  var topic = "com.example.cellar"
  var device = "kitchen"
  var time = "14:05:59"
  var late: Int64 = 0
  var columns = 0
  var palette = Palette.plain
  var push: PushType?
  var replacing = LockScreens.Replacing.nothing

  /// What a payload comes to on it; nil: it is none.
  private func present<Result>(
    _ payload: String, _ body: (borrowing Presentation, UInt64) -> Result
  ) -> Result? {
    let payload = payload.bytes
    let (strings, categories) = (strings.bytes, categories.bytes)
    guard let summary = try? PayloadSummary(payload.span) else { return nil }
    let bundle = AppBundle(strings: strings.span, categories: categories.span)
    let presentation = Presentation(summary, payload.span, of: bundle)
    return body(presentation, presentation.badge ?? badge)
  }

  /// The card of a payload.
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

  /// The members of its event.
  func members(_ payload: String) -> String? {
    present(payload) { presentation, badge in
      text {
        $0.beginObject()
        presentation.write(badge: badge, to: &$0)
        $0.endLine()
      }
    }
  }

  /// What a developer is told.
  func notes(_ payload: String) -> String? {
    present(payload) { presentation, _ in String(presentation.notes.bytes) }
  }
}
