import CLinux
import CMbed
import TinyPush
import TinyPushHTTP2
import TinyPushWebPush

/// Runs a ``Courier`` on a spool, a socket and a clock: does each step that the courier asks for
/// and reports the result to it.
///
/// The agent has one thread, which sleeps in epoll while there is nothing to do.
public struct Agent: ~Copyable {
  var config: Config
  var courier: Courier
  var link: PushLink
  var spool: SpoolDirectory
  let recipients: RecipientsDirectory
  var suppression = SuppressionFiles()
  var channels = PerLane<Channel>()
  var providerToken: ProviderToken
  var vapidToken = VAPIDToken()
  var output: AgentOutput
  var events: EventPoll
  var watch = SpoolWatch()
  /// The number of files in `new/` and `taken/`: the result of the last scan, adjusted by later events.
  var filesFound = 0
  /// When the wall clock was last set, or the agent began after that, in UNIX nanoseconds.
  ///
  /// An earlier modification time of a file comes from the clock before that.
  var clockSetAt = Clock.plausibleSinceNs
  /// How far the wall clock is ahead of the monotonic clock, in seconds.
  var clockOffset = Clock.offsetSeconds()
  let scratch = FixedBuffer<UInt8>(capacity: 4096)
  var ending = AgentEnding()
  var troubles: Troubles
  var troubleCommand = ShellCommand()
  /// When our certificate expires, in UNIX seconds; 0 if unknown.
  var knownCertificateEnd: Int64 = 0
  var watchdog = Watchdog(at: Clock.now())
  var isMemoryReturned = true
  var suspension = Suspension()
  /// The exit status of a run that does not wait for the service any longer.
  private var givenUp: ExitStatus?

  static let stepsBetweenPolls: UInt32 = 128
  // `--once` gives up after this many failed dials in a row, or connections in a row that settled
  // nothing, or if nothing that is left may be sent for this long.
  static let dialFailuresMax = 3
  static let failuresMax = 10
  static let waitMax = Duration.seconds(120)

  /// Opens the spool and the files that the configuration names.
  ///
  /// - Parameter message: on failure, what is wrong, where, and what to do.
  @inline(never)
  init(_ config: consuming Config, message: inout Text) throws(ExitStatus) {
    var address = Text(capacity: 300)
    config.gatewayAddress(in: &address)
    try Self.checkFiles(config, message: &message)
    spool = try SpoolDirectory(config.spool.pointer, message: &message)
    var seed: UInt64 = 0
    _ = getrandom(&seed, 8, 0)
    courier = Courier(config.courier)
    link = Self.link(config, address.bytes, seed: seed)
    recipients = RecipientsDirectory(config.recipients.pointer)
    channels.set(
      .devices, Channel(to: address.bytes, port: config.gatewayPort, .configured, config))
    providerToken = ProviderToken(config)
    output = AgentOutput(isOnce: config.courier.isOnce)
    events = EventPoll()
    troubles = Troubles(
      after: config.troubleAfter,
      reported: config.onTrouble.isEmpty ? 0 : TroubleFile.read(in: config.state))
    self.config = config
    if self.config.courier.isOnce { noticeSuppression() } else { watchSpool() }
  }

  deinit {}

  /// Creates the link for the configured protocol.
  private static func link(
    _ config: borrowing Config, _ address: Span<UInt8>, seed: UInt64
  ) -> PushLink {
    PushLink(
      config.courier, config.binary, HTTP2Link.Service(config, at: address),
      config.courier.hasWebPush ? MessageSeal.ofSystem() : nil, page: config.webPage.span,
      seed: seed)
  }

  // MARK: - The loop

