import TinyPush

/// The last notifications with a collapse ID that devices have shown.
///
/// They show whether a new notification replaces one.
struct LockScreens: ~Copyable {
  private static let countMax = 256

  struct Shown: BitwiseCopyable {
    /// The hash of the device token and the collapse ID.
    var place: UInt64 = 0
    /// The hash of the payload.
    var content: UInt64 = 0
  }

  /// What a notification replaces.
  enum Replacing {
    case nothing
    /// A notification with another payload.
    case other
    /// A notification with the same payload: the user sees no difference.
    case same

    /// The name in JSON Lines.
    var name: StaticString {
      switch self {
      case .nothing: "nothing"
      case .other: "other"
      case .same: "same"
      }
    }
  }

  private let shown = FixedBuffer<Shown>(capacity: countMax)
  private var count = 0
  private var next = 0

  /// Notes that a device shows a notification, and returns what the notification replaces.
  ///
  /// - Parameter collapseID: the collapse ID; empty: the notification replaces nothing.
  mutating func show(
    _ payload: Span<UInt8>, on token: Span<UInt8>, collapseID: Span<UInt8>
  ) -> Replacing {
    guard !collapseID.isEmpty else { return .nothing }
    var (place, content) = (Hash(), Hash())
    place.add(token)
    place.add(collapseID)
    content.add(payload)
    let now = Shown(place: place.value, content: content.value)
    for index in 0..<count where shown[index].place == now.place {
      let isSame = shown[index].content == now.content
      shown[index] = now
      return isSame ? .same : .other
    }
    shown[next] = now
    next = (next + 1) % Self.countMax
    count = max(count, next == 0 ? Self.countMax : next)
    return .nothing
  }
}
