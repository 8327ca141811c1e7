import CLinux
import TinyPush

/// The epoll that the agent sleeps in, with the signals and the clock; others add their
/// descriptors.
///
/// Public because Embedded Swift sees only public deinitializers of another module.
public struct EventPoll: ~Copyable {
  package let epoll: Int32
  private let signals: Int32
  /// Wakes the agent when the wall clock is set, so that due times are computed again.
  private let clock: Int32
  private var events: InlineArray<8, epoll_event>
  /// Whether SIGHUP means that the terminal has closed.
  ///
  /// For a service it asks to read the configuration again.
  package let endsWithTerminal =
    EnvironmentVariable.notifySocket.pointer == nil
    && (isatty(STDIN_FILENO) == 1 || isatty(STDERR_FILENO) == 1)

  package enum Source {
    case signals
    /// The wall clock may have been set.
    case clock
    case descriptor(Int32, isWritable: Bool)
  }

  /// Ends the program if this is not possible: it could not be told to stop.
  package init() {
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    signals = clinux_signal_descriptor(1)
    clock = clinux_clock_descriptor()
    events = .init(repeating: epoll_event())
    guard epoll >= 0, signals >= 0, clock >= 0 else {
      var text = Text()
      text.append("cannot wait for signals: ", cString: clinux_error_text(clinux_errno()))
      text.append("\n")
      text.write(to: STDERR_FILENO)
      exit(ExitStatus.tryLater.rawValue)
    }
    _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, signals, EPOLLIN.rawValue)
    _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, clock, EPOLLIN.rawValue)
  }

  deinit {
    close(epoll)
    close(signals)
    close(clock)
  }

  /// Waits for an event, and returns the number of events.
  ///
  /// - Parameter timeoutMs: the longest wait in milliseconds; -1 waits for ever.
  package mutating func wait(_ timeoutMs: Int32) -> Int {
    var span = events.mutableSpan
    let epoll = epoll
    let count = span.withUnsafeMutableBufferPointer {
      epoll_wait(epoll, $0.baseAddress!, Int32($0.count), timeoutMs)
    }
    return Int(max(count, 0))
  }

  /// Returns what an event is about.
  package func source(_ index: Int) -> Source {
    var event = events[index]
    let descriptor = clinux_epoll_descriptor(&event)
    if descriptor == signals { return .signals }
    if descriptor == clock { return .clock }
    return .descriptor(descriptor, isWritable: event.events & EPOLLOUT.rawValue != 0)
  }

  /// Returns whether the clock was set since the last call.
  package func takeClockChange() -> Bool { clinux_clock_was_set(clock) != 0 }

  /// Returns the number of the next pending signal; nil if absent.
  package func takeSignal() -> UInt32? {
    var information = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    return CLinux.read(signals, &information, size) == size ? information.ssi_signo : nil
  }
}
