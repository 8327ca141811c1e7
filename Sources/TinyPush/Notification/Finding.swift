/// A mistake in a notification, or something that it wastes, and where.
///
/// A notification with a mistake is refused before it is sent.
public struct Finding: BitwiseCopyable {
  /// The kind of the finding.
  public var reason: Reason
  /// The index of the byte at fault in the text.
  public var offset: Int
  /// The number that was found, such as a size.
  public var found: Int
  /// The limit that the number exceeds.
  public var limit: Int

  /// Makes a finding.
  public init(_ reason: Reason, at offset: Int, found: Int = 0, limit: Int = 0) {
    self.reason = reason
    self.offset = offset
    self.found = found
    self.limit = limit
  }

  /// The kind of a finding.
  public enum Reason: Equatable, BitwiseCopyable {
    case json(JSONProblem)
    case notAnObject
    /// There is nothing but white space.
    case nothing
    case objectTooLarge
    case unknownKey(nearest: EnvelopeKey?)
    /// A key of other services for the text; the number is that of the key in ``textKeys``.
    case textOutside(UInt8)
    case duplicateKey
    case missingPayload
    case missingRecipient
    case payloadNotObject
    case apsOutside
    case missingAps
    case apsNotObject
    case apsIsEmpty
    case apsTooMany
    case alert
    case badge
    case contentAvailable
    case notString(PayloadKey)
    case notStringOrNull(PayloadKey)
    case notStrings(PayloadKey)
    case notStringsOrNull(PayloadKey)
    case notObject(PayloadKey)
    case date(PayloadKey)
    case sound
    case critical
    case volume
    case mutableContent
    case interruptionLevel
    case relevanceScore
    case event
    case payloadTooLarge
    case trimTooLarge
    case tokenNotString
    case tokenSize
    case tokenSizeOfBinary
    case tokenNotHex
    case subscription(Subscription.Problem)
    case tokenTwice
    case tokensNotArray
    case tokensEmpty
    case to
    case toEmpty
    case listName
    case tooManyLists
    case listIsToken
    case listMissing
    case listMissingDefault
    case listEmpty
    case priority
    case priorityOne
    case priorityOfHTTP2
    case prioritySilent
    case expiration
    case expirationPast
    case ttl
    case expirationAndTtl
    case notBefore
    case notBeforePast
    case registered
    case collapseID
    case collapseIDCharacters
    case topic
    case topicSuffix(PushType)
    case identifier
    case pushType(nearest: PushType?)
    case pushTypeAlert
    case pushTypeBackground
    case liveActivity
    case liveActivityStart
    case trim
    case urgent
    case againAfter
    case localized
    case localizedEmpty
    case localizedLanguage
    case localizedNoDefault
    case mustBeString(EnvelopeKey)
    case failedNotObject
    // Warnings: the notification is sent.
    case onlyBody
    case whiteSpace
    case longEscapes
    case strangeKey(nearest: PayloadKey)
    case belongsInAlert(PayloadKey)
    case belongsInAps(PayloadKey)
    case belongsOutside(EnvelopeKey)
    case showsNothing
    case soundName
    case argumentsWithoutKey(PayloadKey)
    case priorityNotSent
    case badgeNotWhole
    case topicEnding(PushType)
    case listUnreadable
    case listsElsewhere
  }

  /// Whether the finding is only a warning, so that the notification is sent.
  public var isWarning: Bool {
    switch reason {
    case .onlyBody, .whiteSpace, .longEscapes, .strangeKey, .belongsInAlert, .belongsInAps,
      .belongsOutside,
      .showsNothing, .soundName, .argumentsWithoutKey, .priorityNotSent, .badgeNotWhole,
      .topicEnding, .listUnreadable, .listsElsewhere:
      true
    default: false
    }
  }
}

extension Finding.Reason {
  /// Whether the finding concerns the directory of the recipients files.
  public var isOfDirectory: Bool {
    switch self {
    case .listMissing, .listMissingDefault, .listUnreadable, .listsElsewhere: true
    default: false
    }
  }
}

/// The findings about one notification.
public struct Findings: ~Copyable {
  private let items: FixedBuffer<Finding>
  /// The number of findings that are kept.
  public private(set) var count = 0
  /// The number of findings that refuse the notification, kept or not.
  public private(set) var refusals = 0
  /// The number of warnings, kept or not.
  public private(set) var warnings = 0
  private var first: Finding?

  /// Makes room for `capacity` findings.
  ///
  /// The first refusal is kept in addition. With capacity 0, most warnings are not searched for.
  public init(capacity: Int = 0) {
    items = FixedBuffer(capacity: capacity)
  }

  /// Whether all findings are wanted, not only the first refusal.
  var isThorough: Bool { items.capacity > 0 }

  /// The first finding that refuses the notification.
  public var refusal: Finding? { first }

  /// A kept finding, ordered by its place in the text.
  public subscript(index: Int) -> Finding { items[index] }

  mutating func clear() {
    count = 0
    refusals = 0
    warnings = 0
    first = nil
  }

  /// Counts a finding, and keeps it if there is room.
  @inline(never)
  public mutating func add(_ finding: Finding) {
    if finding.isWarning {
      warnings += 1
    } else {
      refusals += 1
      if first == nil { first = finding }
    }
    guard count < items.capacity else { return }
    // Sort by place. Most findings come in this order; those of `Envelope.finish` do not.
    var place = count
    while place > 0, items[place - 1].offset > finding.offset {
      items[place] = items[place - 1]
      place -= 1
    }
    items[place] = finding
    count += 1
  }

  /// Adds the finding that refuses the notification, ahead of those found before.
  ///
  /// The finding is kept even without room. It replaces other findings at the same place: text that
  /// is not JSON needs only this one.
  @inline(never)
  mutating func decide(_ finding: Finding) {
    first = finding
    if count > 0, count == items.capacity { count -= 1 }
    while count > 0, items[count - 1].offset == finding.offset {
      count -= 1
      if items[count].isWarning { warnings -= 1 } else { refusals -= 1 }
    }
    add(finding)
  }
}

extension Finding {
  /// Returns the mistake in a text that is meant as one JSON value; nil if it is right.
  @inline(never)
  public static func inJSON(_ text: Span<UInt8>) -> Finding? {
    var scanner = JSONScanner()
    do throws(JSONProblem) {
      _ = try scanner.onlyValue(text)
      return nil
    } catch {
      return Finding(.json(error), at: scanner.index)
    }
  }

  /// Whether the finding concerns an object that was read to its end, rather than other text.
  var isOfObject: Bool {
    switch reason {
    case .json, .notAnObject, .nothing, .objectTooLarge: false
    default: true
    }
  }
}