  /// Delivers until a stop, until a reload, or with `--once` until the spool is empty.
  mutating func run(_ readConfig: ReadConfig) -> ExitStatus {
    logStart()
    var steps: UInt32 = 0
    while true {
      if ending.isReloadWanted { reload(readConfig) }
      // Signals and answers must be handled even while there is always a next step.
      steps &+= 1
      if steps % Self.stepsBetweenPolls == 0 {
        poll(.zero)
        output.log.catchUp()
        output.page.update(courier, link, filesFound: filesFound)
        output.progress.show(courier.counters, inFlight: courier.inFlight)
      }
      if link.hasAnswers { output.page.count(courier, link, since: clockSetAt, areWritten: false) }
      let step = courier.next(Clock.time(), &link)
      endReassigned()
      takeReports()
      switch step {
      case .scan(let directory): scan(directory)
      case .read(let directory): spool.read(&courier, from: directory)
      case .readRecipients: courier.readRecipients(recipients.read(courier))
      case .release: spool.release(&courier)
      case .record: record()
      case .keepLearned: keepLearned()
      case .sync: courier.synced(spool.sync())
      case .remove: remove()
      case .dial: dial()
      case .rename: courier.renamed(spool.rename(courier))
      case .write: write()
      case .listen:
        listen()
        if isAnyUnread, let status = shouldGiveUp() { return finish(status) }
      case .sample: sample()
      case .authorize: authorize()
      case .setAside:
        channels[lane].setAside()
        // epoll does not report bytes that the TLS layer has already read.
        receiveAside()
        publishDown()
      case .disconnect(.aside): aside.hangUp(epoll: events.epoll, closeNotify: true)
      case .disconnect(.current):
        if lane != .devices || link.pushProtocol == .http2 { connection.dropUnsent() }
        connection.hangUp(epoll: events.epoll, closeNotify: true)
        publishDown()
      case .wait(let until):
        output.log.catchUp()
        output.page.update(courier, link, filesFound: filesFound)
        output.progress.show(courier.counters, inFlight: courier.inFlight)
        if let givenUp { return finish(givenUp) }
        givenUp = shouldGiveUp()
        if let givenUp {
          guard config.courier.isOnce else { return finish(givenUp) }
          // What would be sent again with what is left goes to `later/` first.
          courier.stop()
          continue
        }
        returnMemory()
        watchTrouble()
        poll(.until(until))
      case .finish: return finish(givenUp ?? .ok)
      }
    }
  }

  private mutating func scan(_ directory: Courier.Directory) {
    if directory == .new {
      noticeSuppression()
      output.keepPage(at: config.status)
      // A connection may stay open for months after its certificate was renewed.
      if knownCertificateEnd > 0 { knowCertificateEnd() }
    }
    let isLogged = directory == .later && config.courier.reportsSettlements
    var replaced = Text(capacity: isLogged ? 8192 : 0)
    let found = spool.scan(directory, &courier, config.failedLimits, replaced: &replaced)
    logReplaced(replaced)
    guard let found else { return }
    filesFound = found
    output.progress.found(found)
  }

  /// Returns the exit status if the agent stops now: `--once` does not wait for a gateway for ever,
  /// and a stop has a time limit.
  private mutating func shouldGiveUp() -> ExitStatus? {
    if ending.isOver(at: Clock.now()) { return .ok }
    guard config.courier.isOnce else { return nil }
    if courier.isScanBroken { return .inputOutput }
    var status: ExitStatus?
    for number in 0..<link.lanes where courier.wantsConnection(in: Lane(number)) {
      guard let why = whyHopeless(Lane(number)) else { return nil }
      // What can be tried again later is no matter of the configuration.
      status = status == .tryLater ? .tryLater : why
    }
    return status
  }

  /// Returns the exit status if a run does not wait for a service any longer.
  private mutating func whyHopeless(_ lane: Lane) -> ExitStatus? {
    link.select(lane)
    guard channels.has(lane), link.hasLink else { return nil }
    if connectionState.isConfigBroken || link.isRefused { return .config }
    let isHopeless =
      outage.attempts >= Self.dialFailuresMax || link.failures >= Self.failuresMax
      || !link.isBusy && courier.waits(in: lane, for: Self.waitMax)
    return isHopeless ? .tryLater : nil
  }

  private mutating func finish(_ status: ExitStatus) -> ExitStatus {
    var status = status
    // A signal has ended a run before everything was delivered.
    if status == .ok, config.courier.isOnce, ending.deadline != nil, !courier.isHolding,
      !courier.isSpoolDone
    {
      status = .tryLater
    }
    output.log.flush()
    forEachChannel {
      $0.connection.hangUp(epoll: $0.events.epoll, closeNotify: true)
      $0.aside.hangUp(epoll: $0.events.epoll, closeNotify: true)
    }
    output.page.update(courier, link, filesFound: filesFound)
    output.page.change(.devices, .down, words: ("stopped" as StaticString).span)
    output.progress.finish(courier.counters)
    if config.courier.isOnce || ending.isFinal { logTotals(status) }
    guard status == .ok, config.courier.isOnce else { return status }
    if courier.isHolding { return .inputOutput }
    return courier.counters.hasFailures ? .dataRefused : .ok
  }
}

extension Counters {
  /// Whether anything was written to `failed/`.
  var hasFailures: Bool { refused + failedCheck > 0 }
}
