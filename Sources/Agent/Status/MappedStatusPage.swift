import CLinux
import TinyPush

/// The page, in memory of its own or, once it is kept, in that of a file, for others to read. Where it cannot be kept, delivery
/// goes on all the same.
struct MappedStatusPage: ~Copyable {
  /// Why it is not kept, besides the system's error numbers.
  static let isAnotherAgents: Int32 = -1
  static let isSomethingElse: Int32 = -2

  private var page: UnsafeMutablePointer<StatusPage>
  /// Open as long as the page is kept: its lock shows that it is. -1: it is not.
  private var descriptor: Int32 = -1

  @inline(never)
  init() {
    page = UnsafeMutablePointer<StatusPage>.allocate(capacity: 1)
    memset(page, 0, MemoryLayout<StatusPage>.size)
    page.pointee.magic = StatusPage.layout
    page.pointee.processID = getpid()
    page.pointee.startedInstant = Clock.now().milliseconds
    page.pointee.changedInstant = page.pointee.startedInstant
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

  /// Keeps it in the file at `path`, with all that is on it by now; where it is kept there already, nothing is done. Returns 0, or
  /// why it cannot be.
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
    // What went wrong before a restart may be why there was one.
    if fresh >= 0, place.pointee.magic == StatusPage.layout, page.pointee.problems[0].count == 0 {
      page.pointee.problems = place.pointee.problems
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

  /// The file at `path`, locked and in memory. One that is neither empty nor a page is left as it is.
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
        error = isSomethingElse
      } else if clinux_lock_file(file) != 0 {
        error = isAnotherAgents
        // Who may only read it can lock it against a writer, but is no agent: it keeps what it has, and here comes another.
        if attempt == 0, !isEmpty, clinux_is_locked(file) == 0, unlink(path) == 0 {
          close(file)
          continue
        }
      } else {
        // It is for everybody, whatever else this process makes.
        _ = fchmod(file, 0o644)
        // Room is taken now: a page without it is death by SIGBUS when it is written to.
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

  /// Whether a file is a status page, of whatever version.
  private static func isPage(_ file: Int32) -> Bool {
    var magic: UInt32 = 0
    return pread(file, &magic, 4, 0) == 4 && magic >> 8 == StatusPage.layout >> 8
  }

  /// By which it is told when something was: after the clock was set, by the new time.
  @inline(never)
  func clockWasSet() {
    let (wall, now) = (Clock.wallSeconds(), Clock.now())
    func date(_ instant: UInt64) -> Int64 {
      wall - Int64(Instant(milliseconds: instant).until(now).milliseconds / 1000)
    }
    clinux_begin_change(&page.pointee.sequence)
    page.pointee.startedAt = date(page.pointee.startedInstant)
    page.pointee.changedAt = date(page.pointee.changedInstant)
    clinux_end_change(&page.pointee.sequence)
  }

  /// - Parameter filesFound: in `new/`, where the courier does not know all of them.
  @inline(never)
  func update(_ courier: borrowing Courier, _ link: borrowing PushLink, filesFound: Int) {
    let isExact = courier.areFilesKnown
    clinux_begin_change(&page.pointee.sequence)
    page.pointee.counters = courier.counters
    page.pointee.held = courier.heldFlags
    page.pointee.inFlight = UInt64(courier.inFlight(link))
    page.pointee.files = UInt64(isExact ? courier.files : max(filesFound, courier.files))
    page.pointee.isFilesExact = isExact ? 1 : 0
    page.pointee.later = UInt64(courier.laterFiles)
    let isTooMuch = courier.stretchesInFlight(link) > FilesInFlight.stretchesMax
    page.pointee.filesInFlight.begin(isCut: isTooMuch)
    if !isTooMuch {
      courier.forEachFileInFlight(link) { page.pointee.filesInFlight.add(inode: $0, $1) }
    }
    page.pointee.dialInstant = link.nextDialAt?.milliseconds ?? 0
    page.pointee.protocolValue = UInt32(link.service.rawValue)
    page.pointee.refusedConfigurationValue =
      link.refusedConfiguration.map { UInt32($0.reason.rawValue) + 1 } ?? 0
    clinux_end_change(&page.pointee.sequence)
  }

  @inline(never)
  func change(_ connectivity: StatusPage.Connectivity, words: Span<UInt8>) {
    let wasUp = page.pointee.connectivityValue == StatusPage.Connectivity.up.rawValue
    clinux_begin_change(&page.pointee.sequence)
    page.pointee.connectivityValue = connectivity.rawValue
    // However often it is tried, the time without a connection goes on.
    if (connectivity == .up) != wasUp {
      page.pointee.changedAt = Clock.wallSeconds()
      page.pointee.changedInstant = Clock.now().milliseconds
    }
    page.pointee.words.set(words)
    clinux_end_change(&page.pointee.sequence)
  }

  @inline(never)
  func know(_ version: UnsafePointer<CChar>, _ suite: UnsafePointer<CChar>) {
    clinux_begin_change(&page.pointee.sequence)
    page.pointee.version.set(CString.span(version))
    page.pointee.suite.set(CString.span(suite))
    clinux_end_change(&page.pointee.sequence)
  }

  /// - Parameter certificateEnd: UNIX seconds, when our certificate expires.
  @inline(never)
  func know(certificateEnd: Int64) {
    clinux_begin_change(&page.pointee.sequence)
    page.pointee.certificateEnd = certificateEnd
    clinux_end_change(&page.pointee.sequence)
  }

  /// - Parameter suppressed: what was said of a token that is suppressed from now on.
  @inline(never)
  func know(suppressed words: Span<UInt8>) {
    clinux_begin_change(&page.pointee.sequence)
    page.pointee.suppressedAt = Clock.wallSeconds()
    page.pointee.suppressedWords.set(words)
    clinux_end_change(&page.pointee.sequence)
  }

  /// That clock is a tick of the kernel's late at most, in nanoseconds; and newer kernels know some times exactly.
  private static let tick: Int64 = 10_000_000

  /// Notifications are on their way, or accepted, for the first time: as the link counts them.
  ///
  /// - Parameter since: files that came before, in UNIX nanoseconds, came by another clock.
  @inline(never)
  func count(_ courier: borrowing Courier, _ link: borrowing PushLink, since: Int64) {
    var now = timespec()
    // The clock that file systems use.
    clock_gettime(CLOCK_REALTIME_COARSE, &now)
    let wall = clinux_nanoseconds(&now)
    let instant = Clock.now()
    clinux_begin_change(&page.pointee.sequence)
    link.forEachCounted { stretch in
      let came = courier.file(of: stretch).changeTimeNs
      let latency: Duration? =
        came >= since && came - Self.tick <= wall
        ? .milliseconds(UInt64(max(wall - came, 0)) / 1_000_000) : nil
      page.pointee.traffic.add(UInt64(stretch.count), latency: latency, at: instant)
    }
    clinux_end_change(&page.pointee.sequence)
  }

  /// Notes what the log says is wrong.
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
