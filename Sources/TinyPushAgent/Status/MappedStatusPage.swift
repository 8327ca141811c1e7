import CLinux
import TinyPush

/// The status page, in memory that is mapped to a file once one is set.
///
/// Delivery goes on if the file cannot be written.
struct MappedStatusPage: ~Copyable {
  /// Reasons not to write a file, in addition to the errnos.
  static let hasOtherAgent: Int32 = -1
  static let isNoPage: Int32 = -2

  private var page: UnsafeMutablePointer<StatusPage>
  /// The descriptor of the file, whose lock shows that an agent writes it; -1 if there is no file.
  private var descriptor: Int32 = -1

  @inline(never)
  init() {
    page = UnsafeMutablePointer<StatusPage>.allocate(capacity: 1)
    memset(page, 0, MemoryLayout<StatusPage>.size)
    page.pointee.magic = StatusPage.layout
    page.pointee.processID = getpid()
    page.pointee.startedInstant = Clock.now().milliseconds
    service(.devices).pointee.changedInstant = page.pointee.startedInstant
    clockWasSet()
  }

  deinit { Self.release(page, descriptor) }

  private static func release(_ page: UnsafeMutablePointer<StatusPage>, _ descriptor: Int32) {
    guard descriptor >= 0 else {
      page.deallocate()
      return
    }
    munmap(page, MemoryLayout<StatusPage>.size)
    close(descriptor)
  }

  /// Maps the page to the file at `path`, if it is not; returns 0 or the reason why it cannot be.
  @inline(never)
  mutating func keep(at path: UnsafePointer<CChar>) -> Int32 {
    if isKept(at: path) { return 0 }
    var error: Int32 = 0
    var fresh = -1 as Int32
    guard
      let place = path.pointee == 0
        ? UnsafeMutablePointer<StatusPage>.allocate(capacity: 1)
        : Self.map(path, &fresh, &error)
    else { return error }
    clinux_begin_change(&page.pointee.sequence)
    if fresh >= 0, place.pointee.magic == StatusPage.layout {
      // The problems before a restart may be the reason for the restart.
      if page.pointee.problems[0].count == 0 { page.pointee.problems = place.pointee.problems }
      if descriptor < 0 { page.pointee.acceptances = place.pointee.acceptances }
    }
    memcpy(place, page, MemoryLayout<StatusPage>.size)
    clinux_end_change(&place.pointee.sequence)
    Self.release(page, descriptor)
    page = place
    descriptor = fresh
    return 0
  }

  private func isKept(at path: UnsafePointer<CChar>) -> Bool {
    guard path.pointee != 0, descriptor >= 0 else { return path.pointee == 0 && descriptor < 0 }
    var own = stat()
    var there = stat()
    return fstat(descriptor, &own) == 0 && lstat(path, &there) == 0
      && own.st_ino == there.st_ino && own.st_dev == there.st_dev
  }

  /// Locks and maps the file at `path`; nil if it is neither empty nor a status page.
  private static func map(
    _ path: UnsafePointer<CChar>, _ descriptor: inout Int32, _ error: inout Int32
  ) -> UnsafeMutablePointer<StatusPage>? {
    let size = MemoryLayout<StatusPage>.size
    for attempt in 0...1 {
      let file = clinux_open(
        AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o644)
      guard file >= 0 else {
        error = -file
        return nil
      }
      var information = stat()
      let isFile = fstat(file, &information) == 0 && clinux_is_regular(&information) != 0
      let isEmpty = isFile && information.st_size == 0
      if !isFile || !isEmpty && !isPage(file) {
        error = isNoPage
      } else if clinux_lock_file(file) != 0 {
        error = hasOtherAgent
        // A program that may only read the file can lock it, too. That is no agent, so the file is
        // replaced.
        if attempt == 0, !isEmpty, clinux_is_locked(file) == 0, unlink(path) == 0 {
          close(file)
          continue
        }
      } else {
        // Every user may read the page, whatever the umask is.
        _ = fchmod(file, 0o644)
        // Reserves space on disk, because a write to a page without space ends the agent by SIGBUS.
        error = posix_fallocate(file, 0, off_t(size))
        if error == 0 {
          let address = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
          if let address, address != UnsafeMutableRawPointer(bitPattern: -1) {
            descriptor = file
            return address.assumingMemoryBound(to: StatusPage.self)
          }
          error = clinux_errno()
        }
        if isEmpty { unlink(path) }
      }
      close(file)
      return nil
    }
    return nil
  }

  /// Whether a file is a status page of any version.
  private static func isPage(_ file: Int32) -> Bool {
    var magic: UInt32 = 0
    return pread(file, &magic, 4, 0) == 4 && magic >> 8 == StatusPage.layout >> 8
  }

  /// What the page has of the service of a lane.
  private func service(_ lane: Lane) -> UnsafeMutablePointer<StatusPage.Service> {
    withUnsafeMutablePointer(to: &page.pointee.services) {
      UnsafeMutableRawPointer($0).assumingMemoryBound(to: StatusPage.Service.self) + lane.index
    }
  }

