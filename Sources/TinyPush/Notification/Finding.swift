/// What is to be said of a notification file: why a notification is refused before it is sent, or what it wastes; and where.
public struct Finding: BitwiseCopyable {
  public var reason: Reason
  /// The byte at fault, from the start of the text.
  public var offset: Int
  /// What the reason's words need besides: a size, a limit.
  public var found: Int
  public var limit: Int

  public init(_ reason: Reason, at offset: Int, found: Int = 0, limit: Int = 0) {
    self.reason = reason
    self.offset = offset
    self.found = found
    self.limit = limit
  }

  public enum Reason: Equatable, BitwiseCopyable {
    case json(JSONProblem)
    case notAnObject
    case objectTooLarge
    case unknownKey(nearest: EnvelopeKey?)
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
    case tokenNotHex
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
    // Warnings: it is sent all the same.
    case onlyBody
    case whiteSpace
    case longEscapes
    case strangeKey(nearest: PayloadKey)
    case badgeNotWhole
    case topicEnding(PushType)
    case listUnreadable
    case listsElsewhere
  }

  /// Whether it is only something to know: the notification is sent.
  public var isWarning: Bool {
    switch reason {
    case .onlyBody, .whiteSpace, .longEscapes, .strangeKey, .badgeNotWhole, .topicEnding,
      .listUnreadable, .listsElsewhere:
      true
    default: false
    }
  }
}

extension Finding.Reason {
  /// Whether it is about the directory of the recipients files.
  public var isOfDirectory: Bool {
    switch self {
    case .listMissing, .listMissingDefault, .listUnreadable, .listsElsewhere: true
    default: false
    }
  }
}

/// What is found in a notification. Whoever only wants to know whether it may be sent has room for one.
public struct Findings: ~Copyable {
  private let items: FixedBuffer<Finding>
  public private(set) var count = 0
  /// All of them, kept or not.
  public private(set) var refusals = 0
  public private(set) var warnings = 0
  private var first: Finding?

  /// - Parameter capacity: how many are kept, apart from the first refusal; 0: warnings are not even looked for.
  public init(capacity: Int = 0) {
    items = FixedBuffer(capacity: capacity)
  }

  /// Whether everything is wanted, and not only the first refusal.
  var isThorough: Bool { items.capacity > 0 }

  /// The first thing for which the notification is refused.
  public var refusal: Finding? { first }

  public subscript(index: Int) -> Finding { items[index] }

  mutating func clear() {
    count = 0
    refusals = 0
    warnings = 0
    first = nil
  }

  @inline(never)
  public mutating func add(_ finding: Finding) {
    if finding.isWarning {
      warnings += 1
    } else {
      refusals += 1
      if first == nil { first = finding }
    }
    guard count < items.capacity else { return }
    // By place: they are found in that order but for those that only the end shows.
    var place = count
    while place > 0, items[place - 1].offset > finding.offset {
      items[place] = items[place - 1]
      place -= 1
    }
    items[place] = finding
    count += 1
  }

  /// Adds that for which it is refused, whatever else was found before: it is kept also where there is no more room, and what
  /// is not even a value is nothing else besides.
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
  /// Whether it is about an object that was read to its end, and not about text that is none.
  var isOfObject: Bool {
    switch reason {
    case .json, .notAnObject, .objectTooLarge: false
    default: true
    }
  }
}
