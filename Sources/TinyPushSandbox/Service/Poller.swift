import CLinux
import TinyPush

/// An epoll set, and the events of one wait.
struct Poller: ~Copyable {
  private static let eventsMax = 64

  private let epoll: Int32
  private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: eventsMax)

  /// Creates an epoll set; nil: the system has no descriptor left.
  init?() {
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { return nil }
  }

  deinit {
    events.deallocate()
    close(epoll)
  }

  func add(_ descriptor: Int32, _ interest: UInt32) {
    _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, descriptor, interest)
  }

  func change(_ descriptor: Int32, _ interest: UInt32) {
    _ = clinux_epoll_set(epoll, EPOLL_CTL_MOD, descriptor, interest)
  }

  func remove(_ descriptor: Int32) {
    _ = clinux_epoll_set(epoll, EPOLL_CTL_DEL, descriptor, 0)
  }

  /// Waits for at most `ms` milliseconds, -1 for no limit; returns how many descriptors are ready.
  func wait(ms: Int32) -> Int {
    let count = epoll_wait(epoll, events, Int32(Self.eventsMax), ms)
    return count > 0 ? Int(count) : 0
  }

  /// Returns the descriptor of the event at `index`.
  func descriptor(_ index: Int) -> Int32 { clinux_epoll_descriptor(events + index) }
}
