import CLinux
import CMicroHTTP
import TinyPush
import TinyPushAgent
import TinyPushWebhooks

/// The loop: accepts connections, and gives the requests to the inbox.
struct Server: ~Copyable {
  /// A connection without traffic, or without a whole head, is closed after this time, and each after
  /// the second one.
  private static var idleSeconds: UInt32 { 10 }
  private static var lifetimeSeconds: UInt32 { 60 }
  /// The most bytes of all bodies at a time.
  private static var bodiesMax: Int { 4 * Inbox.bodyBytesMax }

  private let listeners: Listeners
  private let inbox: UnsafeMutablePointer<Inbox>
  private let server: OpaquePointer
  private let signals: Int32
  private let idle: Duration
  private var polled: InlineArray<10, pollfd> = .init(repeating: pollfd())

  /// - Parameter idle: how long a service that systemd has started goes on without requests.
  init(_ listeners: consuming Listeners, _ inbox: consuming Inbox, idle: Duration) {
    self.listeners = listeners
    self.idle = idle
    self.inbox = .allocate(capacity: 1)
    self.inbox.initialize(to: inbox)
    signals = clinux_signal_descriptor(1)
    var settings = cmicrohttp_settings()
    settings.body_max = Inbox.bodyBytesMax
    settings.bodies_max = Self.bodiesMax
    settings.idle_seconds = Self.idleSeconds
    settings.lifetime_seconds = Self.lifetimeSeconds
    settings.user = UnsafeMutableRawPointer(self.inbox)
    settings.on_headers = { user, request in
      guard let user, let request else { return }
      user.assumingMemoryBound(to: Inbox.self).pointee.begin(Request(request))
    }
    settings.on_complete = { user, request in
      guard let user, let request else { return }
      user.assumingMemoryBound(to: Inbox.self).pointee.complete(Request(request))
    }
    guard let server = cmicrohttp_new(&settings) else { fatalError("out of memory") }
    self.server = server
  }

  deinit {
    cmicrohttp_free(server)
    inbox.deinitialize(count: 1)
    inbox.deallocate()
    close(signals)
  }

  /// Works until a signal, or until a service that systemd has started has nothing to do.
  mutating func run() -> ExitStatus {
    clinux_notify("READY=1")
    inbox.pointee.lastRequest = Clock.now()
    while true {
      inbox.pointee.log.catchUp()
      let connections = Int(cmicrohttp_connections(server))
      var wait = cmicrohttp_timeout_ms(server)
      if listeners.isPassed, connections == 0 {
        let rest = Clock.now().until(inbox.pointee.lastRequest + idle).milliseconds
        // A request that comes now waits at systemd's socket, and starts the service again.
        if rest == 0 { break }
        wait = Int32(clamping: rest)
      }
      if sleep(wait) { break }
      accept()
      // Requests that came together share a file and its sync.
      repeat { cmicrohttp_run(server) } while inbox.pointee.writeHeld()
    }
    inbox.pointee.logTotals()
    return .ok
  }

  /// Waits for something to do; returns whether a signal asks for the end.
  private mutating func sleep(_ timeoutMs: Int32) -> Bool {
    polled[0] = pollfd(fd: signals, events: Int16(POLLIN), revents: 0)
    polled[1] = pollfd(fd: cmicrohttp_descriptor(server), events: Int16(POLLIN), revents: 0)
    for index in 0..<listeners.count {
      // poll ignores a negative descriptor: further connections wait at the socket.
      polled[2 + index] = pollfd(
        fd: hasRoom(index) ? listeners[index] : -1, events: Int16(POLLIN), revents: 0)
    }
    let count = nfds_t(2 + listeners.count)
    var span = polled.mutableSpan
    let result = span.withUnsafeMutableBufferPointer { poll($0.baseAddress!, count, timeoutMs) }
    return result > 0 && polled[0].revents != 0
  }

  private func hasRoom(_ index: Int) -> Bool {
    cmicrohttp_room(server, listeners.isUNIX(index) ? 1 : 0) > 0
  }

  private func accept() {
    for index in 0..<listeners.count where polled[2 + index].revents != 0 {
      while hasRoom(index) {
        var port: UInt16 = 0
        let socket = clinux_accept(listeners[index], &port)
        guard socket >= 0 else { break }
        _ = cmicrohttp_add(server, socket)
      }
    }
  }
}
