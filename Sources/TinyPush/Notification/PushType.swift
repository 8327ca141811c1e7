/// What a notification is for the device, as `apns-push-type` says. Source: Sending notification requests to APNs.
public enum PushType: UInt8, BitwiseCopyable, Sendable, CaseIterable {
  case alert, background, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk
  case widgets, controls

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

  /// What the topic ends with, behind the app's bundle ID; empty: nothing.
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
  /// The one that has this name.
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

  /// The one that was most likely meant.
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

  /// Whether `aps` is what it is about. The payload of the others is between the app, or the system, and the sender.
  package var needsAps: Bool {
    switch self {
    case .alert, .background, .liveactivity: true
    default: false
    }
  }

  // MARK: - Topics

  /// What goes out behind a topic, for it to end as this type demands: nothing where it ends so already.
  public func suffix(behind topic: Span<UInt8>) -> StaticString {
    let suffix = topicSuffix
    return topic.ends(with: suffix) ? "" : suffix
  }

  func appendTopic(_ topic: Span<UInt8>, to output: inout Text) {
    output.append(bytes: topic)
    output.append(suffix(behind: topic))
  }

  /// The type whose topics end as this one does; nil: it ends as those of no type that demands an ending.
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

  /// Whether the bundle ID of an app may well end as the topics of this type do.
  var hasCommonSuffix: Bool {
    switch self {
    case .voip, .complication: true
    default: false
    }
  }
}

extension Span<UInt8> {
  /// Whether something stands before `end`, and `end` is the last of these.
  fileprivate func ends(with end: StaticString) -> Bool {
    let bytes = end.utf8CodeUnitCount
    return count > bytes && extracting(count - bytes..<count).equals(end)
  }
}
