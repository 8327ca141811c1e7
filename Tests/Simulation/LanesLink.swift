import TinyPush

/// A link for devices and links for the services of browsers, each to another host.
///
/// A link to a host connects only while something waits for that host.
struct LanesLink: Link {
  /// What a service does for some time.
  enum Mood {
    /// The service answers each notification as ``Trial`` or a script decides.
    case well
    /// Nobody can connect.
    case down
    /// The service answers nothing.
    case silent
    /// The service takes nothing, and says when to try again.
    case busy
  }

  /// A lane, and what it leads to.
  private struct Place {
    var link: ScatteredLink
    /// The host; nil: the lane leads nowhere.
    var host: String?
    /// When the connection is up; nil: it is not wanted, or cannot be made.
    var upAt: Instant?
  }

  private let ledger: Ledger
  private let makeLink: () -> ScatteredLink
  private let mood: (_ host: String) -> Mood
  private var places: [Place]
  private var selected = Lane.devices
  private var now = Instant(milliseconds: 0)
  /// What links that were given away have counted.
  private var traffic = LinkTraffic()

  /// The host of the lane of devices.
  static let devices = "devices"
  /// How long a link to a service that is down waits before it connects again.
  private static let retry = Duration.seconds(20)

  init(
    _ ledger: Ledger, _ gateway: Gateway, limit: Int, mood: @escaping (_ host: String) -> Mood,
    respond: @escaping (_ token: Int) -> (ScatteredLink.Response, after: UInt64)
  ) {
    self.ledger = ledger
    self.mood = mood
    makeLink = {
      ScatteredLink(ledger, gateway, limit: limit) { token in
        switch mood(World.host(token)) {
        case .well: respond(token)
        case .down: (.cut(0), after: 1)
        case .silent: (.cut(1000), after: 30_000)
        case .busy: (.giveBack(60_000), after: 40)
        }
      }
    }
    places = (0..<Lane.count).map { [makeLink] _ in Place(link: makeLink()) }
    places[0].host = Self.devices
  }

  /// Returns the next agent's link.
  func restarted() -> LanesLink {
    for place in places { _ = place.link.restarted() }
    var next = self
    next.places = places.map { _ in Place(link: makeLink()) }
    next.places[0].host = Self.devices
    next.selected = .devices
    return next
  }

  // MARK: - Lanes

  var lanes: Int { Lane.count }

  mutating func select(_ lane: Lane) { selected = lane }

  mutating func assign(to authority: Span<UInt8>) {
    let host = String(authority)
    ledger.say("  lane \(selected.index) to \(host)")
    if selected == .devices { ledger.complain("the lane of devices is given to \(host)") }
    if places.contains(where: { $0.host == host }) {
      ledger.complain("\(host) gets a second lane")
    }
    _ = place.link.restarted()
    traffic.add(place.link.takeTraffic())
    place = Place(link: makeLink(), host: host)
  }

  private var place: Place {
    get { places[selected.index] }
    set { places[selected.index] = newValue }
  }

  // MARK: - Notifications

  var isOpen: Bool { place.upAt.map { $0 <= now } ?? false && place.link.isOpen }

  func obstacle(payloadBytes: Int) -> Obstacle? {
    isOpen ? place.link.obstacle(payloadBytes: payloadBytes) : .closed
  }

  mutating func take(
    _ message: borrowing Message, in text: Span<UInt8>, to subscription: Span<UInt8>
  ) {
    let token = World.number(message.token)
    let address = String(subscription)
    if place.host != World.host(token) {
      ledger.complain("\(token) goes to \(place.host ?? "nowhere")")
    }
    if address != (World.isBrowser(token) ? World.token(token) : "") {
      ledger.complain("\(token) goes to the subscription \(address)")
    }
    if obstacle(payloadBytes: 0) != nil { ledger.complain("\(token) is taken by a closed link") }
    place.link.take(message, in: text, to: subscription)
  }

  mutating func takeOutcome() -> (message: MessageNumber, outcome: LinkOutcome)? {
    for index in places.indices {
      if let outcome = places[index].link.takeOutcome() { return outcome }
    }
    return nil
  }

  mutating func resetPoisonSearch() {}

  // MARK: - Work

  mutating func advance(to time: Time, isStopping: Bool) -> Courier.Step? {
    now = time.now
    return place.link.advance(to: time, isStopping: isStopping)
  }

  mutating func nextStep(_ supply: Supply) -> Courier.Step? {
    if supply.obstacle == .closed, isOpen {
      ledger.complain("the open link to \(place.host ?? "nowhere") counts as closed")
    }
    guard let host = place.host, supply.wantsConnection || place.link.isBusy else {
      place.upAt = nil
      return nil
    }
    if mood(host) == .down {
      if place.upAt.map({ $0 <= now }) ?? true { place.upAt = now + Self.retry }
    } else if place.upAt == nil {
      place.upAt = now + .milliseconds(5)
    }
    return nil
  }

  var deadline: Instant? {
    (places.compactMap(\.link.deadline) + places.compactMap(\.upAt).filter { $0 > now }).min()
  }

  // MARK: - State

  var isBusy: Bool { places.contains { $0.link.isBusy } }

  func forEachBuffer(_ body: (UnsafeMutableRawBufferPointer) -> Void) {}

  mutating func takeTraffic() -> LinkTraffic {
    var sum = traffic
    traffic = LinkTraffic()
    for index in places.indices { sum.add(places[index].link.takeTraffic()) }
    return sum
  }

  mutating func takeReport() -> Report? { nil }
}

/// The numbers of tokens that stand for subscriptions of browsers.
extension World {
  /// Whether some tokens are subscriptions.
  @TaskLocal static var hasBrowsers = false

  /// The number of hosts, which is larger than that of lanes.
  static let hosts = 12

  static func isBrowser(_ number: Int) -> Bool {
    hasBrowsers && number % tokensMax % 3 != 0
  }

  /// The first of the thousand tokens that belong to a recipients file.
  static func firstMember(of list: String) -> Int { 900_000 + 1000 * Int(list.utf8.first! - 0x61) }

  /// The host of the service for a token.
  static func host(_ number: Int) -> String {
    isBrowser(number) ? "h\(number % tokensMax / 2 % hosts).example" : LanesLink.devices
  }

  /// The endpoint of a subscription.
  static func endpoint(_ number: Int) -> String {
    "https://\(host(number))/\(number % tokensMax)"
  }

  /// A subscription as one word.
  static func subscription(_ number: Int) -> String {
    "\(endpoint(number))#B\(String(repeating: "A", count: 86)).\(String(repeating: "A", count: 22))"
  }

  /// The number in a token as it is printed in a line of `failed/` or `later/`.
  static func number(printed token: String) -> Int? {
    guard token.hasPrefix("https://") else { return Int(token, radix: 16) }
    let number = token.split(separator: "#")[0].split(separator: "/").last.flatMap { Int($0) }
    return number.flatMap { World.subscription($0) == token ? $0 : nil }
  }
}
