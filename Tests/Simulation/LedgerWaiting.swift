import TinyPush

/// What a recipients file held, from when on: the numbers of its tokens, and in how many places something is wrong with it.
struct List {
  var members: Set<Int> = []
  var problems = 0
  var since = Instant(milliseconds: 0)
}

/// What the ledger makes of recipients files, of what waits for its time, and of what replaces what.
extension Ledger {
  struct Waiting {
    /// By serial number, and by what they replace each other.
    var items: [Int: [Item]] = [:]
    var keyed: [String: [Item]] = [:]
    /// All that each recipients file has ever held, by name.
    var lists: [String: [List]] = [:]
    /// Of notifications that are decided of themselves, what numbers they went to.
    var settled: [Int: [Int]] = [:]
    /// Those of which nothing more is to come, since another one replaces them.
    var replaced: [Int: Item] = [:]
    /// What somebody removed: in which agent's time, which had counted so many as superseded by then.
    var forgotten: [Int: (life: Int, superseded: UInt64)] = [:]
  }

  // MARK: - Recipients files

  /// A recipients file is another one from now on; what goes to it may go again.
  func changed(_ name: String, _ list: List) {
    var list = list
    list.since = timeline.now
    waiting.lists[name, default: []].append(list)
    if waiting.lists[name]!.count > 1 {
      isUneventful = false
      life.isListChanged = true
    }
    for file in disk.new.values where file.items.contains(where: { $0.list == name }) {
      reopen(file)
    }
  }

  /// What a list was while an item was in the spool.
  private func versions(_ item: Item) -> ArraySlice<List> {
    let all = waiting.lists[item.list!] ?? []
    // To what was appended to a file under way goes the list as it was when the file was begun.
    let openedAt = disk.new.values.first { $0.holds(item) && $0.reader.life == lives }?.openedAt
    let since = min(openedAt ?? item.putAt, item.putAt)
    guard let last = all.lastIndex(where: { $0.since <= since }) else {
      return [List(problems: 1)] + all
    }
    // Of what was changed at the same instant, nobody knows which of it was seen.
    let first = all.firstIndex { $0.since == since }.map { max($0 - 1, 0) } ?? last
    return all[first...]
  }

  func isDecidedForAll(_ item: Item, in file: SpoolFile) -> Bool {
    let versions = versions(item)
    guard
      versions.contains(where: { $0.problems == 0 })
        || file.lines.contains(where: {
          $0.isDurable && $0.failure.number == nil
            && $0.failure.serial == World.serial(of: item.number!)
        })
    else { return false }
    return numbers(of: item).allSatisfy { isDecided($0, item, in: file) }
  }

  /// To whom it must go.
  private func numbers(of item: Item) -> [Int] {
    guard item.list != nil else { return [item.number!] }
    let versions = versions(item)
    let members = versions.dropFirst().reduce(versions.first!.members) {
      $0.intersection($1.members)
    }
    return members.map { item.number! + $0 }
  }

  /// For how many notifications it counts.
  func count(_ item: Item) -> Int {
    guard item.list != nil else { return 1 }
    let list = versions(item).last!
    return list.members.count + list.problems
  }

  /// A failure names a notification, and no recipient: something must be wrong with its recipients file.
  func checkList(_ failure: Failure) {
    guard let items = waiting.items[failure.serial] else { return }
    if !items.contains(where: { item in
      item.list.map { failure.reason.contains("recipients file \($0)") } ?? false
        && versions(item).contains { $0.problems > 0 }
    }) {
      complain("nothing was wrong with the recipients of \(failure.serial): \(failure.reason)")
    }
  }

  // MARK: - What is sent

  /// A notification is about to be written.
  func checkWaiting(_ number: Int) {
    guard let items = waiting.items[World.serial(of: number)] else {
      // Its file is not all there yet.
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
      complain("\(number) goes, and may not before \(item.notBefore)")
    }
    guard let key = item.collapseKey, !life.framed.contains(number), !isLoose(number),
      let openedAt = disk.new.values.filter({ $0.holds(item) }).map(\.openedAt).min()
    else { return }
    for other in disk.later.values where !other.isExcused && other.waitsSince < openedAt {
      if let first = other.items.first(where: { $0.collapseKey == key && $0.isBefore(item) }) {
        complain("\(number) goes, and \(first.number!), which it replaces, still waits in later/")
      }
    }
  }

  // MARK: - What waits for its time

