import CLinux

/// What the agent sleeps in: an epoll, and in it the signals and the clock. Others add their descriptors to it.
struct EventPoll: ~Copyable {
  let epoll: Int32
  private let signals: Int32
  /// Wakes the agent when the wall clock is set, so that what waits for its time is looked at anew.
  private let clock: Int32
  private var events: InlineArray<8, epoll_event>

  enum Source {
    case signals
    /// The wall clock was set, or the kernel says so.
    case clock
    case descriptor(Int32, isWritable: Bool)
  }

  init() {
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    signals = clinux_signal_descriptor()
    clock = clinux_clock_descriptor()
    events = .init(repeating: epoll_event())
    _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, signals, EPOLLIN.rawValue)
    _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, clock, EPOLLIN.rawValue)
  }

  deinit {
    close(epoll)
    close(signals)
    close(clock)
  }

  /// Waits until something happens, at most for so many milliseconds; -1: for ever. Returns how many events there are.
  mutating func wait(_ timeoutMs: Int32) -> Int {
    var span = events.mutableSpan
    let epoll = epoll
    let count = span.withUnsafeMutableBufferPointer {
      epoll_wait(epoll, $0.baseAddress!, Int32($0.count), timeoutMs)
    }
    return Int(max(count, 0))
  }

  /// What an event is about.
  func source(_ index: Int) -> Source {
    var event = events[index]
    let descriptor = clinux_epoll_descriptor(&event)
    if descriptor == signals { return .signals }
    if descriptor == clock { return .clock }
    return .descriptor(descriptor, isWritable: event.events & EPOLLOUT.rawValue != 0)
  }

  /// Whether the clock was set since this was last asked.
  func takeClockChange() -> Bool { clinux_clock_was_set(clock) != 0 }

  /// The number of a signal that has come; nil: there is none any more.
  func takeSignal() -> UInt32? {
    var information = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    return CLinux.read(signals, &information, size) == size ? information.ssi_signo : nil
  }
}
