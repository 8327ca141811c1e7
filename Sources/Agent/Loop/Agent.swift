import CLinux
import CMbed
import TinyPush

/// The shell around ``Courier``: does what it asks for, on a spool, a socket and a clock, and tells it what happens. One
/// thread, which sleeps in epoll when there is nothing to do.
public struct Agent: ~Copyable {
  var config: Config
  var courier: Courier
  var link: BinaryLink
  var spool: SpoolDirectory
  let recipients: RecipientsDirectory
  var suppression = SuppressionFiles()
  var connection: TLSConnection
  var log = Log()
  var page: MappedStatusPage
  var progress: ProgressBar
  let epoll: Int32
  let signals: Int32
  /// Wakes it when the wall clock is set, so that what waits for its time is looked at anew.
  let clock: Int32
  var watch = SpoolWatch()
  /// Files in `new/`, as the last scan found them and by what happened since.
  var filesFound = 0
  /// Files that came into the spool before, in UNIX nanoseconds, came by another clock.
  var clockSetAt = Clock.plausibleSinceNs
  let gateway: CString
  var events: InlineArray<8, epoll_event>
  let scratch = FixedBuffer<UInt8>(capacity: 4096)
  var stopBy: Instant?
  var watchdog = Watchdog(at: Clock.now())
  var isReloadWanted = false
  /// With what another agent goes on when this one has stopped.
  var next: Config?
  var isMemoryReturned = true
  /// How long the machine has been suspended since it started.
  var asleep = Clock.asleep()
  var outage = Outage()
  /// What was last said of the connection that is there; empty: nothing.
  var whyDown = Text(capacity: 256)
  /// Why the page is not kept; 0: it is.
  var pageProblem: Int32 = 0
  var isConfigBroken = false
  /// More has come than was read at once.
  var isUnread = false
  /// Bytes of the gateway's have come on this connection.
  var isHeard = false
  /// The last connection was ended by the gateway, which had neither said nor taken anything.
  var wasCutOff = false
  /// When the connection, which follows on such a one, has lasted long enough to be written to.
  var provenAt: Instant?

  static let stepsBetweenPolls: UInt32 = 128
  /// After so many connections in a row that could not be made, or that settled nothing, `--once` leaves what is left for
  /// later.
  static let dialFailuresMax = 3
  static let failuresMax = 10
  /// How long a stop may take besides `settle`.
  static let stopPatience = Duration.seconds(5)

