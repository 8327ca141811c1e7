import CLinux
import TinyPush

/// The inotify watches of the spool and of the suppression list's directory.
///
/// They report new files in `new/`, changed files in `taken/`, removed files in `later/`, and replaced
/// directories. Events are only hints: the queue overflows, inotify may be unavailable, and network file systems report
/// nothing.
struct SpoolWatch: ~Copyable {
  /// The time after which a failed watch is retried.
  static let pause = Duration.seconds(30)

  private(set) var descriptor: Int32 = -1
  private var root: Int32 = -1
  private var new: Int32 = -1
  private var taken: Int32 = -1
  private var later: Int32 = -1
  private var state: Int32 = -1
  /// The errno while the spool cannot be watched; else 0.
  private(set) var error: Int32 = 0
  /// When to retry a failed watch.
  private(set) var retryAt: Instant?

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Watches the directory of the suppression list at `path`.
  ///
  /// If that fails, the agent notices changes at the next scan of the spool.
  mutating func watchState(_ path: UnsafePointer<CChar>) {
    guard descriptor >= 0 else { return }
    let mask = UInt32(IN_MOVED_TO | IN_DELETE | IN_ONLYDIR | IN_MASK_ADD)
    state = inotify_add_watch(descriptor, path, mask)
  }

  /// Watches the spool at `path`, again if it was watched before.
  mutating func start(_ path: UnsafePointer<CChar>, epoll: Int32) {
    error = 0
    if descriptor < 0 {
      descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
      if descriptor < 0 { error = clinux_errno() }
      _ = clinux_epoll_set(epoll, EPOLL_CTL_ADD, descriptor, EPOLLIN.rawValue)
    }
    if new >= 0 { inotify_rm_watch(descriptor, new) }
    if taken >= 0 { inotify_rm_watch(descriptor, taken) }
    root = add(path, "", IN_CREATE | IN_MOVED_TO | IN_ONLYDIR)
    new = add(path, "/new", IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR)
    taken = add(path, "/taken", IN_CLOSE_WRITE | IN_MODIFY | IN_ONLYDIR)
    retryAt = error == 0 ? nil : Clock.now() + Self.pause
    watchLater(path)
  }

  /// Watches `later/`, which is created when the first file has to wait there.
  ///
  /// The agent itself moves files out of it, and rarely removes one.
  mutating func watchLater(_ path: UnsafePointer<CChar>) {
    let wasWrong = error
    later = add(path, "/later", IN_DELETE | IN_ONLYDIR)
    error = wasWrong
  }

  private mutating func add(_ path: UnsafePointer<CChar>, _ part: StaticString, _ mask: Int32)
    -> Int32
  {
    var text = Text(capacity: 4200)
    text.append(cString: path)
    text.append(part)
    let watch = text.withCString { inotify_add_watch(descriptor, $0, UInt32(mask)) }
    if watch < 0, error == 0 { error = clinux_errno() }
    return watch
  }

  enum Event {
    /// Events were lost, so everything must be scanned.
    case missed
    /// Another directory has the name `new`.
    case replaced
    /// A file was created in `new/` under this name.
    case created(UnsafePointer<CChar>)
    /// A file of this name in `new/` was closed after writing.
    case closed(UnsafePointer<CChar>)
    /// A file was renamed into `new/` under this name.
    case renamed(UnsafePointer<CChar>)
    /// A program wrote to the file of this name in `taken/`, or closed it.
    case takenChanged(UnsafePointer<CChar>)
    /// Somebody has removed files from `taken/`, by `tinypush queue drop`.
    case dropped
    /// The directory `later/` was created.
    case laterMade
    /// A file was removed from `later/`.
    case laterRemoved
    /// The suppression list was replaced.
    case suppressed
    case other
  }

  /// Reads the pending events into `room`, and returns the number of bytes.
  func read(into room: UnsafeMutableBufferPointer<UInt8>) -> Int {
    CLinux.read(descriptor, room.baseAddress, room.count)
  }

  /// Returns the event at `place`, and moves `place` behind it.
  func event(in room: UnsafeMutableBufferPointer<UInt8>, at place: inout Int) -> Event {
    let event = UnsafeRawPointer(room.baseAddress! + place)
    let watch = event.load(as: Int32.self)
    let mask = event.load(fromByteOffset: 4, as: Int32.self)
    let length = Int(event.load(fromByteOffset: 12, as: UInt32.self))
    place += 16 + length
    if mask & IN_Q_OVERFLOW != 0 { return .missed }
    guard length > 0 else { return .other }
    let name = (event + 16).assumingMemoryBound(to: CChar.self)
    if watch == new {
      if mask & IN_CREATE != 0 { return .created(name) }
      return mask & IN_MOVED_TO != 0 ? .renamed(name) : .closed(name)
    }
    if watch == taken {
      return CString.span(name).equals(TakenDirectory.dropMark.span)
        ? .dropped : .takenChanged(name)
    }
    if watch == root, mask & IN_DELETE == 0 {
      if CString.span(name).equals("new") || CString.span(name).equals("taken") { return .replaced }
      if CString.span(name).equals("later") { return .laterMade }
    }
    if watch == later { return CString.span(name)[0] == .dot ? .other : .laterRemoved }
    return watch == state ? .suppressed : .other
  }
}
