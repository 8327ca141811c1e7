import CLinux

/// What the agent lets others see of it: a page that it keeps mapped, and that `tinypush status` reads without waking it. It is
/// never made, nor copied, but by way of its bytes, and begins with all of them 0.
public struct StatusPage {
  public enum Link: UInt32 {
    case down
    case connecting
    case up
  }

  /// Something that the log said was wrong.
  public struct Problem: BitwiseCopyable {
    /// UNIX seconds: when it was last said.
    public var time: Int64 = 0
    /// How often in a row; 0: there is none.
    public var count: UInt32 = 0
    public fileprivate(set) var isError: UInt32 = 0
    fileprivate var text = Words<240>()

    public func append(to text: inout Text) { self.text.append(to: &text) }
  }

  /// "TPS3": changes with the layout.
  static let layout: UInt32 = 0x5450_5333

  var magic: UInt32 = 0
  /// Odd while the agent is changing the page. Stands behind the first number, wherever the rest does.
  fileprivate var sequence: UInt32 = 0
  public var processID: Int32 = 0
  /// Whether an agent still keeps it: found out by whoever reads it.
  fileprivate var aliveness: UInt32 = 0
  fileprivate var linkValue: UInt32 = 0
  /// What keeps files in `new/`: 1: what was delivered cannot be removed; 2: `failed/` cannot be written to.
  public var held: UInt32 = 0
  /// UNIX seconds: when the agent started, and when the link's state last changed.
  public var startedAt: Int64 = 0
  public var changedAt: Int64 = 0
  /// The same, and when it will try to connect again, in milliseconds since this machine started; 0: not at all.
  public var startedInstant: UInt64 = 0
  fileprivate var changedInstant: UInt64 = 0
  public var dialInstant: UInt64 = 0
  /// UNIX seconds: when our certificate expires; 0: not known.
  public var certificateEnd: Int64 = 0
  /// Files in `new/`, and in `later/`. Not exact where there are more than the agent keeps in mind.
  public var files: UInt64 = 0
  public var isFilesExact: UInt32 = 0
  public var later: UInt64 = 0
  /// Notifications sent and not settled.
  public var inFlight: UInt64 = 0
  public var counters = Counters()
  public var traffic = Traffic()
  /// The newest one first.
  public var problems: InlineArray<5, Problem> = .init(repeating: Problem())
  /// To whom it is connected, or why it is not; then the version and the cipher suite of TLS.
  fileprivate var words = Words<256>()
  fileprivate var version = Words<16>()
  fileprivate var suite = Words<80>()

  private init() {}

  /// What the link is; nil when no agent keeps the page any more.
  public var link: Link? { isAlive ? Link(rawValue: linkValue) ?? .down : nil }

  /// Whether an agent still keeps it.
  public var isAlive: Bool { aliveness != 0 }

  public func appendWords(to text: inout Text) { words.append(to: &text) }
  public func appendVersion(to text: inout Text) { version.append(to: &text) }
  public func appendSuite(to text: inout Text) { suite.append(to: &text) }
}

/// A short text in place; what does not fit is cut.
private struct Words<let capacity: Int>: BitwiseCopyable {
  private var count: UInt32 = 0
  private var bytes: InlineArray<capacity, UInt8> = .init(repeating: 0)

  mutating func set(_ text: Span<UInt8>) {
    count = UInt32(min(text.count, capacity))
    for index in 0..<Int(count) { bytes[index] = text[index] }
  }

  /// Whether both say the same, but for numbers, up to the first semicolon, behind which the particulars come.
  func begins(as text: Span<UInt8>) -> Bool {
    var (own, other) = (0, 0)
    while true {
      while own < used, bytes[own].isDigit { own += 1 }
      while other < min(text.count, capacity), text[other].isDigit { other += 1 }
      let isOwnOver = own >= used
      let isOtherOver = other >= min(text.count, capacity)
      if isOwnOver || isOtherOver { return isOwnOver && isOtherOver }
      guard bytes[own] == text[other] else { return false }
      if text[other] == .semicolon { return true }
      own += 1
      other += 1
    }
  }

  /// Another program may have written any count into the page, and an `Int` of 32 bits does not hold each.
  private var used: Int { Int(min(count, UInt32(capacity))) }

