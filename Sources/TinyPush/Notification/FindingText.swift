extension Finding {
  /// Appends what is wrong and how to correct it, or what is wasted.
  public func describe(in text: inout Text) {
    if case .json(let problem) = reason {
      text.append(problem.text)
      if let character = Typography(character: found) {
        text.append(character.advice)
      }
      return
    }
    if case .subscription(let problem) = reason { return text.append(problem.text) }
    let words = reason.codeAndWords.span
    var index = Self.codeBytes(words) + 2
    while index < words.count {
      let byte = words[index]
      index += 1
      guard byte == .percent else {
        text.append(byte: byte)
        continue
      }
      switch words[index] {
      case UInt8(ascii: "f"): text.append(found)
      case UInt8(ascii: "l"): text.append(limit)
      case UInt8(ascii: "s"): if found != 1 { text.append("s") }
      default: text.append(bytes: reason.key)
      }
      index += 1
    }
    switch reason {
    case .expiration, .notBefore, .registered, .date:
      if found == 13 { text.append("; these look like milliseconds: divide by 1000") }
    default: break
    }
  }

  /// Appends a stable word for the reason, for programs.
  public func appendCode(to text: inout Text) {
    if case .json(let problem) = reason {
      text.append(problem.code)
    } else {
      let words = reason.codeAndWords.span
      text.append(bytes: words.extracting(0..<Self.codeBytes(words)))
    }
  }

  private static func codeBytes(_ words: Span<UInt8>) -> Int {
    var count = 0
    while words[count] != .colon { count += 1 }
    return count
  }
}

extension Finding {
  /// Keys in which other services take the text, its title and the like.
  static var textKeys: WordList { "alert title subtitle body message msg text badge sound" }
}

extension Finding.Reason {
  /// The key that the message names.
  fileprivate var key: Span<UInt8> {
    @_lifetime(immortal) get {
      switch self {
      case .unknownKey(let nearest?): nearest.name
      case .textOutside(let number): Finding.textKeys[Int(number)]
      case .mustBeString(let key), .belongsOutside(let key): key.name
      case .notString(let key), .notStringOrNull(let key), .notStrings(let key),
        .notStringsOrNull(let key), .notObject(let key), .date(let key), .strangeKey(let key),
        .belongsInAlert(let key), .belongsInAps(let key), .argumentsWithoutKey(let key):
        key.name
      case .topicSuffix(let type), .topicEnding(let type), .pushType(let type?): type.name.span
      default: ("" as StaticString).span
      }
    }
  }

