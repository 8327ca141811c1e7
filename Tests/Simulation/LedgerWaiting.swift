import TinyPush

/// The contents of a recipients file from an instant on: its tokens' numbers, and its errors.
struct List {
  var members: Set<Int> = []
  var problems = 0
  var since = Instant(milliseconds: 0)
}

/// Checks recipients files, notifications that wait, and replacements.
extension Ledger {
  struct Waiting {
    /// Items by serial number.
    var items: [Int: [Item]] = [:]
    /// Items by collapse ID and recipients.
    var keyed: [String: [Item]] = [:]
    /// All contents that each recipients file ever had, by name.
    var lists: [String: [List]] = [:]
    /// The numbers that each decided item went to, by identity.
    var settled: [Int: [Int]] = [:]
    /// The files that were put, by number.
    var files: [Int: SpoolFile] = [:]
    /// The items that were replaced, by identity.
    var replaced: [Int: Item] = [:]
    /// The notifications that a connection had before they went to `later/`.
    var leftLarge: Set<Int> = []
    /// The items whose part that had come back from `later/` may have been replaced, by identity.
    var replacedParts: Set<Int> = []
    /// Removed items, with the agent of that time and its count of superseded notifications.
    ///
    /// Text that was read of a file that was then moved to `failed/` is still delivered.
    var forgotten: [Int: (life: Int, superseded: UInt64, isSetAside: Bool)] = [:]
  }

  // MARK: - Recipients files

  /// Notes new contents of a recipients file; notifications to it may be sent again.
  func changed(_ name: String, _ list: List) {
    var list = list
    list.since = timeline.now
    waiting.lists[name, default: []].append(list)
    if waiting.lists[name]!.count > 1 {
      isUneventful = false
      life.isListChanged = true
    }
    for file in disk.waiting where file.items.contains(where: { $0.list == name }) {
      reopen(file)
    }
  }

  /// Returns the list's contents while an item was in the spool.
  private func versions(_ item: Item) -> ArraySlice<List> {
    let all = waiting.lists[item.list!] ?? []
    // Appended items go to the list as it was when the agent began to read the file.
    let openedAt = disk.waiting.first { $0.holds(item) && $0.reader.life == lives }?.openedAt
    let since = min(openedAt ?? item.putAt, item.putAt)
    guard let last = all.lastIndex(where: { $0.since <= since }) else {
      return [List(problems: 1)] + all
    }
    // Of changes at the same instant, it is unknown which one the agent saw.
    let first = all.firstIndex { $0.since == since }.map { max($0 - 1, 0) } ?? last
    return all[first...]
  }

  func isDecidedForAll(_ item: Item, in file: SpoolFile) -> Bool {
    let versions = versions(item)
    let isRecorded = file.lines.contains {
      $0.isDurable && $0.failure.number == nil
        && $0.failure.serial == World.serial(of: item.number!)
    }
    if isRecorded, hasSlept {
      isUneventful = false
      return true
    }
    guard versions.contains(where: { $0.problems == 0 }) || isRecorded || file.isOriginalKept
    else { return false }
    return numbers(of: item).allSatisfy { number in
      isDecided(number, item, in: file) || disk.holdsMember(number, besides: file)
        || isGone(item.member(number % World.tokensMax))
    }
  }

  /// Whether an item was settled or replaced, or its file was removed.
  func isGone(_ item: Item) -> Bool {
    waiting.settled[item.identity] != nil || waiting.replaced[item.identity] != nil
      || waiting.forgotten[item.identity] != nil || waiting.forgotten[item.whole.identity] != nil
  }

  /// Returns the numbers that the item must go to.
  private func numbers(of item: Item) -> [Int] {
    guard item.list != nil else { return [item.number!] }
    let versions = versions(item)
    let members = versions.dropFirst().reduce(versions.first!.members) {
      $0.intersection($1.members)
    }
    return members.map { item.number! + $0 }
  }

  /// Returns how many notifications the item counts for.
  func count(_ item: Item) -> Int {
    guard item.list != nil else { return 1 }
    let list = versions(item).last!
    return list.members.count + list.problems
  }

