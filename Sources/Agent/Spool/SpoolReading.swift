import CLinux
import TinyPush

/// Reading of the courier's files in `new/`.
extension SpoolDirectory {
  /// Opens the courier's file and reads its first part.
  mutating func open(_ courier: inout Courier) {
    // These flags keep a link or a pipe from blocking the agent.
    let descriptor = courier.fileName().withCPath {
      clinux_open(new.number, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0)
    }
    guard descriptor >= 0 else { return couldNotOpen(-descriptor, &courier) }
    var information = stat()
    var birth: Int64 = 0
    let result =
      courier.wantsBirth
      ? clinux_stat(descriptor, &information, &birth) : fstat(descriptor, &information)
    guard result == 0, clinux_is_regular(&information) != 0 else {
      CLinux.close(descriptor)
      courier.couldNotOpen(.notRegular)
      return
    }
    let mayBeUnfinished = courier.mayBeUnfinished
    if mayBeUnfinished, clinux_block_writers(descriptor) == 1 {
      CLinux.close(descriptor)
      courier.couldNotOpen(.beingWritten)
      return
    }
    var identity = FileIdentity(&information)
    var delivered: Int64 = 0
    let size = identity.size
    if let known = courier.known(inode: identity.inode) {
      let comparison = LeavingDirectory.compare(
        descriptor, &information, known.identity, known.content, courier.inputRoom)
      if comparison != .other {
        if courier.isNewFile { delivered = known.content.bytes } else { identity = known.identity }
      }
    }
    let offset = courier.readOffset
    let room = courier.inputRoom
    let count = Descriptor.read(descriptor, room, at: offset)
    guard count >= 0 else {
      CLinux.close(descriptor)
      courier.couldNotOpen(.unreadable(Int32(-count)))
      return
    }
    let isWhole = offset + Int64(count) >= size
    if isWhole {
      CLinux.close(descriptor)
    } else {
      if mayBeUnfinished { clinux_unblock_writers(descriptor) }
      file = descriptor
    }
    let lastByte = isWhole || offset > 0 ? .closeBrace : Self.lastByte(descriptor, size)
    courier.opened(
      identity, bytes: count, isWhole: isWhole, lastByte: lastByte, delivered: delivered,
      birth: birth)
  }

  @inline(never)
  private func couldNotOpen(_ error: Int32, _ courier: inout Courier) {
    var information = stat()
    let isKnown =
      courier.fileName().withCPath {
        fstatat(new.number, $0, &information, AT_SYMLINK_NOFOLLOW)
      } == 0
    if error == EACCES, isKnown, clinux_is_regular(&information) != 0 {
      courier.couldNotRead(FileIdentity(&information), error)
    } else {
      courier.couldNotOpen(OpenFailure(errno: error))
    }
  }

  /// Returns the last of the final 16 bytes that is not white space; 0 if absent.
  private static func lastByte(_ descriptor: Int32, _ size: Int64) -> UInt8 {
    var bytes: InlineArray<16, UInt8> = .init(repeating: .space)
    var span = bytes.mutableSpan
    let from = max(size - 16, 0)
    _ = span.withUnsafeMutableBufferPointer { Descriptor.read(descriptor, $0, at: from) }
    for index in 0..<16 where bytes[15 - index] > .space { return bytes[15 - index] }
    return 0
  }

  /// Reads the next part of the open file.
  mutating func read(_ courier: inout Courier) {
    let count = Descriptor.read(file, courier.inputRoom, at: courier.readOffset)
    if count <= 0 { closeFile() }
    if count < 0 {
      courier.couldNotRead(Int32(-count))
    } else {
      courier.filled(bytes: count, isWhole: count == 0)
    }
  }

  mutating func closeFile() {
    guard file >= 0 else { return }
    CLinux.close(file)
    file = -1
  }

  /// Reads the next part of the file that the courier surveys.
  func survey(_ courier: inout Courier) {
    let descriptor = courier.surveyName().withCPath {
      clinux_open(new.number, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0)
    }
    guard descriptor >= 0 else { return courier.couldNotSurvey() }
    defer { CLinux.close(descriptor) }
    var information = stat()
    guard fstat(descriptor, &information) == 0, clinux_is_regular(&information) != 0 else {
      return courier.couldNotSurvey()
    }
    let offset = courier.surveyOffset
    let count = Descriptor.read(descriptor, courier.surveyRoom, at: offset)
    guard count >= 0 else { return courier.couldNotSurvey() }
    let identity = FileIdentity(&information)
    courier.surveyed(
      identity, bytes: count, isWhole: count == 0 || offset + Int64(count) >= identity.size)
  }
}

extension OpenFailure {
  init(errno: Int32) {
    switch errno {
    case ENOENT: self = .vanished
    case ELOOP, ENXIO, ENODEV: self = .notRegular
    case EMFILE, ENFILE, ENOMEM, EAGAIN: self = .later
    default: self = .unreadable(errno)
    }
  }
}