  /// Computes the UNIX times again after the clock was set.
  @inline(never)
  func clockWasSet() {
    let (wall, now) = (Clock.wallSeconds(), Clock.now())
    @inline(never)
    func date(_ instant: UInt64) -> Int64 {
      wall - Int64(Instant(milliseconds: instant).until(now).milliseconds / 1000)
    }
    clinux_begin_change(&page.pointee.sequence)
    let wasStarted = page.pointee.startedAt
    page.pointee.startedAt = date(page.pointee.startedInstant)
    let step = page.pointee.startedAt - wasStarted
    // What happened since the start has times of the clock that was wrong.
    for index in 0..<page.pointee.problems.count
    where wasStarted > 0 && page.pointee.problems[index].time >= wasStarted {
      page.pointee.problems[index].time &+= step
    }
    if wasStarted > 0, page.pointee.suppressedAt >= wasStarted { page.pointee.suppressedAt += step }
    var service = service(.devices)
    let end = service + Lane.count
    while service < end {
      service.pointee.changedAt = date(service.pointee.changedInstant)
      service += 1
    }
    clinux_end_change(&page.pointee.sequence)
  }

  /// Publishes the state of the courier and the link.
  ///
  /// - Parameter filesFound: the files in `new/` and `taken/`, if the courier does not know all of them.
  @inline(never)
  func update(_ courier: borrowing Courier, _ link: borrowing PushLink, filesFound: Int) {
    let isExact = courier.areFilesKnown
    clinux_begin_change(&page.pointee.sequence)
    page.pointee.counters = courier.counters
    page.pointee.held = courier.heldFlags
    page.pointee.inFlight = UInt64(courier.inFlight)
    page.pointee.files = UInt64(
      isExact ? courier.filesUnderWay : max(filesFound, courier.filesUnderWay))
    page.pointee.isFilesExact = isExact ? 1 : 0
    page.pointee.later = UInt64(courier.laterFiles)
    let isTooMuch = courier.inFlight > FilesUnderWay.messagesMax
    page.pointee.filesUnderWay.begin(isCut: isTooMuch)
    if !isTooMuch {
      courier.forEachFileUnderWay { page.pointee.filesUnderWay.add(arrivalNs: $0, $1) }
    }
    page.pointee.protocolValue = UInt32(link.pushProtocol.rawValue)
    page.pointee.refusedConfigurationValue = 0
    for number in 0..<link.lanes { update(Lane(number), courier, link) }
    clinux_end_change(&page.pointee.sequence)
    for number in 1..<max(link.lanes, 1) { rest(Lane(number)) }
  }

  /// Publishes that nothing needs a connection to a service of browsers, which is no trouble.
  private func rest(_ lane: Lane) {
    let service = service(lane)
    guard service.pointee.inFlight == 0 else { return }
    switch service.pointee.connectivity {
    case .up, .idle: return
    default: change(lane, .idle, words: Span())
    }
  }

  private func update(_ lane: Lane, _ courier: borrowing Courier, _ link: borrowing PushLink) {
    let service = service(lane)
    service.pointee.counts = courier.counts(of: lane)
    service.pointee.inFlight = UInt64(courier.inFlight(in: lane))
    service.pointee.waitInstant = link.waitsUntil(lane)?.milliseconds ?? 0
    let refused = link.refusedConfiguration(in: lane).map { UInt32($0.reason.rawValue) + 1 } ?? 0
    service.pointee.refusedConfigurationValue = refused
    if page.pointee.refusedConfigurationValue == 0 {
      page.pointee.refusedConfigurationValue = refused
    }
  }

  /// Publishes the service of devices, and that none of browsers has a lane yet.
  ///
  /// - Parameter host: empty: no devices are served.
  @inline(never)
  func begin(_ host: Span<UInt8>) {
    clinux_begin_change(&page.pointee.sequence)
    service(.devices).pointee.host.set(host)
    for number in 1..<Lane.count { service(Lane(number)).pointee = StatusPage.Service() }
    clinux_end_change(&page.pointee.sequence)
  }

  /// Publishes that a lane was given to a service of browsers.
  @inline(never)
  func assign(_ lane: Lane, to host: Span<UInt8>) {
    clinux_begin_change(&page.pointee.sequence)
    service(lane).pointee = StatusPage.Service()
    service(lane).pointee.host.set(host)
    service(lane).pointee.isOfBrowsersValue = 1
    clinux_end_change(&page.pointee.sequence)
    change(lane, .idle, words: Span())
  }

  /// Publishes the state of the connection to the service of a lane.
  ///
  /// - Parameter words: what it leads to, or why there is none.
  @inline(never)
  func change(_ lane: Lane, _ connectivity: StatusPage.Connectivity, words: Span<UInt8>) {
    let service = service(lane)
    let former = service.pointee.connectivityValue
    clinux_begin_change(&page.pointee.sequence)
    service.pointee.connectivityValue = connectivity.rawValue
    // Attempts to connect do not restart the time of an outage.
    if connectivity.rawValue != former, max(connectivity.rawValue, former) > 1 {
      service.pointee.changedAt = Clock.wallSeconds()
      service.pointee.changedInstant = Clock.now().milliseconds
    }
    service.pointee.words.set(words)
    clinux_end_change(&page.pointee.sequence)
  }

