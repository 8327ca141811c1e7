import TinyPush
import TinyPushBinary

/// What a test script can do to the world.
extension World {
  var accepted: [Int] { gateway.pushes.map(\.number) }
  var inFlight: Int { courier.inFlight }
  /// The names of the files in `new/` and `taken/`, as they were put.
  var waiting: [String] { disk.waiting.map(\.name).sorted() }
  /// The numbers of the notifications that are recorded in `failed/`.
  var recorded: [Int] { disk.failures.compactMap(\.number) }
  var forbidsLoss: Bool {
    get { ledger.forbidsLoss }
    set { ledger.forbidsLoss = newValue }
  }

  // MARK: - Files

  /// Puts a file with one notification on each line.
  func put(_ name: String, _ numbers: Int..., tells: Bool = true) {
    put(
      name, text: numbers.map { World.notification($0) }.joined(separator: "\n") + "\n",
      numbers: numbers, tells: tells)
  }

  /// Puts a file with any text, new or in place of another; with `tells`, inotify reports it.
  func put(_ name: String, text: String, numbers: [Int] = [], tells: Bool = true) {
    put(name, text, items: numbers.map { Item(number: $0) }, tells: tells)
  }

  func put(_ name: String, _ text: String, items: [Item], tells: Bool) {
    trace.say("  put \(name): \(items.map(\.number))")
    disk.put(name, text.bytes, items: ledger.put(items, into: name))
    disk.new[name]!.number = ledger.filesPut
    disk.new[name]!.itemsPut = items.count
    ledger.waiting.files[ledger.filesPut] = disk.new[name]
    if tells { notices.append(.ended(name)) }
  }

  /// Appends to a file and closes it.
  func append(_ name: String, text: String, numbers: [Int] = []) {
    append(name, text, items: numbers.map { Item(number: $0) }, tells: true)
  }

  func append(_ name: String, _ text: String, items: [Item], tells: Bool) {
    guard let file = disk.waiting.last(where: { $0.name == name }) else { return }
    append(to: file, text, items: items, tells: tells)
  }

  /// Appends to a file that a program has open.
  func append(to file: SpoolFile, _ text: String, items: [Item], tells: Bool) {
    disk.append(file, text.bytes, items: ledger.append(items, to: file))
    if file.wasOpened {
      ledger.reopen(file)
      // A power cut can undo the taking. What comes into new/ once more has another identity.
      for item in file.items {
        if let number = item.number { ledger.movable.insert(World.serial(of: number)) }
      }
    }
    if tells { notices.append(disk.new[file.name] === file ? .ended(file.name) : .changed(file)) }
  }

  func delete(_ name: String) {
    trace.say("  delete \(name)")
    disk.delete(name)
  }

  /// Puts a file with one notification that has a `collapse-id`.
  func put(_ name: String, _ number: Int, collapsing id: String, with members: String = "") {
    let text = World.notification(number, with: #", "collapse-id": "\#(id)""# + members)
    put(name, text, items: [Item(number: number, collapseKey: "\(id) \(number)")], tells: true)
  }

  /// Puts a recipients file with these lines.
  func putList(_ name: String, _ lines: String...) { putList(name, lines, nil) }

  func putList(_ name: String, _ lines: [String], _ failure: OpenFailure?) {
    listInode += 1
    let list = SpoolFile((lines.joined(separator: "\n") + "\n").bytes, inode: listInode, items: [])
    list.failure = failure
    disk.lists[name] = list
    for line in lines { ledger.registers(line) }
  }

  func makeUnreadable(_ name: String, _ failure: OpenFailure?) {
    disk.waiting.last { $0.name == name }?.failure = failure
  }

  /// The factor of serial numbers, which distinguish notifications to the same token.
  static let tokensMax = 1_000_000

  /// The serial number that stands for summaries, which have none.
  static let serialOfSummaries = 99_000_000

  /// Tokens that fill the suppression list and that nothing is sent to.
  static let fillers = 500_000..<900_000

  static func number(_ token: Int, serial: Int) -> Int { serial * tokensMax + token }
  static func serial(of number: Int) -> Int { number / tokensMax }

  /// Returns the serial number in a notification's text: `"n":SERIAL`.
  static func serial(in text: String) -> Int {
    if text.utf8.rest(behind: " more alert") != nil { return serialOfSummaries }
    let digits = text.utf8.rest(behind: "\"n\":")?.prefix { $0 >= 0x30 && $0 <= 0x39 } ?? []
    return Int(String(decoding: digits, as: UTF8.self)) ?? 0
  }

  /// Whether tokens have several lengths, which only HTTP/2 has.
  @TaskLocal static var hasSeveralLengths = false
  private static let lengths = [32, 80, 54, 100, 32, 4, 40]

  /// Returns the number of digits of a token.
  static func digitCount(_ number: Int) -> Int {
    hasSeveralLengths ? 2 * lengths[number % lengths.count] : 64
  }

  /// Returns a token that ends with the number, or a subscription.
  static func token(_ number: Int) -> String {
    if isBrowser(number) { return subscription(number) }
    let digits = String(number % tokensMax, radix: 16)
    return String(repeating: "0", count: digitCount(number % tokensMax) - digits.count) + digits
  }

  static func notification(_ numbers: Int..., alert: String = "Tank low", with members: String = "")
    -> String
  {
    let tokens = numbers.map { #""\#(token($0))""# }.joined(separator: ", ")
    let to = numbers.count == 1 ? #""token": \#(tokens)"# : #""tokens": [\#(tokens)]"#
    return #"{\#(to), "payload": {"aps": {"alert": "\#(alert)"}}\#(members)}"#
  }

  // MARK: - Events

  func after(_ milliseconds: UInt64, _ act: @escaping () -> Void) {
    timeline.plan(after: milliseconds, act)
  }

  /// Lets the gateway send bytes now, unprovoked.
  func say(_ bytes: [UInt8], closes: Bool = true) {
    if let connection { gateway.answer(connection, bytes, closes: closes) }
  }

  func cut() {
    if let connection { gateway.vanish(connection) }
  }

  /// Ends the connection now, without delivering what is on its way.
  func cutAtOnce(byPeer: Bool = true) { connection?.abort(byPeer: byPeer) }

  /// Replaces the agent by a new one, which has what is on disk.
  ///
  /// Bytes on the wire may still arrive.
  func restart(once: Bool? = nil, _ change: (inout Courier.Settings) -> Void = { _ in }) {
    hangUp()
    dialed = nil
    notices = []
    isFinished = false
    lastWord = .wait
    lives += 1
    if let once { settings.isOnce = once }
    change(&settings)
    courier = Courier(settings)
    link = BinaryLink(settings, binary, seed: UInt64(lives + 1))
    scattered = scattered?.restarted()
    lanes = lanes?.restarted()
    if let other = http2.take() { http2 = other.restarted(seed: UInt64(lives + 1)) }
    held = nil
    ledger.restarted(settings)
    noticeSuppression()
  }
}