  func postponed(_ file: SpoolFile?, _ isPostponed: Bool) {
    if isPostponed {
      life.postponed += 1
      file?.wasPostponed = true
    } else if let file {
      reopen(file)
      life.held.insert(file.inode)
    }
  }

  /// What is in the same file as what was put aside later, and goes before it, is replaced.
  func released(_ file: SpoolFile) {
    guard !file.isExcused, let item = file.items.first, let key = item.collapseKey else { return }
    for other in disk.later.values where other.waitsSince > file.waitsSince {
      if let last = other.items.first(where: { $0.collapseKey == key && item.isBefore($0) }) {
        complain("\(item.number!) comes back, and \(last.number!), which replaces it, waits")
      }
    }
  }

  /// The agent has removed what a power cut has torn: where it came from it is still.
  func removedTorn(_ file: SpoolFile, _ name: String) {
    for item in file.items where !isSettled(item, in: file) {
      complain("\(item.number!) is torn in \(name), and nowhere else")
    }
  }

  /// The agent has removed what another one replaces.
  func cancelled(_ file: SpoolFile) {
    life.superseded += 1
    for item in file.items {
      // It was put aside twice, before and after its file was written on.
      if disk.later.values.contains(where: { $0.holds(item) }) { continue }
      if isReplaced(item, in: file) || disk.holds(item) || World.serial(of: item.number ?? 0) == 0 {
        continue
      }
      complain("\(item.number!) was removed from later/, and nothing replaces it")
    }
  }

  // MARK: - What replaces what

  /// Somebody removed a file: what was replaced by what it held has been, if that was before.
  func forget(_ file: SpoolFile) {
    for item in file.items where item.number != nil {
      waiting.forgotten[item.identity] = (lives, life.counters.superseded)
    }
    reopen(file)
  }

  /// Whether an item needs its file no more: it is decided, or is or was somewhere else.
  func isSettled(_ item: Item, in file: SpoolFile) -> Bool {
    if isDecided(item, in: file) {
      if item.number != nil { waiting.settled[item.identity] = numbers(of: item) }
      // What is not to be sent for another reason as well may count as superseded, or by that.
      if item.collapseKey != nil,
        mayExpire(item) || item.list != nil || item.number.map({ isSuppressed($0, item) }) ?? false
      {
        isUneventful = false
      }
      return true
    }
    if disk.holds(item, besides: file) || waiting.settled[item.identity] != nil
      || waiting.replaced[item.identity] != nil || waiting.forgotten[item.identity] != nil
    {
      return true
    }
    guard isReplaced(item, in: file) else { return false }
    // The recipients of a list are not counted: they are not looked up.
    let items = waiting.items[World.serial(of: item.number!)] ?? [item]
    if items[0].identity == item.identity {
      life.superseded += UInt64(max(items.count { $0.list == nil }, 1))
    }
    return true
  }

  private func isReplaced(_ item: Item, in file: SpoolFile) -> Bool {
    guard let key = item.collapseKey,
      waiting.keyed[key]!.contains(where: { item.isBefore($0) && mayReplace($0, file) })
    else { return false }
    waiting.replaced[item.identity] = item
    return true
  }

  private func mayReplace(_ item: Item, _ file: SpoolFile) -> Bool {
    if file.holds(item) || disk.holds(item) { return true }
    // With answers in any order, what replaces it may have gone before.
    if waiting.settled[item.identity] != nil || waiting.replaced[item.identity] != nil {
      return true
    }
    if let forgotten = waiting.forgotten[item.identity] {
      if file.waitsSince > Instant(milliseconds: 0) { return forgotten.life == lives }
      return file.reader.life == forgotten.life && file.reader.superseded < forgotten.superseded
    }
    return false
  }

  /// In the end the last one of those that replace each other has come to where it was to go, after the others were put.
  func checkReplaced() {
    for item in waiting.replaced.values {
      // It was put aside twice, and went by itself in the end.
      if waiting.settled[item.identity] != nil { continue }
      let isPaid = waiting.keyed[item.collapseKey!]!.contains { other in
        guard item.isBefore(other) else { return false }
        if waiting.forgotten[other.identity] != nil || mayExpire(other) { return true }
        return waiting.settled[other.identity]?.allSatisfy { number in
          guard let at = gateway.acceptedAt[number] else { return true }
          return at >= item.putAt || dropped.contains(number) || lateLosses.contains(number)
            || isSuppressed(number, other)
        } ?? false
      }
      if !isPaid { complain("\(item.number!) was replaced, and nothing came of what replaces it") }
    }
  }
}