  /// Checks a failure without a recipient: its recipients file must have an error.
  func checkList(_ failure: Failure) {
    guard let items = waiting.items[failure.serial] else { return }
    if !items.contains(where: { item in
      item.list.map { failure.reason.contains("recipients file \($0)") } ?? false
        && (versions(item).contains { $0.problems > 0 } || hasSlept)
    }) {
      complain("nothing was wrong with the recipients of \(failure.serial): \(failure.reason)")
    }
  }

  /// Whether the machine slept: a recipients file may have had a lease for as long.
  private var hasSlept: Bool { sleptUntil.milliseconds > 0 }

  // MARK: - Sending

  /// Checks a notification that is about to be written.
  func checkWaiting(_ number: Int) {
    guard let items = waiting.items[World.serial(of: number)] else {
      // Its file is not complete yet.
      if World.serial(of: number) > serialMax { complain("\(number) never was in the spool") }
      return
    }
    let token = number % World.tokensMax
    guard
      let item = items.first(where: { item in
        item.number == number
          || item.list != nil && versions(item).contains { $0.members.contains(token) }
      })
    else { return complain("\(number) never was in the spool") }
    if item.notBefore > 0, timeline.latestWall(since: item.putAt) ?? 0 < item.notBefore {
      complain("\(number) is sent, and must wait until \(item.notBefore)")
    }
    guard let key = item.collapseKey, !disk.hadPowerCut, !life.framed.contains(number),
      !(putsOff && taken.contains(number)), !isRepeatable(number),
      let file = disk.waiting.filter({ $0.holds(item) }).min(by: { $0.openedAt < $1.openedAt })
    else { return }
    for other in disk.later.values where !other.isExcused && other.waitsSince < file.openedAt {
      // If two notifications of one file have both come from later/, neither replaces the other
      // (lanes seed 91015143).
      if file.wasReleased, other.waitsAgain, item.file == other.items.first?.file { continue }
      if let first = other.items.first(where: {
        $0.collapseKey == key && comes($0, before: item) == true
      }) {
        complain(
          "\(number) is sent, and \(first.number!), which it replaces, still waits in later/")
      }
    }
  }

  /// Checks that a notification is not sent before its service wants it again.
  func checkPatience(_ number: Int, until: Instant?, at now: Instant) {
    guard let until, now < until, places[number, default: 1] == 1, !isRepeatable(number),
      // If it waited in `later/`, a clock that is set forward ends that (lanes seed 1353).
      !putsOff || suppressing.isClockSteady
    else { return }
    complain("\(number) is sent \(now.until(until).milliseconds) ms too early")
  }

  // MARK: - Waiting

  /// Notes that a notification to one recipient is about to go to `later/`.
  ///
  /// With several lanes, a link may have had it before, and the agent does not know that when it
  /// comes back. Of one that is in the spool several times, another copy may be the one that passed
  /// the limits (lanes seed 987).
  func waits(_ number: Int) {
    // What the service gave back fills all places that the link has, or keeps a large file, as does a
    // notification at which connections end. What waits at a stop would let the next agent repeat
    // what is settled behind it.
    let wasFramed = life.framed.remove(number) != nil
    if isStopping || isAnswering && taken.contains(number) { putsOff = true }
    if wasFramed { waiting.leftLarge.insert(number) }
    guard putsOff, wasFramed else { return }
    if places[number, default: 1] == 1, !isRepeatable(number) {
      life.limiting.seen.remove(number)
    }
  }

  func postponed(_ file: SpoolFile?, _ isPostponed: Bool) {
    if isPostponed {
      life.postponed += 1
      file?.wasPostponed = true
    } else if let file {
      reopen(file)
    }
  }

