/// Offering a notification to its own recipients, and to those of its recipients files.
extension Courier {
  /// Reads on in the recipients of the notification that was read last.
  @_optimize(speed)
  mutating func readRecipients<L: Link & ~Copyable>(
    of file: FileNumber, _ link: inout L
  ) -> Progression {
    let notification = reader.notification
    let text = reader.cursor.text
    // If the clock was set back since, a notification that has messages is sent all the same.
    if outbox[text: text].isUntouched, outbox[text: text].messages == 0, isEarly(notification) {
      outbox.touch(text)
      postponeWhole(notification, text)
      return .goOn
    }
    while reader.cursor.recipient < UInt32(notification.tokens) {
      let start = reader.cursor.recipientEnd
      let digits =
        start == 0
        ? notification.firstToken
        : notification.nextString(after: start, in: outbox.text(text))
      if let recipient = RecipientsFile.Recipient(
        printed: outbox.text(text).extracting(digits), address: &reader.address)
      {
        if let progression = add(notification, text, recipient, &link) { return progression }
      }
      reader.cursor.recipientEnd = digits.upperBound
      reader.cursor.recipient += 1
      if recorder.isPending { return .goOn }
    }
    return readLists(notification, text, of: file, &link)
  }

  /// Finds the place again at which the recipients of a notification were left.
  mutating func resumeRecipients() {
    let text = reader.cursor.text
    guard !reader.hasNotification, let notification = notification(text) else { return }
    reader.notification = notification
    if notification.lists > reader.cursor.list { beginList(notification, text) }
  }

  /// Parses a text of the outbox again.
  mutating func notification(_ text: UInt16) -> Notification? {
    var reading = NotificationReader()
    let result = reading.next(
      in: outbox.text(text), isWhole: true, settings.rules, &reader.findings)
    guard case .notification(let notification) = result else { return nil }
    return notification
  }

  /// Ends the reading of a notification's recipients.
  @_optimize(speed)
  mutating func endRecipients() {
    reader.cursor.waitsSince = nil
    reader.recipientsText = Outbox.none
    outbox.endReading(reader.cursor.text)
    reader.cursor.text = Outbox.none
    reader.forgetNotification()
  }

  /// Adds a message to a recipient, and offers the message to the link if nothing waits before it.
  ///
  /// Returns nil if the next recipient may follow.
  @_optimize(speed)
  mutating func add<L: Link & ~Copyable>(
    _ notification: Notification, _ text: UInt16, _ recipient: RecipientsFile.Recipient,
    _ link: inout L
  ) -> Progression? {
    guard recipient.subscription.isEmpty ? outbox.hasRoom : outbox.hasRoomForBrowser else {
      noteFull(link)
      return .stop
    }
    let file = outbox[text: text].file
    let isReadAtOnce = isFirstPart && reader.cursor.recipient < UInt32(notification.tokens)
    if reader.turn >= FileReader.turnMax, !isReadAtOnce,
      isOthersTurn || !mayReadOn(file, &link)
    {
      return .stop
    }
    let (lane, refusal) = lane(of: recipient, &link)
    var subscription = Outbox.none
    if !recipient.subscription.isEmpty {
      let entry = outbox[text: text]
      guard let number = outbox.add(subscription: reader.address.unsafeBytes, of: entry) else {
        noteFull(link)
        return .stop
      }
      subscription = number
    }
    reader.turn += 1
    if outbox.count(of: lane) == 0 { lanes.paces[lane.index].begin(at: time.now) }
    let rendition = Rendition(
      notification, for: recipient.language, in: outbox.text(text), settings.rules)
    let isFirst = outbox.nextToSend(in: lane) == nil
    let isHigh = notification.isUrgent || notification.priority == 10
    let message = outbox.add(
      to: recipient, text: text, subscription: subscription, payloadBytes: rendition.bytes,
      in: isHigh ? .high : .low, lane)
    files[file].open += 1
    files[file].lane = lane
    if let refusal {
      if case .rejected(let rejection) = refusal { counters.recordRejection(rejection) }
      outbox.touch(text)
      decide(message, refusal)
    } else if isFirst {
      link.select(lane)
      _ = offer(message, notification, rendition, &link)
    }
    return nil
  }

  // MARK: - Recipients files

