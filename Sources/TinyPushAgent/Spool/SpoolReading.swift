import CLinux
import TinyPush

/// Reading of the courier's files.
extension SpoolDirectory {
  /// These flags keep a link or a pipe from blocking the agent.
  static let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY

  /// Reads the courier's file on; a file in `new/` is taken first.
  mutating func read(_ courier: inout Courier, from directory: Courier.Directory) {
    var result = directory == .new ? take(&courier) : readTaken(&courier)
    if directory == .new, case .failed(.unreadable(_, let changeTimeNs)) = result,
      courier.takesUnreadable(changeTimeNs: changeTimeNs)
    {
      result = takeUnread(courier, changeTimeNs)
    }
    courier.read(result)
  }

  /// Moves the courier's file from `new/` to `taken/`, where it is read.
  private mutating func takeUnread(
    _ courier: borrowing Courier, _ changeTimeNs: Int64
  ) -> Courier.ReadResult {
    let arrival = courier.stepName().withCPath { taken.take($0, from: new.number, changeTimeNs) }
    guard arrival >= 0 else { return notTaken(courier, Int32(-arrival)) }
    return .text(
      bytes: 0, isWhole: false,
      Courier.FileFacts(
        arrivalNs: arrival, modifiedNs: changeTimeNs, size: 0, mayGrow: true))
  }

  /// Moves the courier's file from `new/` to `taken/`, and reads its first part.
  private mutating func take(_ courier: inout Courier) -> Courier.ReadResult {
    file = nil
    let isWhole = courier.isNewFileWhole
    var error: Int32 = 0
    let opened = courier.stepName().withCPath {
      Descriptor(new.number, $0, Self.flags, error: &error)
    }
    guard let descriptor = opened else { return .failed(failureToOpen(courier, error)) }
    var information = stat()
    guard fstat(descriptor.number, &information) == 0, clinux_is_regular(&information) != 0 else {
      return .failed(.notRegular)
    }
    var mayGrow = false
    if !isWhole {
      switch Writer(of: descriptor.number) {
      case .nobody: break
      case .unknown: mayGrow = true
      case .somebody: return .failed(.busy)
      }
    }
    let room = courier.readRoom()
    let count = Descriptor.read(descriptor.number, room, at: 0)
    guard count >= 0 else {
      return .failed(
        .unreadable(Int32(-count), changeTimeNs: clinux_change_time_ns(&information)))
    }
    if !isWhole, Int64(count) >= Int64(information.st_size), isUnfinished(room, count, &information)
    {
      return .failed(.busy)
    }
    let changeTimeNs = clinux_change_time_ns(&information)
    let arrival = courier.stepName().withCPath { taken.take($0, from: new.number, changeTimeNs) }
    guard arrival >= 0 else { return notTaken(courier, Int32(-arrival)) }
    guard SpoolName.isFromSend(courier.stepName()) || taken.isLast(information) else {
      let modifiedNs = clinux_modify_time_ns(&information)
      return .text(
        bytes: 0, isWhole: false,
        Courier.FileFacts(arrivalNs: arrival, modifiedNs: modifiedNs, size: 0, mayGrow: true))
    }
    fileName.clear()
    fileName.append(bytes: TakenName.constantPart(of: taken.lastName))
    return keep(descriptor, &information, count, at: 0, arrival, mayGrow: mayGrow)
  }

  /// Why a file could not be moved to `taken/`.
  private mutating func notTaken(
    _ courier: borrowing Courier, _ error: Int32
  ) -> Courier.ReadResult {
    // The file or `taken/` may be gone.
    reopenTaken()
    let isThere = courier.stepName().withCPath {
      faccessat(new.number, $0, F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }
    return .failed(isThere ? .notTaken(error) : .vanished)
  }

  /// Whether a file ends within a notification, and was written to a short time ago.
  ///
  /// Then its writer may open the file by its name once more.
  private func isUnfinished(
    _ text: UnsafeMutableBufferPointer<UInt8>, _ count: Int, _ information: inout stat
  ) -> Bool {
    var end = count
    while end > 0, text[end - 1] <= .space { end -= 1 }
    guard end == 0 || text[end - 1] != UInt8(ascii: "}") else { return false }
    let seconds = Clock.wallSeconds() - clinux_modify_time_ns(&information) / 1_000_000_000
    return (0..<Self.patienceSeconds).contains(seconds)
  }

  private static let patienceSeconds: Int64 = 10

  /// Why a file in `new/` cannot be opened.
  private func failureToOpen(_ courier: borrowing Courier, _ error: Int32) -> OpenFailure {
    var information = stat()
    let isKnown =
      courier.stepName().withCPath {
        fstatat(new.number, $0, &information, AT_SYMLINK_NOFOLLOW)
      } == 0
    guard case .unreadable = OpenFailure(errno: error), isKnown else {
      return OpenFailure(errno: error)
    }
    guard clinux_is_regular(&information) != 0 else { return .notRegular }
    return .unreadable(error, changeTimeNs: clinux_change_time_ns(&information))
  }

  /// Reads on in the courier's file in `taken/`.
  private mutating func readTaken(_ courier: inout Courier) -> Courier.ReadResult {
    var error: Int32 = 0
    guard let descriptor = openTaken(courier.stepName(), error: &error) else {
      return .failed(OpenFailure(errno: error))
    }
    var information = stat()
    let offset = courier.readOffset
    let count =
      fstat(descriptor.number, &information) == 0
      ? Descriptor.read(descriptor.number, courier.readRoom(), at: offset) : Int(-clinux_errno())
    guard count >= 0 else { return .failed(.unreadable(Int32(-count))) }
    var mayGrow = courier.mayFileGrow
    if mayGrow, offset + Int64(count) >= Int64(information.st_size) {
      if case .nobody = Writer(of: descriptor.number) { mayGrow = false }
    }
    let arrival = TakenName(courier.stepName())?.arrivalNs ?? 0
    return keep(descriptor, &information, count, at: offset, arrival, mayGrow: mayGrow)
  }

  /// Returns a file in `taken/`, which may be open already.
  private mutating func openTaken(_ name: Span<UInt8>, error: inout Int32) -> Descriptor? {
    let constant = TakenName.constantPart(of: name)
    if let open = file.take() {
      if constant.equals(fileName.bytes) { return open }
    }
    fileName.clear()
    fileName.append(bytes: constant)
    return name.withCPath { Descriptor(taken.number, $0, Self.flags, error: &error) }
  }

  /// Keeps the file open if it goes on behind the bytes that were read.
  private mutating func keep(
    _ descriptor: consuming Descriptor, _ information: inout stat, _ count: Int, at offset: Int64,
    _ arrivalNs: Int64, mayGrow: Bool
  ) -> Courier.ReadResult {
    let size = Int64(information.st_size)
    let isWhole = count == 0 || offset + Int64(count) >= size
    if !isWhole { file = consume descriptor }
    return .text(
      bytes: count, isWhole: isWhole,
      Courier.FileFacts(
        arrivalNs: arrivalNs, modifiedNs: clinux_modify_time_ns(&information), size: size,
        mayGrow: mayGrow))
  }
}

extension OpenFailure {
  init(errno: Int32) {
    switch errno {
    case ENOENT: self = .vanished
    case ELOOP, ENXIO, ENODEV: self = .notRegular
    case EMFILE, ENFILE, ENOMEM: self = .shortage
    // A program holds a lease on the file.
    case EAGAIN: self = .busy
    default: self = .unreadable(errno)
    }
  }
}
