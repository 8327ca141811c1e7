import CLinux
import TinyPush

/// A connection to the control socket, for one request and one answer.
final class ControlConnection {
  static let answerBytesMax = 256 * 1024
  /// The time limit of a connection.
  private static let timeMs: Int64 = 10_000

  let descriptor: Int32
  let deadlineMs: Int64
  private var request: ControlRequest
  private var answer = Text(capacity: answerBytesMax)
  private var answered = 0
  private(set) var isOver = false
  /// The events that the connection waits for.
  private(set) var interest = EPOLLIN.rawValue

  /// Takes over the descriptor.
  init(_ descriptor: Int32, nowMs: Int64) {
    self.descriptor = descriptor
    deadlineMs = nowMs + Self.timeMs
    request = ControlRequest()
  }

  deinit { close(descriptor) }

  /// Continues, since the socket can be read or written.
  func ready(_ commands: DeviceCommands) {
    if answer.count == 0 { read(commands) }
    if answer.count > 0 { write() }
  }

  private func read(_ commands: DeviceCommands) {
    let piece = FixedBuffer<UInt8>(capacity: 4096)
    while true {
      let got = CLinux.read(descriptor, piece.room().baseAddress, piece.capacity)
      if got > 0 {
        request.text.append(piece, count: got)
        if request.isTooLarge {
          isOver = true
          return
        }
      } else if got == 0 {
        commands.answer(request.text.bytes, in: &answer)
        interest = EPOLLOUT.rawValue
        return
      } else if clinux_errno() != EINTR {
        isOver = clinux_errno() != EAGAIN
        return
      }
    }
  }

  private func write() {
    while answered < answer.count {
      let put = Self.write(answer, from: answered, to: descriptor)
      if put > 0 {
        answered += put
      } else if clinux_errno() != EINTR {
        isOver = clinux_errno() != EAGAIN
        return
      }
    }
    isOver = true
  }

  private static func write(_ text: borrowing Text, from start: Int, to descriptor: Int32) -> Int {
    text.bytes.extracting(start..<text.count).withUnsafeBytes { bytes in
      CLinux.write(descriptor, bytes.baseAddress, bytes.count)
    }
  }
}