  /// - Parameter message: on failure, what is wrong, where, and what to do.
  @inline(never)
  init(_ config: consuming Config, message: inout Text) throws(ExitStatus) {
    var address = Text(capacity: 300)
    config.gatewayAddress(in: &address)
    try Self.checkFiles(config, message: &message)
    spool = try SpoolDirectory(config.spool.pointer, message: &message)
    page = MappedStatusPage()
    var seed: UInt64 = 0
    _ = getrandom(&seed, 8, 0)
    courier = Courier(config.courier)
    link = BinaryLink(config.courier, seed: seed)
    if let progress = spool.progress() { courier.resume(progress) }
    recipients = RecipientsDirectory(config.recipients.pointer)
    connection = TLSConnection(
      address: address.bytes, port: Config.gatewayPort, timeout: config.connectTimeout)
    progress = ProgressBar(isWanted: config.courier.isOnce)
    gateway = address.cString()
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    signals = clinux_signal_descriptor()
    clock = clinux_clock_descriptor()
    events = .init(repeating: epoll_event())
    self.config = config
    _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, signals, EPOLLIN.rawValue)
    _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, clock, EPOLLIN.rawValue)
    if self.config.courier.isOnce { noticeSuppression() } else { watchSpool() }
  }

  deinit {
    close(epoll)
    close(signals)
    close(clock)
  }

  /// That certificate, key and CA can be read and fit together is found out before anything else.
  static func checkFiles(_ config: borrowing Config, message: inout Text) throws(ExitStatus) {
    guard !config.certificate.isEmpty else {
      message.append(
        "no certificate is set: set certificate (and key) to your push certificate's PEM files")
      throw .config
    }
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    defer { text.deallocate() }
    text[0] = 0
    var certificate = cmbed_certificate()
    let key = config.key.isEmpty ? config.certificate.pointer : config.key.pointer
    var result = config.withKeyPassword {
      cmbed_certificate_read(&certificate, config.certificate.pointer, key, $0, text)
    }
    if result == CMBED_OK {
      result = min(cmbed_authorities_count(config.ca.pointer, text), Int32(CMBED_OK))
    }
    guard result != CMBED_OK else { return }
    message.append(cString: text)
    switch result {
    case Int32(CMBED_FILE_MISSING): throw .noInput
    case Int32(CMBED_FILE_UNREADABLE): throw .noPermission
    default: throw .config
    }
  }

  // MARK: - The loop

  /// Works until it is told to stop, or to take up another configuration, or with `--once` until the spool is empty.
  mutating func run(_ readConfig: ReadConfig) -> ExitStatus {
    sayStarted()
    var steps: UInt32 = 0
    while true {
      if isReloadWanted { reload(readConfig) }
      // However much there is to do, signals and answers are heard.
      steps &+= 1
      if steps % Self.stepsBetweenPolls == 0 {
        poll(.zero)
        page.update(courier, link, filesFound: filesFound)
      }
      let step = courier.next(Clock.time(), &link)
      takeReports()
      switch step {
      case .scan:
        noticeSuppression()
        keepPage()
        spool.sweep(&courier)
        filesFound = spool.scan(&courier)
        progress.found(filesFound)
      case .open: spool.open(&courier)
      case .read: spool.read(&courier)
      case .readRecipients: recipients.read(&courier)
      case .survey: spool.survey(&courier)
      case .verify: courier.verified(spool.isThere(courier))
      case .scanLater: spool.later.scan(&courier)
      case .release: spool.release(&courier)
      case .cancel: courier.cancelled(spool.later.cancel(courier))
      case .close:
        spool.closeFile()
        courier.closed()
      case .record:
        courier.recorded(spool.record(&courier, config.failedLimits))
      case .keepLearned: keepLearned()
      case .probe: courier.probed(spool.hasRoom(courier.failureBytesMax))
      case .sync: courier.synced(spool.sync())
      case .remove:
        courier.removed(spool.remove(&courier, config.failedLimits))
        filesFound -= 1
        progress.settled()
      case .dial: dial()
      case .keepProgress: courier.keptProgress(spool.keep(courier.progressToKeep))
      case .write: write()
      case .listen:
        listen()
        if isUnread, let status = shouldGiveUp() { return finish(status) }
      case .sample: sample()
      case .disconnect:
        connection.hangUp(epoll: epoll, sayGoodbye: true)
        if whyDown.count > 0 { tell(.down, whyDown.bytes) } else { tell(.down, gateway.span) }
      case .wait(let until):
        log.catchUp()
        page.update(courier, link, filesFound: filesFound)
        progress.show(courier.counters, inFlight: courier.inFlight(link))
        if let status = shouldGiveUp() { return finish(status) }
        returnMemory()
        poll(.until(until))
      case .finish: return finish(.ok)
      }
    }
  }

  /// `--once` does not wait for a gateway for ever, nor a stop for an answer.
  private mutating func shouldGiveUp() -> ExitStatus? {
    if let stopBy, Clock.now() >= stopBy { return .ok }
    guard config.courier.isOnce else { return nil }
    if isConfigBroken { return .config }
    if courier.isScanBroken { return .inputOutput }
    let isHopeless = outage.tries >= Self.dialFailuresMax || link.failures >= Self.failuresMax
    return isHopeless ? .tryLater : nil
  }

  private mutating func finish(_ status: ExitStatus) -> ExitStatus {
    log.flush()
    connection.hangUp(epoll: epoll, sayGoodbye: true)
    page.update(courier, link, filesFound: filesFound)
    page.change(.down, words: ("stopped" as StaticString).span)
    progress.finish(courier.counters)
    if config.courier.isOnce || stopBy != nil && next == nil { saySum(status) }
    guard status == .ok, config.courier.isOnce else { return status }
    if courier.isHolding { return .inputOutput }
    return courier.counters.hasFailures ? .dataRefused : .ok
  }

  private enum Wait {
    case zero
    case until(Instant?)
  }

  /// Takes in what has happened, waiting for it if there is nothing.
  private mutating func poll(_ wait: Wait) {
    // Nothing of a connection that is closed can be read any more.
    if connection.phase != .up { isUnread = false }
    var timeout: Int32 = 0
    var restsSince: Instant?
    if case .until(let instant) = wait {
      var earliest = instant
      if let deadline = connection.deadline, earliest.map({ deadline < $0 }) ?? true {
        earliest = deadline
      }
      if let provenAt, earliest.map({ provenAt < $0 }) ?? true { earliest = provenAt }
      if let stopBy, earliest.map({ stopBy < $0 }) ?? true { earliest = stopBy }
      if let retryAt = watch.retryAt, earliest.map({ retryAt < $0 }) ?? true { earliest = retryAt }
      let now = Clock.now()
      restsSince = now
      if let until = watchdog.restUntil(at: now), earliest.map({ until < $0 }) ?? true {
        earliest = until
      }
      timeout = isUnread ? 0 : earliest.map { Int32(clamping: now.until($0).milliseconds) } ?? -1
    }
    var span = events.mutableSpan
    let count = span.withUnsafeMutableBufferPointer {
      epoll_wait(epoll, $0.baseAddress!, Int32($0.count), timeout)
    }
    if timeout != 0 { noticeSleep() }
    if watchdog.isOn { feedWatchdog(restsSince) }
    if let retryAt = watch.retryAt, retryAt <= Clock.now() { watchSpool() }
    var isConnectionReady = false
    var isWritable = false
    for index in 0..<Int(max(count, 0)) {
      var event = events[index]
      let descriptor = clinux_epoll_descriptor(&event)
      if descriptor == signals {
        takeSignals()
      } else if descriptor == clock {
        if clinux_clock_was_set(clock) != 0 {
          page.clockWasSet()
          clockSetAt = max(Clock.plausibleSinceNs, Clock.wallNs())
          if connection.isClockWrong { link.dialAtOnce() }
        }
      } else if descriptor == watch.descriptor {
        takeSpoolEvents()
      } else if descriptor == connection.descriptor {
        isConnectionReady = true
        isWritable = event.events & EPOLLOUT.rawValue != 0
      }
    }
    if connection.phase == .up {
      if isConnectionReady || isUnread { receive() }
      endProbation()
      if isWritable, connection.phase == .up {
        connection.watch(epoll: epoll, writable: false)
        link.writable()
      }
    } else if connection.phase != .none {
      let isLate = connection.deadline.map { Clock.now() >= $0 } ?? false
      if isConnectionReady || isLate { proceed() }
    }
  }

  /// Whether the machine was suspended while the agent waited.
  private mutating func noticeSleep() {
    let now = Clock.asleep()
    if now > asleep + .seconds(1) { link.suspended(until: Clock.now()) }
    asleep = now
  }

  private mutating func listen() {
    let now = Clock.now()
    poll(.zero)
    noticeSleep()
    if !isUnread { link.heard(until: now) }
  }

  private mutating func takeSignals() {
    var information = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    while CLinux.read(signals, &information, size) == size {
      if information.ssi_signo == UInt32(SIGHUP) {
        if config.courier.isOnce { courier.rescan() } else { isReloadWanted = true }
        continue
      }
      guard stopBy == nil || next != nil else { continue }
      next = nil
      sayStopping()
      stop()
    }
  }

  /// What was sent is confirmed, and the rest stays where it is.
  mutating func stop() {
    guard stopBy == nil else { return }
    courier.stop()
    stopBy = Clock.now() + config.courier.settle + Self.stopPatience
  }

  private mutating func feedWatchdog(_ restsSince: Instant?) {
    let now = Clock.now()
    if let restsSince { watchdog.rested(since: restsSince, until: now) }
    let counters = courier.counters
    let progress =
      counters.sent &+ counters.settled &+ counters.failedCheck &+ counters.expired
      &+ counters.suppressed &+ counters.superseded &+ counters.postponed &+ courier.bytesRead
    if watchdog.isDue(at: now, progress: progress) { clinux_notify("WATCHDOG=1") }
  }

  /// After a burst, what it needed goes back to the system.
  private mutating func returnMemory() {
    if !courier.isIdle || link.isBusy {
      isMemoryReturned = false
    } else if !isMemoryReturned {
      isMemoryReturned = true
      let giveBack: (UnsafeMutableRawBufferPointer) -> Void = { buffer in
        let page = UInt(sysconf(Int32(_SC_PAGESIZE)))
        let base = UInt(bitPattern: buffer.baseAddress)
        let start = (base + page - 1) / page * page
        let end = (base + UInt(buffer.count)) / page * page
        if end > start {
          madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_DONTNEED)
        }
      }
      courier.forEachBuffer(giveBack)
      link.forEachBuffer(giveBack)
      malloc_trim(0)
    }
  }
}

extension Counters {
  /// Whether anything went to `failed/`.
  var hasFailures: Bool { refused + failedCheck > 0 }
}
