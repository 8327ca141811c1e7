import CLinux

/// What the agent lets others see of it: a page that it keeps mapped, and that `tinypush status` reads without waking it.
public struct StatusPage {
  public enum Link: UInt32 {
    case down
    case connecting
    case up
  }

  /// "TPS2": changes with the layout.
  static let layout: UInt32 = 0x5450_5332

  public var magic: UInt32 = Self.layout
  public var processID: Int32 = 0
  public var link: UInt32 = 0
  /// What keeps files in `new/`: 1: what was delivered cannot be removed; 2: `failed/` cannot be written to.
  public var held: UInt32 = 0
  /// UNIX seconds: when the agent started, and when the link's state last changed.
  public var startedAt: Int64 = 0
  public var changedAt: Int64 = 0
  public var inFlight: UInt64 = 0
  public var counters = Counters()
  /// NUL-terminated: to whom it is connected, or why it is not.
  public var words: InlineArray<256, UInt8> = .init(repeating: 0)

  public init() {}

  public mutating func say(_ text: Span<UInt8>) {
    let count = min(text.count, 255)
    for index in 0..<count { words[index] = text[index] }
    words[count] = 0
  }
}

/// The page mapped into memory; nobody's when the file could not be made, so that status never hinders delivery.
struct MappedStatusPage: ~Copyable {
  private let page: UnsafeMutablePointer<StatusPage>
  private let isMapped: Bool

  init(_ path: UnsafePointer<CChar>) {
    let size = MemoryLayout<StatusPage>.size
    let descriptor =
      path.pointee == 0 ? -1 : clinux_open(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o644)
    var mapping: UnsafeMutableRawPointer?
    if descriptor >= 0 {
      // Room is taken now: a page without it is death by SIGBUS when it is written to.
      // It is for everybody, whatever else this process makes.
      _ = fchmod(descriptor, 0o644)
      if posix_fallocate(descriptor, 0, off_t(size)) == 0 {
        mapping = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        if mapping == UnsafeMutableRawPointer(bitPattern: -1) { mapping = nil }
      }
      CLinux.close(descriptor)
    }
    isMapped = mapping != nil
    if let mapping {
      page = mapping.bindMemory(to: StatusPage.self, capacity: 1)
    } else {
      page = UnsafeMutablePointer<StatusPage>.allocate(capacity: 1)
    }
    page.initialize(to: StatusPage())
    page.pointee.processID = getpid()
    page.pointee.startedAt = Clock.wallSeconds()
    page.pointee.changedAt = page.pointee.startedAt
  }

  deinit {
    if isMapped { munmap(page, MemoryLayout<StatusPage>.size) } else { page.deallocate() }
  }

  /// - Parameter time: UNIX seconds.
  func start(at time: Int64) { page.pointee.startedAt = time }

  func update(_ counters: Counters, inFlight: Int, held: UInt32) {
    page.pointee.counters = counters
    page.pointee.held = held
    page.pointee.inFlight = UInt64(inFlight)
  }

  func change(_ link: StatusPage.Link, words: Span<UInt8>) {
    page.pointee.link = link.rawValue
    page.pointee.changedAt = Clock.wallSeconds()
    page.pointee.say(words)
  }
}

extension StatusPage {
  /// Why there is no page to read.
  public enum Problem: Error {
    case cannotOpen(Int32)
    case notAPage
  }

  /// The page that an agent keeps at `path`.
  public static func read(_ path: UnsafePointer<CChar>) throws(Problem) -> StatusPage {
    let descriptor = clinux_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
    guard descriptor >= 0 else { throw .cannotOpen(-descriptor) }
    defer { CLinux.close(descriptor) }
    var page = StatusPage()
    let count = withUnsafeMutableBytes(of: &page) {
      CLinux.read(descriptor, $0.baseAddress, $0.count)
    }
    guard Int(count) == MemoryLayout<StatusPage>.size, page.magic == layout else { throw .notAPage }
    page.words[255] = 0
    return page
  }

  /// Whether the process that kept it still runs.
  public var isAlive: Bool { kill(processID, 0) == 0 || clinux_errno() == EPERM }
}