  /// Publishes the version and the cipher suite of TLS.
  @inline(never)
  func publish(_ version: UnsafePointer<CChar>, _ suite: UnsafePointer<CChar>) {
    clinux_begin_change(&page.pointee.sequence)
    page.pointee.version.set(CString.span(version))
    page.pointee.suite.set(CString.span(suite))
    clinux_end_change(&page.pointee.sequence)
  }

  /// Publishes when our certificate expires.
  ///
  /// - Parameter certificateEnd: UNIX seconds.
  @inline(never)
  func publish(certificateEnd: Int64) {
    clinux_begin_change(&page.pointee.sequence)
    page.pointee.certificateEnd = certificateEnd
    clinux_end_change(&page.pointee.sequence)
  }

  /// Publishes that a token was suppressed.
  ///
  /// - Parameter words: the report about the token.
  @inline(never)
  func publish(suppressed words: Span<UInt8>) {
    clinux_begin_change(&page.pointee.sequence)
    page.pointee.suppressedAt = Clock.wallSeconds()
    page.pointee.suppressedWords.set(words)
    clinux_end_change(&page.pointee.sequence)
  }

  /// The clock of file systems is at most one tick of the kernel behind, in nanoseconds; newer
  /// kernels are exact for some times.
  private static let tick: Int64 = 10_000_000

  /// Counts notifications that are sent or accepted for the first time, as the link counts them.
  ///
  /// - Parameters:
  ///   - since: when the clock was set, in UNIX nanoseconds; older files have times of another clock.
  ///   - areWritten: whether to count what is written, and not what was accepted.
  @inline(never)
  func count(
    _ courier: borrowing Courier, _ link: borrowing PushLink, since: Int64, areWritten: Bool
  ) {
    var now = timespec()
    // The clock of the file systems.
    clock_gettime(CLOCK_REALTIME_COARSE, &now)
    let wall = clinux_nanoseconds(&now)
    let seconds = wall / 1_000_000_000
    let isDated = seconds >= Time.plausibleSince
    let instant = Clock.now()
    var (came, number) = (Int64(0), UInt64(0))
    clinux_begin_change(&page.pointee.sequence)
    link.forEachCounted(areWritten: areWritten) { message, device in
      let arrivalNs = courier.arrivalNs(of: message)
      if arrivalNs != came {
        count(number, came, since: since, wall: wall, at: instant)
        (came, number) = (arrivalNs, 0)
      }
      number += 1
      if isDated, let device { page.pointee.acceptances.accept(device, at: seconds) }
    }
    count(number, came, since: since, wall: wall, at: instant)
    clinux_end_change(&page.pointee.sequence)
  }

  /// Counts notifications whose file came at a time in UNIX nanoseconds.
  @inline(never)
  private func count(
    _ number: UInt64, _ came: Int64, since: Int64, wall: Int64, at instant: Instant
  ) {
    guard number > 0 else { return }
    let latency: Duration? =
      came >= since && came - Self.tick <= wall
      ? .milliseconds(UInt64(max(wall - came, 0)) / 1_000_000) : nil
    page.pointee.traffic.add(number, latency: latency, at: instant)
  }

  /// Publishes a logged error or warning.
  @inline(never)
  func record(_ priority: Log.Priority, _ text: Span<UInt8>) {
    guard priority.rawValue <= Log.Priority.warning.rawValue else { return }
    clinux_begin_change(&page.pointee.sequence)
    if page.pointee.problems[0].count == 0 || !page.pointee.problems[0].text.begins(as: text) {
      for index in 1..<5 {
        page.pointee.problems[5 - index] = page.pointee.problems[4 - index]
      }
      page.pointee.problems[0].count = 0
    }
    page.pointee.problems[0].text.set(text)
    page.pointee.problems[0].time = Clock.wallSeconds()
    page.pointee.problems[0].isError = priority == .error ? 1 : 0
    page.pointee.problems[0].count &+= 1
    clinux_end_change(&page.pointee.sequence)
  }
}

extension Agent {
  /// Shows on the status page why an agent could not start, unless another agent keeps the page.
  @inline(never)
  public static func showFailedStart(_ reason: borrowing Text, at path: UnsafePointer<CChar>) {
    guard path.pointee != 0 else { return }
    var directory = Text(capacity: 4200)
    directory.append(cString: path)
    while directory.count > 0, directory.bytes[directory.count - 1] != .slash {
      directory.truncate(to: directory.count - 1)
    }
    directory.append(".")
    // A page of root, who tries a configuration, would shut out the agent's user.
    var status = stat()
    guard directory.withCString({ stat($0, &status) }) == 0, status.st_uid == geteuid() else {
      return
    }
    var page = MappedStatusPage()
    guard page.keep(at: path) == 0 else { return }
    var text = Text(capacity: 2048)
    text.append("the agent could not start: ", reason)
    page.record(.error, text.bytes)
    page.change(.devices, .down, words: text.bytes)
  }
}
