import CLinux
import TinyPush

/// The directory `taken/`, which holds the files that the agent works on.
///
/// Only the agent's user can enter it, so no other program finds a file there by its name. A program
/// that has opened a file before can still write to it.
struct TakenDirectory: ~Copyable {
  static let name: StaticString = "taken"
  /// A file that `tinypush queue drop` makes and removes, so that the agent looks what is gone.
  ///
  /// A watch for each removal would cost the agent an event for each file that it has delivered.
  static let dropMark: StaticString = ".dropped"
  /// How long a settled file stays without a change; the shorter time applies if there are more than
  /// ``filesMax`` such files.
  private static let kept: InlineArray<2, Duration> = [.seconds(600), .seconds(60)]
  private static let filesMax = 1000
  /// The files that were taken last, by a hash of name and arrival.
  private static let recentMax = 16

  private let directory: Descriptor
  private var recent: InlineArray<16, UInt64> = .init(repeating: 0)
  private var nextRecent = 0
  /// The name that a file gets here, followed by a NUL.
  private var target = Text(capacity: 300)
  /// The name here of the file that was taken last.
  var lastName: Span<UInt8> {
    @_lifetime(borrow self) get { target.bytes.extracting(0..<max(target.count - 1, 0)) }
  }

  var number: Int32 { directory.number }

  /// Opens the directory, and creates it if it is missing.
  init?(in root: Int32, error: inout Int32) {
    if mkdirat(root, Self.name.cString, 0o700) == 0 {
      guard let made = Descriptor(root, part: Self.name, error: &error) else { return nil }
      made.belong(to: root)
      directory = made
    } else {
      guard let known = Descriptor(root, part: Self.name, error: &error) else { return nil }
      _ = known.withhold(0o077, 0)
      directory = known
    }
  }

  // MARK: - Taking

  /// Moves a file here, and returns when it came, as its name here says; else -errno.
  ///
  /// Two files that have the same name one after the other differ in the time, by a nanosecond if
  /// the clock of the file system is too coarse.
  ///
  /// - Parameters:
  ///   - source: the directory in which the file has the name.
  ///   - changeTimeNs: the last status change of the file.
  mutating func take(
    _ name: UnsafePointer<CChar>, from source: Int32, _ changeTimeNs: Int64
  ) -> Int64 {
    var arrival = max(changeTimeNs, 0)
    while true {
      let hash = Self.hash(CString.span(name), arrival)
      guard !isRecent(hash) else {
        arrival += 1
        continue
      }
      target.clear()
      TakenName.append(CString.span(name), arrivalNs: arrival, to: &target)
      target.append(byte: 0)
      let error = target.bytes.withCPath { clinux_rename_new(source, name, number, $0) }
      if error == -EEXIST {
        arrival += 1
        continue
      }
      guard error == 0 else { return Int64(error) }
      recent[nextRecent] = hash
      nextRecent = (nextRecent + 1) % Self.recentMax
      return arrival
    }
  }

  /// Whether the file that was taken last is this one, unchanged.
  ///
  /// Before it was taken, another file may have got its name.
  func isLast(_ file: stat) -> Bool {
    var (file, last) = (file, stat())
    return lastName.withCPath { fstatat(number, $0, &last, AT_SYMLINK_NOFOLLOW) } == 0
      && last.st_ino == file.st_ino && last.st_size == file.st_size
      && clinux_modify_time_ns(&last) == clinux_modify_time_ns(&file)
  }

  private func isRecent(_ hash: UInt64) -> Bool {
    for index in recent.indices where recent[index] == hash { return true }
    return false
  }

  private static func hash(_ name: Span<UInt8>, _ arrival: Int64) -> UInt64 {
    var hash = Hash()
    hash.add(name)
    hash.add(UInt64(bitPattern: arrival))
    return hash.value
  }

  // MARK: - Scanning

  /// What is to be done with a file that the courier does not work on.
  private enum Fate {
    case isDelivered, stays, leaves
  }

  /// Offers the files that hold something to deliver to the courier, and lets those leave that are
  /// settled and that nobody writes to.
  func scan(
    _ courier: inout Courier, _ room: UnsafeMutableBufferPointer<UInt8>,
    leave: (UnsafePointer<CChar>, TakenName) -> Bool
  ) {
    var isComplete = true
    var lingering = 0
    for round in Self.kept.indices {
      lingering = 0
      isComplete = DirectoryEntry.forEach(in: number, room) { entry in
        guard entry.mayBeFile, let known = TakenName(CString.span(entry.name)),
          !courier.isUnderWay(CString.span(entry.name))
        else { return }
        switch fate(of: entry.name, known, Self.kept[round], courier) {
        case .isDelivered: courier.offer(CString.span(entry.name), in: .taken)
        case .stays: lingering += 1
        case .leaves: if !leave(entry.name, known) { lingering += 1 }
        }
      }
      if lingering <= Self.filesMax { break }
    }
    courier.scanned(.taken, isComplete: isComplete, lingering: lingering > 0)
  }

  private func fate(
    of name: UnsafePointer<CChar>, _ known: TakenName, _ kept: Duration,
    _ courier: borrowing Courier
  ) -> Fate {
    var error: Int32 = 0
    let file = Descriptor(number, name, SpoolDirectory.flags, error: &error)
    // Nobody can open the file here. So if nobody has it open for writing, its size stays.
    var writer = Writer.unknown
    if let file { writer = Writer(of: file.number) }
    var information = stat()
    guard fstatat(number, name, &information, AT_SYMLINK_NOFOLLOW) == 0 else { return .stays }
    // An empty file from `later/` was torn by a power cut.
    if Int64(information.st_size) > known.offset || known.isReleased && known.offset == 0 {
      return .isDelivered
    }
    switch writer {
    case .somebody: return .stays
    case .unknown:
      let changeTimeNs = clinux_change_time_ns(&information)
      return courier.isUnchanged(since: changeTimeNs, for: kept) ? .leaves : .stays
    case .nobody: return .leaves
    }
  }

  /// Whether the directory has a file that had this name in `new/`.
  func hasFile(named name: Span<UInt8>) -> Bool {
    let buffer = FixedBuffer<UInt8>(capacity: 8192)
    var isFound = false
    DirectoryEntry.forEach(in: number, buffer.room()) { entry in
      if TakenName.source(of: CString.span(entry.name)).equals(name) { isFound = true }
    }
    return isFound
  }
}

/// Whether a program has a file open for writing.
enum Writer {
  case nobody
  case somebody
  /// This user may not ask, because the file belongs to another user.
  case unknown

  /// Asks for writers of an open file.
  init(of descriptor: Int32) {
    switch clinux_is_being_written(descriptor) {
    case 0: self = .nobody
    case 1: self = .somebody
    default: self = .unknown
    }
  }
}