  /// Checks a release: what was put aside later and replaces it must not wait.
  func released(_ file: SpoolFile) {
    // What has come back may replace another notification to that recipient alone.
    for item in file.items {
      if let key = item.keyOfPart { waiting.keyed[key, default: []].append(item) }
    }
    guard !file.isExcused, !disk.hadPowerCut, let item = file.items.first,
      let key = item.collapseKey
    else { return }
    for other in disk.later.values where other.waitsSince > file.waitsSince {
      // A link had the newer one before, or a part of it for another recipient. The rest went to
      // later/ behind the older one, and comes after it (scattered seed 110152447).
      let serials = Set(other.items.map { World.serial(of: $0.number ?? 0) })
      if putsOff, taken.contains(where: { serials.contains(World.serial(of: $0)) }) { continue }
      // If two notifications of one file have both come from later/, neither replaces the other
      // (lanes seed 91003924).
      if other.waitsAgain, item.file == other.items.first?.file { continue }
      if let last = other.items.first(where: {
        $0.collapseKey == key && comes(item, before: $0) == true
      }) {
        complain("\(item.number!) is released, and \(last.number!), which replaces it, still waits")
      }
    }
  }

  /// Checks that an item that a power cut tore, and that the agent removed, is still in its file.
  func removedTorn(_ file: SpoolFile, _ name: String) {
    for item in file.items where !isSettled(item, in: file) {
      // The whole notification is read again, or its recipients file is gone (lanes seed 110332387).
      if item.isMember, isGone(item.whole) || disk.holds(item.whole) { continue }
      complain("\(item.number!) is torn in \(name), and is in no other file")
    }
  }

  /// Checks that a removed file was replaced.
  func cancelled(_ file: SpoolFile) {
    life.superseded += 1
    for item in file.items {
      // The item was put aside twice, before and after somebody appended to its file.
      if disk.later.values.contains(where: { $0.holds(item) }) { continue }
      // The notification to the recipients file is read again.
      if item.isMember, disk.waiting.contains(where: { $0.holds(item.whole) }) { continue }
      if isReplaced(item, in: file) || disk.holds(item) || World.serial(of: item.number ?? 0) == 0 {
        continue
      }
      complain("\(item.number!) was removed from later/, and nothing replaces it")
    }
  }

  // MARK: - Replacements

  /// Notes that somebody removed a file.
  ///
  /// Its items may have replaced others before.
  func forget(_ file: SpoolFile) {
    for item in file.items where item.number != nil {
      waiting.forgotten[item.identity] = (lives, life.counters.superseded, file.isSetAside)
    }
    // The rest of the file would have replaced notifications that wait.
    for other in disk.later.values where file.isSetAside && other.comes(from: file) {
      other.isExcused = true
    }
    reopen(file)
  }

  /// Whether an item does not need its file any more: it is decided, or was moved or replaced.
  func isSettled(_ item: Item, in file: SpoolFile) -> Bool {
    if isDecided(item, in: file) {
      if item.number != nil { waiting.settled[item.identity] = numbers(of: item) }
      // An item that must not be sent for two reasons may count under either. So may an item that
      // arrived, if its answer was lost (http2 seed 110251424).
      if item.collapseKey != nil,
        mayExpire(item, in: file) || item.list != nil
          || item.number.map({
            isSuppressed($0, item)
              || life.outcomes[$0] == nil && (putsOff || gateway.acceptances[$0] != nil)
          }) ?? false
      {
        isUneventful = false
      }
      return true
    }
    if disk.holds(item, besides: file) || isGone(item) {
      if file.wasReleased, replaceable(item, in: file) != nil {
        waiting.replacedParts.insert(item.identity)
      }
      return true
    }
    guard isReplaced(item, in: file) else {
      return waiting.replacedParts.contains(item.identity)
    }
    // Only some of the recipients may be left. Nobody looks up those of a list, so that a notification
    // to lists alone counts once.
    let items = waiting.items[World.serial(of: item.number!)] ?? [item]
    let isOnlyToLists = items.allSatisfy { $0.list != nil }
    if item.list == nil || isOnlyToLists && items[0].identity == item.identity {
      life.superseded += 1
    }
    return true
  }

