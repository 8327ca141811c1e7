import TinyPush

/// Which notifications with a collapse ID the devices have shown, so that it can be said what one replaces. Of all devices
/// the last ones are remembered.
struct LockScreens: ~Copyable {
  private static let countMax = 256

  struct Shown: BitwiseCopyable {
    /// Digests of the device token with the collapse ID, and of the payload.
    var place: UInt64 = 0
    var content: UInt64 = 0
  }

  /// What a notification takes the place of.
  enum Replacing {
    case nothing
    case other
    /// The same content: nobody sees a difference.
    case same

    /// A name for programs.
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

  /// A device shows a notification.
  ///
  /// - Parameter collapseID: empty: it replaces nothing.
  mutating func show(
    _ payload: Span<UInt8>, on token: Span<UInt8>, collapseID: Span<UInt8>
  ) -> Replacing {
    guard !collapseID.isEmpty else { return .nothing }
    var name = Text(capacity: token.count + collapseID.count)
    name.append(bytes: token)
    name.append(bytes: collapseID)
    let now = Shown(
      place: TokenContent.digest(topic: name.bytes), content: TokenContent.digest(topic: payload))
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
