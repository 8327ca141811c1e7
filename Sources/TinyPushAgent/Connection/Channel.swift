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

extension PerLane<Channel> {
  /// The address of the service of a lane, valid as long as the channel.
  func gateway(of lane: Lane) -> UnsafePointer<CChar> { self[lane].gateway.pointer }
}
