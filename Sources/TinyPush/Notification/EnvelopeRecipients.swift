/// The members that name the recipients: `token`, `tokens` and `to`.
extension Envelope {
  mutating func readToken(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ findings: inout Findings
  ) throws(JSONProblem) {
    guard try scanner.peek(text) == .quote else {
      findings.add(Finding(.tokenNotString, at: scanner.index))
      try scanner.skipValue(text)
      return
    }
    let digits = try scanner.string(text)
    let printed = text.extracting(digits)
    if DeviceToken.isUsual(printed) {
      // The token is right for each protocol.
    } else if Subscription.isMeant(printed) {
      do throws(Subscription.Problem) { _ = try Subscription(printed) } catch {
        findings.add(Finding(.subscription(error), at: digits.lowerBound))
      }
    } else if let token = DeviceToken(printed: printed) {
      if !traits.isOfHTTP2, token.count != Rules.tokenBytesOfBinary {
        findings.add(Finding(.tokenSizeOfBinary, at: digits.lowerBound, found: 2 * token.count))
      }
    } else if let index = DeviceToken.firstNonDigit(printed),
      DeviceToken.isDigitCount(printed.count)
    {
      findings.add(Finding(.tokenNotHex, at: digits.lowerBound + index))
    } else {
      findings.add(Finding(.tokenSize, at: digits.lowerBound, found: digits.count))
    }
    if notification.tokens == 0 { notification.firstToken = digits }
    notification.tokens += 1
  }

  @inline(never)
  mutating func readTo(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ findings: inout Findings
  ) throws(JSONProblem) {
    let at = scanner.index
    switch try scanner.peek(text) {
    case .quote: try readListName(text, by: &scanner, &findings)
    case .openBracket:
      guard try scanner.openArray(text) else {
        findings.add(Finding(.toEmpty, at: at))
        return
      }
      repeat {
        if try scanner.peek(text) == .quote {
          try readListName(text, by: &scanner, &findings)
        } else {
          findings.add(Finding(.to, at: scanner.index))
          try scanner.skipValue(text)
        }
      } while try scanner.nextElement(text)
    default:
      findings.add(Finding(.to, at: at))
      try scanner.skipValue(text)
    }
  }

  @inline(never)
  private mutating func readListName(
    _ text: Span<UInt8>, by scanner: inout JSONScanner, _ findings: inout Findings
  ) throws(JSONProblem) {
    let at = scanner.index
    let range = try scanner.string(text)
    let name = text.extracting(range)
    if !RecipientsFile.isName(name) {
      let isToken = name.count >= RecipientsFile.tokenDigitsMin && DeviceToken(hex: name) != nil
      findings.add(Finding(isToken ? .listIsToken : .listName, at: at))
    }
    if notification.lists == 0 { notification.firstList = range }
    if notification.lists == Self.listsMax {
      findings.add(Finding(.tooManyLists, at: at, limit: Self.listsMax))
    }
    notification.lists += 1
  }
}
