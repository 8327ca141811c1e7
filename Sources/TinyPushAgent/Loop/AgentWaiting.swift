import CLinux
import TinyPush

/// Waiting for events, and handling them.
extension Agent {
  enum Wait {
    case zero
    case until(Instant?)
  }

  /// Handles the events that have happened, and waits for one if asked to.
  mutating func poll(_ wait: Wait) {
    forEachChannel {
      // Nothing can be read from a closed connection.
      if $0.connection.phase != .up { $0.connectionState.isUnread = false }
    }
    var timeout: Int32 = 0
    var restsSince: Instant?
    if case .until(let instant) = wait {
      var earliest = instant
      for number in 0..<link.lanes where channels.has(Lane(number)) {
        earliest.include(channels[Lane(number)].connection.deadline)
        earliest.include(channels[Lane(number)].state.quietUntil)
      }
      earliest.include(ending.deadline)
      earliest.include(watch.retryAt)
      if !config.onTrouble.isEmpty { earliest.include(troubles.deadline) }
      earliest.include(troubleCommand.deadline)
      let now = Clock.now()
      restsSince = now
      earliest.include(watchdog.restUntil(at: now))
      if !isAnyUnread {
        timeout = earliest.map { Int32(clamping: now.until($0).milliseconds) } ?? -1
      }
    }
    let count = events.wait(timeout)
    if timeout != 0 { noticeSleep() }
    if watchdog.isOn { feedWatchdog(restsSince) }
    if let retryAt = watch.retryAt, retryAt <= Clock.now() { watchSpool() }
    for index in 0..<count {
      switch events.source(index) {
      case .signals: takeSignals()
      case .clock: takeClockChange()
      case .descriptor(watch.descriptor, _): takeSpoolEvents()
      case .descriptor(let descriptor, let writable):
        forEachChannel {
          if descriptor == $0.aside.descriptor { $0.receiveAside() }
          if descriptor == $0.connection.descriptor {
            $0.connectionState.isReady = true
            $0.connectionState.isWritable = writable
          }
        }
      }
    }
    forEachChannel { $0.takeConnectionEvents() }
  }

  /// Handles what has happened to the connection of the selected lane.
  private mutating func takeConnectionEvents() {
    let (isReady, isWritable) = (connectionState.isReady, connectionState.isWritable)
    connectionState.isReady = false
    connectionState.isWritable = false
    if connection.phase == .up {
      if isReady || connectionState.isUnread { receive() }
      endQuietPeriod()
      if isWritable, connection.phase == .up {
        connection.watch(epoll: events.epoll, writable: false)
        link.writable()
      }
    } else if connection.phase != .none {
      let isLate = connection.deadline.map { Clock.now() >= $0 } ?? false
      if isReady || isLate { proceed() }
    }
  }

  /// Tells the link if the machine was suspended during the wait.
  private mutating func noticeSleep() {
    guard suspension.lasted() != nil else { return }
    link.allSuspended(until: Clock.now())
    link.allDialAtOnce()
  }

  mutating func listen() {
    let now = Clock.now()
    poll(.zero)
    noticeSleep()
    forEachChannel {
      if $0.link.hasLink, !$0.connectionState.isUnread { $0.link.heard(until: now) }
    }
  }

  /// Smaller steps of the clock, in seconds, change nothing for a service.
  private static let clockStepMin: Int64 = 60

  private mutating func takeClockChange() {
    guard events.takeClockChange() else { return }
    output.page.clockWasSet()
    clockSetAt = max(Clock.plausibleSinceNs, Clock.wallNs())
    let offset = Clock.offsetSeconds()
    defer { clockOffset = offset }
    guard abs(offset - clockOffset) >= Self.clockStepMin else { return }
    // A certificate or a provider token may be valid now.
    courier.clockWasSet()
    link.allDialAtOnce()
  }

  private mutating func takeSignals() {
    while let signal = events.takeSignal() {
      guard !ending.isFinal else { continue }
      if signal == UInt32(SIGHUP), !events.endsWithTerminal {
        if config.courier.isOnce { courier.rescan() } else { ending.isReloadWanted = true }
        continue
      }
      ending.isReloadWanted = false
      ending.next = nil
      logStop()
      stop()
    }
  }

  /// Starts to stop: waits for answers to what was sent, and leaves the rest in the spool.
  mutating func stop() {
    guard ending.deadline == nil else { return }
    courier.stop()
    ending.begin(at: Clock.now(), wait: config.stopPatience)
  }

  private mutating func feedWatchdog(_ restsSince: Instant?) {
    let now = Clock.now()
    if let restsSince { watchdog.rested(since: restsSince, until: now) }
    let counters = courier.counters
    let progress =
      counters.sent &+ counters.settled &+ counters.failedCheck &+ counters.expired
      &+ counters.suppressed &+ counters.superseded &+ counters.postponed &+ counters.limited
      &+ counters.duplicates &+ courier.bytesRead
    if watchdog.isDue(at: now, progress: progress) { clinux_notify("WATCHDOG=1") }
  }

  /// Gives unused memory back to the system after a burst.
  mutating func returnMemory() {
    if !courier.isIdle || link.isBusy {
      isMemoryReturned = false
    } else if !isMemoryReturned {
      isMemoryReturned = true
      courier.giveBackMemory(Self.giveBack)
      link.forEachBuffer(Self.giveBack)
      malloc_trim(0)
      clinux_release_stack()
    }
  }

  private static func giveBack(_ buffer: UnsafeMutableRawBufferPointer) {
    let page = UInt(sysconf(Int32(_SC_PAGESIZE)))
    let base = UInt(bitPattern: buffer.baseAddress)
    let start = (base + page - 1) / page * page
    let end = (base + UInt(buffer.count)) / page * page
    if end > start {
      madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_DONTNEED)
    }
  }
}