  /// Whether an item came before another one; nil: the agent may take either for the older one.
  ///
  /// Of the same notification to two recipients, neither came before the other.
  private func comes(_ item: Item, before other: Item) -> Bool? {
    let serial = World.serial(of: item.number ?? 0)
    if serial > 0, serial == World.serial(of: other.number ?? 0) { return false }
    // When an item that was appended to a file came, the agent knows only roughly.
    let (until, otherUntil) = (lastChange(of: item), lastChange(of: other))
    let hasGrown = until != item.putAt || otherUntil != other.putAt
    if item.file == other.file, suppressing.isClockSteady || !hasGrown {
      return item.identity < other.identity
    }
    guard suppressing.isClockSteady else { return nil }
    if until < other.putAt { return true }
    if otherUntil < item.putAt { return false }
    guard !hasGrown else { return nil }
    return (item.source, item.identity) < (other.source, other.identity)
  }

  /// Returns when something was last written to the file of an item.
  private func lastChange(of item: Item) -> Instant {
    max(waiting.files[item.file]?.cameAt ?? item.putAt, item.putAt)
  }

  private func isReplaced(_ item: Item, in file: SpoolFile) -> Bool {
    guard let replaced = replaceable(item, in: file) else { return false }
    waiting.replaced[item.identity] = replaced
    return true
  }

  /// Returns an item as it is in a file, if a newer notification may have replaced it there.
  private func replaceable(_ item: Item, in file: SpoolFile) -> Item? {
    var item = item
    item.hasWaited = file.wasReleased
    return rivals(of: item).contains { comes(item, before: $0) != false && mayReplace($0, file) }
      ? item : nil
  }

  /// Returns the items with the same `collapse-id` and the same recipients.
  ///
  /// What has come back from `later/` is a notification to one recipient.
  private func rivals(of item: Item) -> [Item] {
    guard let key = item.collapseKey else { return [] }
    return waiting.keyed[key, default: []]
      + (item.hasWaited ? waiting.keyed[item.keyOfPart!, default: []] : [])
  }

  private func mayReplace(_ item: Item, _ file: SpoolFile) -> Bool {
    if file.holds(item) || disk.holds(item) { return true }
    // Answers come in any order, so the replacement may have been settled before.
    if waiting.settled[item.identity] != nil || waiting.replaced[item.identity] != nil {
      return true
    }
    // What was read of a file arrives, though the file is gone.
    if let number = item.number, gateway.acceptances[number] != nil { return true }
    // A power cut tore the replacement in `later/`, and the file that it came from could not be read
    // again: all of it is in `failed/`.
    if disk.setAside.values.contains(where: { $0.holds(item) }),
      disk.later.values.contains(where: { $0.isTorn && $0.holds(item) })
    {
      return true
    }
    if let forgotten = waiting.forgotten[item.identity] {
      // Its part in later/ stays, though a sync failed and a power cut might not spare it (scattered
      // seed 1091).
      if disk.later.values.contains(where: { $0.holds(item) }) { return true }
      if file.waitsSince > Instant(milliseconds: 0) || forgotten.isSetAside {
        return forgotten.life == lives
      }
      return file.reader.life == forgotten.life && file.reader.superseded < forgotten.superseded
    }
    return false
  }

  /// Checks after the faults that replacements arrived after what they replaced was put.
  func checkReplaced() {
    for item in waiting.replaced.values {
      // The item was put aside twice and was sent in the end, or its file was removed.
      if waiting.settled[item.identity] != nil || waiting.forgotten[item.identity] != nil {
        continue
      }
      let hasArrived = rivals(of: item).contains { other in
        guard comes(item, before: other) != false else { return false }
        if waiting.forgotten[other.identity] != nil || mayExpire(other) { return true }
        return waiting.settled[other.identity]?.allSatisfy { number in
          guard let at = gateway.acceptedAt[number] else { return true }
          return at >= item.putAt || dropped.contains(number) || lateLosses.contains(number)
            || isSuppressed(number, other) || suppressing.goneNumbers.contains(number)
        } ?? false
      }
      if !hasArrived { complain("\(item.number!) was replaced, and its replacement never arrived") }
    }
  }
}
