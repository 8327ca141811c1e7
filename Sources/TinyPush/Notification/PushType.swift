/// The purpose of a notification on the device, as in `apns-push-type`.
///
/// Source: Sending notification requests to APNs.
public enum PushType: UInt8, BitwiseCopyable, Sendable, CaseIterable {
  case alert, background, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk
  case widgets, controls

  /// The value of `apns-push-type`.
  public var name: StaticString {
    switch self {
    case .alert: "alert"
    case .background: "background"
    case .location: "location"
    case .voip: "voip"
    case .complication: "complication"
    case .fileprovider: "fileprovider"
    case .mdm: "mdm"
    case .liveactivity: "liveactivity"
    case .pushtotalk: "pushtotalk"
    case .widgets: "widgets"
    case .controls: "controls"
    }
  }

  /// The ending that the topic must have after the app's bundle ID; empty: none.
  public var topicSuffix: StaticString {
    switch self {
    case .alert, .background, .mdm: ""
    case .location: ".location-query"
    case .voip: ".voip"
    case .complication: ".complication"
    case .fileprovider: ".pushkit.fileprovider"
    case .liveactivity: ".push-type.liveactivity"
    case .pushtotalk: ".voip-ptt"
    case .widgets: ".push-type.widgets"
    case .controls: ".push-type.controls"
    }
  }
}

extension PushType {
  /// Returns the push type with a name; nil if absent.
  package init?(name: Span<UInt8>) {
    var raw: UInt8 = 0
    while let type = PushType(rawValue: raw) {
      if name.equals(type.name) {
        self = type
        return
      }
      raw += 1
    }
    return nil
  }

  /// Returns the push type whose name is most similar to a misspelled one.
  @inline(never)
  static func nearest(to name: Span<UInt8>) -> PushType? {
    var best: PushType?
    var bestDistance = Nearest.distanceMax(name) + 1
    var raw: UInt8 = 0
    while let type = PushType(rawValue: raw) {
      let edits = Nearest.distance(name, type.name.span)
      if edits < bestDistance { (best, bestDistance) = (type, edits) }
      raw += 1
    }
    return best
  }

  /// Whether the payload must have `aps`.
  ///
  /// The payloads of the other push types are a matter between the sender and the app or the
  /// system.
  package var needsAps: Bool {
    switch self {
    case .alert, .background, .liveactivity: true
    default: false
    }
  }

  // MARK: - Topics

  /// Returns the ending to append to a topic; empty if the topic has this ending already.
  public func suffix(behind topic: Span<UInt8>) -> StaticString {
    let suffix = topicSuffix
    return topic.ends(with: suffix) ? "" : suffix
  }

  func appendTopic(_ topic: Span<UInt8>, to output: inout Text) {
    output.append(bytes: topic)
    output.append(suffix(behind: topic))
  }

  /// Returns the push type whose ending a topic has; nil if absent.
  @inline(never)
  package init?(ofTopic topic: Span<UInt8>) {
    var raw: UInt8 = 0
    while let type = PushType(rawValue: raw) {
      if type.topicSuffix.utf8CodeUnitCount > 0, topic.ends(with: type.topicSuffix) {
        self = type
        return
      }
      raw += 1
    }
    return nil
  }

  /// Whether the bundle ID of an app may plausibly have the same ending as the topics of this type.
  var hasCommonSuffix: Bool {
    switch self {
    case .voip, .complication: true
    default: false
    }
  }
}
