/// Offering a notification to the device tokens of its recipients files.
extension Courier {
  /// Reads on in the recipients files of a notification, after its own device tokens.
  @inline(never)
  mutating func readLists<L: Link & ~Copyable>(
    _ notification: Notification, _ text: UInt16, of file: FileNumber, _ link: inout L
  ) -> Progression {
    while reader.cursor.list < UInt32(notification.lists) {
      if reader.recipientsText != text || reader.recipientsList != reader.cursor.list {
        beginList(notification, text)
      }
      switch reader.recipientsReader.next(for: settings.rules.service) {
      case .more:
        name.set { reader.recipientsReader.appendName(to: &$0) }
        return .wants(.readRecipients)
      case .recipient(let recipient):
        if !recipient.subscription.isEmpty {
          let text = reader.recipientsReader.subscription(of: recipient)
          address.clear()
          do throws(Subscription.Problem) {
            try Subscription(text).append(of: text, to: &address)
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

  /// How long a file waits that a program has leased, or whose recipients file.
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
    let word = address.unsafeBytes
    do throws(Subscription.Problem) {
      let authority = word.extracting(try Subscription(word).authority)
      if let lane = origins.lane(of: authority) { return (lane, nil) }
      if let lane = origins.assign(authority, where: { outbox.count(of: $0) == 0 }) {
        assign(lane, to: authority, &link)
        return (lane, nil)
      }
      if let stuck = longestStuckLane(of: link.lanes) {
        outbox.postponeAll(in: stuck)
        _ = origins.assign(authority) { $0 == stuck }
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
    laneCounts[lane.index] = LaneCounts()
    paces[lane.index] = LanePace()
    link.select(lane)
    link.assign(to: authority)
  }

  /// The lane of browsers that has settled nothing for longest, if any is stuck.
  private func longestStuckLane(of lanes: Int) -> Lane? {
    var longest: Lane?
    for number in 1..<lanes where isStuck(Lane(number)) {
      if longest.map({ paces[number].stuckAt < paces[$0.index].stuckAt }) ?? true {
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
