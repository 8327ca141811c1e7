import TinyPush

/// What the agent has for each link: its connections, and what it knows of them.
struct Channel: ~Copyable {
  var connection: TLSConnection
  /// A connection that was set aside: the agent only reads the remaining answers from it.
  var aside: TLSConnection
  var state = ConnectionState()
  var outage = Outage()
  /// The last report about the current connection; empty if there was none.
  var whyDown = Text(capacity: 256)
  /// The address of the service.
  let gateway: CString

  /// Prepares the connections to an address.
  ///
  /// - Parameters:
  ///   - port: the default port.
  ///   - peer: whom the connections lead to.
  init(
    to address: Span<UInt8>, port: StaticString, _ peer: TLSConnection.Peer,
    _ config: borrowing Config
  ) {
    connection = TLSConnection(address: address, port: port, config, peer)
    aside = TLSConnection(address: address, port: port, config, peer)
    gateway = CString(address)
  }

  deinit {}

  /// Makes the connection the one that is set aside.
  mutating func setAside() { swap(&connection, &aside) }
}

/// The channels of all lanes.
struct Channels: ~Copyable {
  private let places = UnsafeMutablePointer<Channel>.allocate(capacity: Lane.count)
  private var isMade: InlineArray<9, Bool> = .init(repeating: false)

  init() {}

  deinit {
    for number in 0..<Lane.count where isMade[number] {
      (places + number).deinitialize(count: 1)
    }
    places.deallocate()
  }

  func has(_ lane: Lane) -> Bool { isMade[lane.index] }

  /// Sets the channel of a lane, in place of a former one.
  mutating func set(_ lane: Lane, _ channel: consuming Channel) {
    if isMade[lane.index] { (places + lane.index).deinitialize(count: 1) }
    isMade[lane.index] = true
    (places + lane.index).initialize(to: channel)
  }

  /// The address of the service of a lane, valid as long as the channel.
  func gateway(of lane: Lane) -> UnsafePointer<CChar> { places[lane.index].gateway.pointer }

  subscript(lane: Lane) -> Channel {
    _read {
      precondition(isMade[lane.index])
      yield places[lane.index]
    }
    nonmutating _modify {
      precondition(isMade[lane.index])
      yield &places[lane.index]
    }
  }
}