  /// The code, a colon, and the message: what is wrong, and how to correct it.
  ///
  /// Placeholders: `%f` the number found, `%s` the s of its plural, `%l` the limit, `%k` the key.
  @inline(never)
  fileprivate var codeAndWords: StaticString {
    switch self {
    case .json: "json: "
    case .subscription: "subscription: "
    case .notAnObject: "not-an-object: expected '{': a notification is a JSON object"
    case .nothing:
      "nothing: there is no notification: did the program that wrote the file fail, or is the disk full?"
    case .objectTooLarge:
      "object-too-large: the notification is larger than %l bytes: make its texts shorter, or put its tokens into a recipients file"
    case .unknownKey(nearest: nil):
      "unknown-key: unknown key: put data for the app into payload"
    case .unknownKey: "unknown-key: unknown key; did you mean %k?"
    case .textOutside:
      "text-outside: there is no key %k here: write {\"aps\": {\"alert\": \"TEXT\"}}, or \"payload\": {\"aps\": {\"alert\": \"TEXT\"}} in a notification"
    case .duplicateKey: "duplicate-key: duplicate key: remove one"
    case .missingPayload:
      "missing-payload: no payload: add \"payload\": {\"aps\": {\"alert\": \"...\"}}"
    case .missingRecipient:
      "missing-recipient: no recipient: add \"token\": \"HEX DIGITS\", \"tokens\": [\"...\", \"...\"], or \"to\": \"NAME\" of a recipients file"
    case .payloadNotObject:
      "payload-not-object: the payload must be an object: {\"aps\": {\"alert\": \"...\"}}"
    case .apsOutside:
      "aps-outside: aps belongs inside the payload: {\"token\": \"...\", \"payload\": {\"aps\": {\"alert\": \"...\"}}}"
    case .missingAps:
      "missing-aps: the payload has no aps: add \"aps\": {\"alert\": \"...\"} to it"
    case .apsNotObject: "aps-not-object: aps must be an object: {\"alert\": \"...\"}"
    case .apsIsEmpty:
      "aps-empty: aps is empty: give it an alert, a badge, a sound or content-available"
    case .apsTooMany:
      "aps-too-many: more than %l keys that the service does not know: move them into an object of your own"
    case .alert: "alert: alert must be a string, or an object with title and body"
    case .badge: "badge: badge must be a number without quotes; 0 removes it"
    case .contentAvailable:
      "content-available: content-available must be 1, or left out"
    case .notString(.sound):
      "not-string: %k must be a string: \"default\", or the name of a file in the app"
    case .notString(.category):
      "not-string: %k must be a string: the name of a set of actions in the app"
    case .notString, .mustBeString: "not-string: %k must be a string: put it in double quotes"
    case .notStringOrNull:
      "not-string-or-null: %k must be a string, or null: put it in double quotes"
    case .notStrings: "not-strings: %k must be an array of strings: put numbers in quotes"
    case .notStringsOrNull:
      "not-strings-or-null: %k must be an array of strings, or null: put numbers in quotes"
    case .notObject: "not-object: %k must be an object"
    case .date: "date: %k must be UNIX seconds, without quotes"
    case .sound:
      "sound: sound must be a string, \"default\" or the name of a file in the app, or for a critical alert {\"critical\": 1, \"name\": \"default\", \"volume\": 1}"
    case .critical: "critical: critical must be 1 or 0"
    case .volume: "volume: volume must be a number from 0 to 1, without quotes"
    case .mutableContent: "mutable-content: mutable-content must be 1, or left out"
    case .interruptionLevel:
      "interruption-level: interruption-level must be \"passive\", \"active\", \"time-sensitive\" or \"critical\""
    case .relevanceScore:
      "relevance-score: relevance-score must be a number from 0 to 1, without quotes (for a live activity, any number)"
    case .event: "event: event must be \"start\", \"update\" or \"end\""
    case .payloadTooLarge:
      "payload-too-large: the payload has %f bytes without white space; the limit is %l (payload-limit): shorten the alert, add \"trim\": true (send: --trim), or let the app fetch the rest"
    case .trimTooLarge:
      "trim-too-large: the payload has %f bytes without white space; the limit is %l (payload-limit), and trim would remove the whole text of the alert: let the app fetch the rest"
    case .tokenNotString:
      "token-not-string: a device token must be a string of hex digits"
    case .tokenSize:
      "token-size: a device token has an even number of hex digits, from 2 to 200; this one has %f character%s"
    case .tokenSizeOfBinary:
      "token-size: over the binary protocol a device token has 64 hex digits; this one has %f character%s: only protocol = http2 can send to it"
    case .tokenNotHex:
      "token-not-hex: a device token is written in hex digits (0-9, a-f) or in base64"
    case .tokenTwice: "token-and-tokens: give either token or tokens, not both"
    case .tokensNotArray:
      "tokens-not-array: tokens must be an array: [\"HEX DIGITS\", ...]"
    case .tokensEmpty: "tokens-empty: tokens is empty: add a device token"
    case .to: "to: to must be the name of a recipients file, or an array of such names"
    case .toEmpty: "to-empty: to is empty: add the name of a recipients file"
    case .listName:
      "list-name: not the name of a recipients file: use letters, digits and . _ - + @, no dot at the start, at most 64 characters"
    case .tooManyLists:
      "too-many-lists: more than %l recipients files: merge some of them"
    case .listIsToken:
      "list-is-token: this is a device token: give it as token, or in tokens"
    case .listMissing:
      "list-missing: no recipients file has this name: tinypush recipient add NAME RECIPIENT creates it"
    case .listMissingDefault:
      "list-missing: a payload without recipients goes to the recipients file default, which does not exist: tinypush recipient add default RECIPIENT creates it"
    case .listEmpty:
      "list-empty: this recipients file has no recipient: add one with tinypush recipient add NAME RECIPIENT"
    case .priority:
      "priority: priority must be 10 (at once) or 5 (when it saves the device's power)"
    case .priorityOne:
      "priority: priority 1 is for protocol = http2: with protocol = binary it must be 10 (at once) or 5 (when it saves the device's power)"
    case .priorityOfHTTP2:
      "priority: priority must be 10 (at once), 5 (when it saves the device's power) or 1 (without waking the device)"
    case .prioritySilent:
      "priority-silent: with only content-available, priority must be 5, or 1 over HTTP/2: the service refuses 10 when nothing is shown or heard"
    case .expiration:
      "expiration: expiration must be UNIX seconds, 0 to 4294967295 (0: do not store)"
    case .expirationPast:
      "expiration-past: expiration must be a date in UNIX seconds, and this one is long past: for seconds from now, use ttl"
    case .ttl: "ttl: ttl must be whole seconds, 0 to 4294967295 (0: do not store)"
    case .expirationAndTtl: "expiration-and-ttl: give either expiration or ttl, not both"
    case .notBefore: "not-before: not-before must be UNIX seconds, 0 to 4294967295"
    case .notBeforePast:
      "not-before-past: not-before must be a date in UNIX seconds, and this one is long past: add the present time"
    case .registered:
      "registered: registered must be the UNIX seconds at which the app last registered the token"
    case .collapseID:
      "collapse-id: collapse-id must have 1 to %l bytes; this one has %f"
    case .collapseIDCharacters:
      "collapse-id-characters: collapse-id must have no control characters, and no space at its start or end"
    case .topic:
      "topic: topic must be the bundle ID of the app: 1 to %l visible ASCII characters, without spaces and escapes"
    case .topicSuffix:
      "topic-suffix: a topic with this ending is for push-type %k: set this push type, or give only the bundle ID"
    case .identifier:
      "id: id must be a UUID, such as 123e4567-e89b-42d3-a456-426614174000"
    case .pushType(nearest: nil):
      "push-type: unknown push type: use alert, background, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk, widgets or controls"
    case .pushType: "push-type: unknown push type; did you mean %k?"
    case .pushTypeAlert:
      "push-type-alert: with only content-available nothing is shown or heard: push-type must be background, or left out"
    case .pushTypeBackground:
      "push-type-background: a background push has content-available in aps, and no alert, badge or sound: correct aps, or leave push-type out"
    case .liveActivity:
      "live-activity: a live activity needs timestamp, event and content-state in aps (to end it, content-state may be missing)"
    case .liveActivityStart:
      "live-activity-start: to start a live activity, aps needs attributes-type and attributes as well"
    case .trim: "trim: trim must be true or false, without quotes"
    case .urgent: "urgent: urgent must be true or false, without quotes"
    case .againAfter:
      "again-after: again-after must be a whole number of seconds, such as 1800 for half an hour"
    case .localized:
      "localized: localized must be an object: {\"fr\": \"...\", \"en\": {\"title\": \"...\", \"body\": \"...\"}}"
    case .localizedEmpty:
      "localized-empty: localized is empty: give it an alert, or leave it out"
    case .localizedLanguage:
      "localized-language: not a language: write it as \"fr\" or \"fr-CA\""
    case .localizedNoDefault:
      "localized-no-default: localized has no alert in the default language (default-language), and aps has no alert: add one of them"
    case .failedNotObject:
      "failed-not-object: failed must be an object that the agent wrote: remove it"
    case .onlyBody:
      "only-body: an alert with only a body can be a plain string, which saves %f bytes"
    case .whiteSpace:
      "white-space: %f byte%s of white space in the payload, not sent"
    case .longEscapes:
      "long-escapes: unnecessary escapes: the characters themselves, in UTF-8, save %f byte%s"
    case .strangeKey:
      "strange-key: the service does not know this key; did you mean %k?"
    case .belongsInAlert:
      "belongs-in-alert: the service knows %k only inside alert: write {\"alert\": {\"%k\": ...}}"
    case .belongsInAps:
      "belongs-in-aps: the service knows %k only in aps, beside alert"
    case .belongsOutside:
      "belongs-outside: here %k is data for the app: to set %k for the delivery, write {\"%k\": ..., \"payload\": {\"aps\": ...}}"
    case .showsNothing:
      "shows-nothing: nothing is shown or heard: give aps an alert with a text, a badge or a sound, or only content-available for a background push"
    case .soundName:
      "sound-name: devices know \"default\" and files of the app whose names end in .caf, .aiff or .wav"
    case .argumentsWithoutKey:
      "arguments-without-key: %k is not used: the alert lacks the key of the text that it completes"
    case .priorityNotSent:
      "priority-not-sent: frames of format 0 and 1 have no priority: the gateway delivers at once"
    case .badgeNotWhole:
      "badge-not-whole: a badge should be a whole number, 0 or more: devices may show a different number"
    case .topicEnding:
      "topic-ending: a topic with this ending is usually for push-type %k: set this push type, unless your bundle ID has this ending"
    case .listUnreadable:
      "list-unreadable: this user may not read the recipients file of this name: it is unknown whether the agent may"
    case .listsElsewhere:
      "lists-elsewhere: there is no directory of recipients files here: the recipients were not checked"
    }
  }
}

extension JSONProblem {
  /// A stable word for the problem, as in ``Finding/appendCode(to:)``.
  fileprivate var code: StaticString {
    switch self {
    case .unexpectedEnd: "unexpected-end"
    case .expectedValue: "expected-value"
    case .expectedKey: "expected-key"
    case .expectedColon: "expected-colon"
    case .expectedCommaOrBrace, .expectedCommaOrBracket: "missing-comma"
    case .trailingComma: "trailing-comma"
    case .invalidNumber: "invalid-number"
    case .invalidEscape: "invalid-escape"
    case .loneSurrogate: "lone-surrogate"
    case .invalidUTF8: "invalid-utf-8"
    case .controlCharacter: "control-character"
    case .tooDeep: "too-deep"
    case .byteOrderMark: "byte-order-mark"
    }
  }
}
