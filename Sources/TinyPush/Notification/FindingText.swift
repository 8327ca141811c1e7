extension Finding {
  /// What is wrong, and how to mend it; or what is wasted.
  public func describe(in text: inout Text) {
    switch reason {
    case .json(let problem): text.append(problem.text)
    case .notAnObject: text.append("expected '{': a notification is a JSON object")
    case .objectTooLarge:
      text.append("the notification is larger than ")
      text.append(limit)
      text.append(" bytes: give its tokens in several notifications, or in a recipients file")
    case .unknownKey(let nearest):
      text.append("no such key")
      if let nearest {
        text.append(": did you mean ")
        text.append(nearest.name)
        text.append("?")
      } else {
        text.append(" of a notification: what is meant for the app belongs into payload")
      }
    case .duplicateKey: text.append("this key stands here twice: remove one")
    case .missingPayload:
      text.append("no payload: add \"payload\": {\"aps\": {\"alert\": \"…\"}}")
    case .missingRecipient:
      text.append(
        "no recipient: add \"token\": \"64 hex digits\", \"tokens\": [\"…\", \"…\"], or \"to\": \"NAME\" of a recipients file"
      )
    case .payloadNotObject:
      text.append("the payload must be an object: {\"aps\": {\"alert\": \"…\"}}")
    case .apsOutside:
      text.append(
        "aps belongs into the payload: {\"token\": \"…\", \"payload\": {\"aps\": {\"alert\": \"…\"}}}"
      )
    case .missingAps: text.append("the payload has no aps: add \"aps\": {\"alert\": \"…\"} to it")
    case .apsNotObject: text.append("aps must be an object: {\"alert\": \"…\"}")
    case .apsIsEmpty:
      text.append("aps is empty: give it an alert, a badge, a sound or content-available")
    case .apsTooMany:
      text.append("more than ")
      text.append(limit)
      text.append(" keys that the service does not know: put them into an object of your own")
    case .alert: text.append("alert must be a string, or an object with title and body")
    case .badge: text.append("badge must be a number without quotes; 0 removes it")
    case .contentAvailable: text.append("content-available must be 1, or left out")
    case .notString(let key):
      text.append(key.name)
      text.append(" must be a string")
      switch key {
      case .sound: text.append(": \"default\", or the name of a file in the app")
      case .category: text.append(": the name of a set of actions in the app")
      default: break
      }
    case .notStringOrNull(let key):
      text.append(key.name)
      text.append(" must be a string, or null")
    case .notStrings(let key):
      text.append(key.name)
      text.append(" must be an array of strings: put numbers in quotes")
    case .notStringsOrNull(let key):
      text.append(key.name)
      text.append(" must be an array of strings, or null: put numbers in quotes")
    case .payloadTooLarge:
      text.append("the payload has ")
      text.append(found)
      text.append(" bytes without white space, and at most ")
      text.append(limit)
      text.append(
        " may be sent (payload-limit): shorten the alert, add \"trim\": true, or let the app fetch the rest"
      )
    case .trimTooLarge:
      text.append("the payload has ")
      text.append(found)
      text.append(" bytes without white space, at most ")
      text.append(limit)
      text.append(
        " may be sent (payload-limit), and trim would leave nothing of the alert's text: let the app fetch the rest"
      )
    case .tokenNotString: text.append("a device token must be a string of 64 hex digits")
    case .tokenSize:
      text.append("a device token has 64 hex digits, and this one has ")
      text.append(found)
      text.append(" characters")
    case .tokenNotHex:
      text.append("a device token has only the digits 0-9 and a-f, without spaces or <>")
    case .tokenTwice: text.append("give either token or tokens, not both")
    case .tokensNotArray: text.append("tokens must be an array: [\"64 hex digits\", …]")
    case .tokensEmpty: text.append("tokens is empty: there is nobody to send it to")
    case .to:
      text.append("to must be the name of a recipients file, or an array of such names")
    case .toEmpty: text.append("to is empty: there is nobody to send it to")
    case .listName:
      text.append(
        "not the name of a recipients file: letters, digits, and . _ - + @ inside, at most 64 in all"
      )
    case .listIsToken: text.append("this is a device token: give it as token, or in tokens")
    case .priority:
      text.append("priority must be 10 (at once) or 5 (when it saves the device's power)")
    case .prioritySilent:
      text.append(
        "with only content-available, priority must be 5: the gateway refuses 10 when nothing is shown or heard"
      )
    case .expiration:
      text.append("expiration must be UNIX seconds, 0 to 4294967295 (0: do not store)")
      appendMilliseconds(to: &text)
    case .expirationPast:
      text.append(
        "expiration is a date in UNIX seconds, and this one is long past: for a time from now use ttl"
      )
    case .ttl: text.append("ttl must be whole seconds, 0 to 4294967295 (0: do not store)")
    case .expirationAndTtl: text.append("give either expiration or ttl, not both")
    case .notBefore:
      text.append("not-before must be UNIX seconds, 0 to 4294967295")
      appendMilliseconds(to: &text)
    case .notBeforePast:
      text.append(
        "not-before is a date in UNIX seconds, and this one is long past: add the present time")
    case .registered:
      text.append("registered must be the UNIX seconds at which the app last registered the token")
      appendMilliseconds(to: &text)
    case .collapseID:
      text.append("collapse-id must have 1 to ")
      text.append(Envelope.collapseIDBytesMax)
      text.append(" bytes")
      if found > 0 {
        text.append(", and this one has ")
        text.append(found)
      }
    case .trim: text.append("trim must be true or false")
    case .localized:
      text.append(
        "localized must be an object: {\"fr\": \"…\", \"en\": {\"title\": \"…\", \"body\": \"…\"}}")
    case .localizedEmpty: text.append("localized is empty: give it an alert, or leave it out")
    case .localizedLanguage: text.append("not a language: write it as \"fr\" or \"fr-CA\"")
    case .localizedNoDefault:
      text.append(
        "no alert here is in the default language (default-language), and aps has none either: add one of them"
      )
    case .mustBeString(let key):
      text.append(key.name)
      text.append(" must be a string")
    case .onlyBody:
      text.append("an alert with only a body is better written as the string alone: it saves ")
      text.append(found)
      text.append(" bytes")
    case .whiteSpace:
      text.append(found)
      text.append(" bytes of white space in the payload, which are left out when it is sent")
    case .longEscapes:
      text.append("escapes where the characters themselves would do: written as UTF-8 they save ")
      text.append(found)
      text.append(found == 1 ? " byte" : " bytes")
    case .strangeKey(let nearest):
      text.append("the service does not know this key: did you mean ")
      text.append(nearest.name)
      text.append("?")
    case .badgeNotWhole:
      text.append("a badge is a whole number from 0 on: devices may show another one than this")
    }
  }

  private func appendMilliseconds(to text: inout Text) {
    guard found == 13 else { return }
    text.append("; these look like milliseconds: divide by 1000")
  }
}