  /// Whoever may write to the page may have put anything there.
  func append(to text: inout Text) {
    text.append(printable: bytes.span.extracting(0..<used))
  }
}

// MARK: - The agent's side

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
  func update(_ courier: borrowing Courier, filesFound: Int) {
    let isExact = courier.areFilesKnown
    clinux_begin_change(&page.pointee.sequence)
    page.pointee.counters = courier.counters
    page.pointee.held = courier.heldFlags
    page.pointee.inFlight = UInt64(courier.inFlight)
    page.pointee.files = UInt64(isExact ? courier.files : max(filesFound, courier.files))
    page.pointee.isFilesExact = isExact ? 1 : 0
    page.pointee.later = UInt64(courier.laterFiles)
    page.pointee.dialInstant = courier.nextDialAt?.milliseconds ?? 0
    clinux_end_change(&page.pointee.sequence)
  }

  @inline(never)
  func change(_ link: StatusPage.Link, words: Span<UInt8>) {
    clinux_begin_change(&page.pointee.sequence)
    page.pointee.linkValue = link.rawValue
    page.pointee.changedAt = Clock.wallSeconds()
    page.pointee.changedInstant = Clock.now().milliseconds
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

  /// That clock is a tick of the kernel's late at most, in nanoseconds; and newer kernels know some times exactly.
  private static let tick: Int64 = 10_000_000

  /// What the batch of a courier holds for the first time is written.
  ///
  /// - Parameter since: files that came before, in UNIX nanoseconds, came by another clock.
  @inline(never)
  func count(_ courier: borrowing Courier, since: Int64) {
    var now = timespec()
    // The clock that file systems use.
    clock_gettime(CLOCK_REALTIME_COARSE, &now)
    let wall = clinux_nanoseconds(&now)
    let instant = Clock.now()
    clinux_begin_change(&page.pointee.sequence)
    courier.forEachFirst { file, count in
      let came = file.changeTimeNs
      let latency: Duration? =
        came >= since && came - Self.tick <= wall
        ? .milliseconds(UInt64(max(wall - came, 0)) / 1_000_000) : nil
      page.pointee.traffic.add(UInt64(count), latency: latency, at: instant)
    }
    clinux_end_change(&page.pointee.sequence)
  }

  /// Notes what the log says is wrong.
  @inline(never)
  func note(_ priority: Log.Priority, _ text: Span<UInt8>) {
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

// MARK: - The reader's side

/// A copy of the page that an agent keeps.
public final class StatusReading {
  /// Why there is no page to read.
  public enum Problem: Error {
    case cannotOpen(Int32)
    case notAPage
  }

  private static let tries = 20
  private let memory: UnsafeMutablePointer<StatusPage>

  /// - Parameter path: where the page is kept.
  @inline(never)
  public init(_ path: UnsafePointer<CChar>) throws(Problem) {
    let descriptor = clinux_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
    guard descriptor >= 0 else { throw .cannotOpen(-descriptor) }
    defer { CLinux.close(descriptor) }
    let size = MemoryLayout<StatusPage>.size
    let copy = UnsafeMutablePointer<StatusPage>.allocate(capacity: 1)
    var isWhole = false
    for attempt in 1...Self.tries {
      let before = Self.sequence(descriptor)
      isWhole =
        pread(descriptor, copy, size, 0) == size && copy.pointee.magic == StatusPage.layout
      // It was not changed meanwhile; or the agent was killed in the middle of a change. An agent that starts takes a moment.
      let isSteady = before & 1 == 0 && Self.sequence(descriptor) == before
      if isWhole && isSteady || attempt == Self.tries { break }
      poll(nil, 0, 1)
    }
    guard isWhole else {
      copy.deallocate()
      throw .notAPage
    }
    copy.pointee.aliveness = clinux_is_locked(descriptor) == 0 ? 0 : 1
    memory = copy
  }

  deinit { memory.deallocate() }

  public var page: StatusPage {
    unsafeAddress { UnsafePointer(memory) }
  }

  /// The number behind the page's first.
  private static func sequence(_ descriptor: Int32) -> UInt32 {
    var value: UInt32 = 0
    let size = MemoryLayout<UInt32>.size
    return pread(descriptor, &value, size, off_t(size)) == size ? value : 0
  }
}