  /// Reads on in the recipients files of a notification, after its own device tokens.
  @inline(never)
  mutating func readLists<L: Link & ~Copyable>(
    _ notification: Notification, _ text: UInt16, of file: FileNumber, _ link: inout L
  ) -> Progression {
    while reader.cursor.list < UInt32(notification.lists) {
      if reader.recipientsText != text || reader.recipientsList != reader.cursor.list {
        beginList(notification, text)
      }
      switch reader.recipientsReader.next(for: settings.rules.pushProtocol) {
      case .more:
        name.set { reader.recipientsReader.appendName(to: &$0) }
        return .wants(.readRecipients)
      case .recipient(let recipient):
        if !recipient.subscription.isEmpty {
          let text = reader.recipientsReader.subscription(of: recipient)
          reader.address.clear()
          do throws(Subscription.Problem) {
            try Subscription(text).append(of: text, to: &reader.address)
          } catch {}
        }
        if let progression = add(notification, text, recipient, &link) { return progression }
        reader.recipientsReader.pass()
        if recorder.isPending { return .goOn }
      case .wrong(.unreadable(.busy)) where !isLeaseTooOld:
        reader.cursor.leasedSince = reader.cursor.leasedSince ?? time.now
        wait(until: time.now + Self.waitForRest)
        reader.recipientsReader.forget()
        reader.recipientsText = Outbox.none
        return .goOn
      case .wrong(let problem):
        guard reader.turn < FileReader.turnMax || !isOthersTurn else { return .stop }
        reader.turn += 1
        record(problem, notification, text, of: file)
        reader.recipientsReader.pass()
        return .goOn
      case .end:
        reader.cursor.list += 1
        reader.cursor.listPlace = RecipientsReader.Place()
      }
    }
    endRecipients()
    return .goOn
  }

  /// How long a file waits while a program has a lease on the file or on its recipients file.
  static let leasePatience = Duration.seconds(60)

  private var isLeaseTooOld: Bool {
    reader.cursor.leasedSince.map { $0 + Self.leasePatience <= time.now } ?? false
  }

  /// Begins to read the notification's present recipients file, or goes on in it.
  mutating func beginList(_ notification: Notification, _ text: UInt16) {
    let isFresh = reader.recipientsFile == reader.file
    reader.recipientsFile = reader.file
    reader.recipientsText = text
    reader.recipientsList = reader.cursor.list
    guard !notification.isForDefault else {
      return reader.recipientsReader.begin(
        Notification.defaultList.span, at: reader.cursor.listPlace, isFresh: isFresh)
    }
    var name = notification.firstList
    for _ in 0..<reader.cursor.list {
      name = notification.nextString(after: name.upperBound, in: outbox.text(text))
    }
    reader.recipientsReader.begin(
      outbox.text(text).extracting(name), at: reader.cursor.listPlace, isFresh: isFresh)
  }

  // MARK: - Lanes

  /// Returns the lane of a recipient, and the outcome of a message that no lane takes.
  ///
  /// - Parameter recipient: if it is a browser, ``address`` is its subscription.
  @inline(never)
  mutating func lane<L: Link & ~Copyable>(
    of recipient: RecipientsFile.Recipient, _ link: inout L
  ) -> (Lane, Settlement.Outcome?) {
    guard !recipient.subscription.isEmpty else {
      return (.devices, settings.hasDevices ? nil : .rejected(Rejection(.noDeviceService)))
    }
    guard settings.hasWebPush else { return (.devices, .rejected(Rejection(.noWebPush))) }
    let word = reader.address.unsafeBytes
    do throws(Subscription.Problem) {
      let authority = word.extracting(try Subscription(word).authority)
      if let lane = lanes.origins.lane(of: authority) { return (lane, nil) }
      if let lane = lanes.origins.assign(authority, where: { outbox.count(of: $0) == 0 }) {
        assign(lane, to: authority, &link)
        return (lane, nil)
      }
      if let stuck = longestStuckLane(of: link.lanes) {
        outbox.postponeAll(in: stuck)
        _ = lanes.origins.assign(authority) { $0 == stuck }
        assign(stuck, to: authority, &link)
        return (stuck, nil)
      }
    } catch {}
    // All lanes are in use, and a lane is free in a moment.
    return (.devices, .postponed)
  }

  private mutating func assign<L: Link & ~Copyable>(
    _ lane: Lane, to authority: Span<UInt8>, _ link: inout L
  ) {
    lanes.counts[lane.index] = LaneCounts()
    lanes.paces[lane.index] = LanePace()
    link.select(lane)
    link.assign(to: authority)
  }

  /// The lane of browsers that has settled nothing for longest, if any is stuck.
  private func longestStuckLane(of count: Int) -> Lane? {
    var longest: Lane?
    for number in 1..<count where isStuck(Lane(number)) {
      if longest.map({ lanes.paces[number].stuckAt < lanes.paces[$0.index].stuckAt }) ?? true {
        longest = Lane(number)
      }
    }
    return longest
  }

  // MARK: - Results of steps

  /// Where in the recipients file to read from.
  public var recipientsOffset: Int64 { reader.recipientsReader.readOffset }

  /// Where to put the bytes read.
  public var recipientsRoom: UnsafeMutableBufferPointer<UInt8> { reader.recipientsReader.room }

  /// Handles the result of reading the recipients file.
  public mutating func readRecipients(_ result: RecipientsResult) {
    switch result {
    case .text(let bytes, let isWhole, let identity):
      reader.cursor.leasedSince = nil
      reader.recipientsReader.filled(identity, bytes: bytes, isWhole: isWhole)
    case .failed(.shortage):
      reader.pause(at: time.now)
      endTurn()
    case .failed(let failure): reader.recipientsReader.failed(failure)
    }
  }
}
