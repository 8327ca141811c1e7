import TinyPush

/// The channel of the selected lane, and what all channels have to do.
extension Agent {
  /// The lane of the present step or event.
  var lane: Lane { link.lane }

  var connection: TLSConnection {
    _read { yield channels[lane].connection }
    nonmutating _modify { yield &channels[lane].connection }
  }

  var aside: TLSConnection {
    _read { yield channels[lane].aside }
    nonmutating _modify { yield &channels[lane].aside }
  }

  var connectionState: ConnectionState {
    get { channels[lane].state }
    nonmutating _modify { yield &channels[lane].state }
  }

  var outage: Outage {
    get { channels[lane].outage }
    nonmutating _modify { yield &channels[lane].outage }
  }

  /// The address of the service of devices, valid as long as its channel.
  var gateway: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(channels.gateway(of: .devices)) }
  }

  /// The address of the selected service, valid as long as its channel.
  var service: Span<UInt8> {
    @_lifetime(immortal) get { CString.span(channels.gateway(of: lane)) }
  }

  /// Makes a channel for the service to which the selected link leads, unless there is one.
  mutating func prepareChannel() {
    guard lane != .devices else { return }
    let authority = link.authority
    if channels.has(lane), service.equals(authority) { return }
    channels.set(lane, Channel(to: authority, port: "443", .browsers, config))
  }

  /// Ends the connections to hosts that have lost their lanes: the new links know nothing of them.
  mutating func endReassigned() {
    let selected = lane
    while let reassigned = link.takeReassigned() {
      link.select(reassigned)
      output.page.assign(reassigned, to: link.authority)
      guard channels.has(reassigned) else { continue }
      connection.hangUp(epoll: events.epoll, closeNotify: true)
      aside.hangUp(epoll: events.epoll, closeNotify: true)
      connectionState = ConnectionState()
    }
    link.select(selected)
  }

  /// Calls `body` for each lane with a channel, which is selected meanwhile.
  mutating func forEachChannel(_ body: (inout Agent) -> Void) {
    let selected = lane
    for number in 0..<link.lanes where channels.has(Lane(number)) {
      link.select(Lane(number))
      body(&self)
    }
    link.select(selected)
  }

  /// Why the first service without a connection has none, valid until the next attempt.
  ///
  /// Empty: no attempt has failed.
  var connectionProblem: Span<UInt8> {
    @_lifetime(immortal) get {
      guard
        let lane = firstLane({ $0.connection.phase != .up && $0.connection.problem.count > 0 })
      else { return Span() }
      return problem(of: lane)
    }
  }

  /// Why a service has no connection; empty: it has one, or no attempt has failed.
  @inline(never)
  @_lifetime(immortal)
  func problem(of lane: Lane) -> Span<UInt8> {
    guard channels.has(lane), channels[lane].connection.phase != .up else { return Span() }
    return channels[lane].connection.problem.unsafeBytes
  }

  /// Whether bytes of any connection are unread.
  var isAnyUnread: Bool {
    firstLane { $0.state.isUnread } != nil
  }

  /// Whether the last connection of any lane failed because of our certificate or key.
  var isAnyConfigBroken: Bool {
    firstLane { $0.state.isConfigBroken } != nil
  }

  /// Returns the first lane with a channel for which `isMeant` returns true; nil if absent.
  func firstLane(_ isMeant: (borrowing Channel) -> Bool) -> Lane? {
    for number in 0..<link.lanes where channels.has(Lane(number)) {
      if isMeant(channels[Lane(number)]) { return Lane(number) }
    }
    return nil
  }

  /// Whether the service manager is told about the selected lane: that of devices, if devices are
  /// served.
  var isTold: Bool { lane == .devices || !config.courier.hasDevices }

  /// Publishes the state of the connection of the selected lane.
  ///
  /// - Parameter start: where the words for a service of browsers begin. If its name follows, with a
  ///   port or not, it is left out, since the status page has it.
  @inline(never)
  func publish(
    _ connectivity: StatusPage.Connectivity, _ words: Span<UInt8>, from start: Int = 0
  ) {
    var start = lane == .devices ? 0 : start
    if lane != .devices, words.extracting(start..<words.count).begins(with: service) {
      start += service.count
      while start < words.count, UInt8.space...UInt8.colon ~= words[start] { start += 1 }
    }
    output.page.change(lane, connectivity, words: words.extracting(start..<words.count))
    if isTold { output.tell(connectivity, words) }
  }

  /// Publishes that no connection is needed now, if only browsers are served.
  func publishRest() {
    let words = ("ready to connect to the push services of browsers" as StaticString).span
    output.page.change(.devices, .up, words: words)
    output.tell(.up, words)
  }

  /// Publishes that the courier ended a connection, with the last report about it.
  func publishDown() {
    let why = channels[lane].whyDown.unsafeBytes
    publish(.down, why.count > 0 ? why : service)
    if lane != .devices, isTold, !courier.wantsConnection(in: lane) { publishRest() }
  }
}
