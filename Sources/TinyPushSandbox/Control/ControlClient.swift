import CLinux
import TinyPush
import TinyPushAgent

/// Sends requests to the sandbox that runs in a directory.
public enum ControlClient {
  /// The time limit for an answer.
  private static let timeoutSeconds: Int32 = 10

  /// Sends a request, and returns the exit status.
  ///
  /// - Parameter text: the answer, or else what is wrong.
  public static func ask(
    _ request: borrowing ControlRequest, in directory: UnsafePointer<CChar>, _ text: inout Text
  ) -> ExitStatus {
    let home = clinux_open(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY, 0)
    guard home >= 0 else { return fail(-home, directory, &text) }
    defer { close(home) }
    let socket = clinux_connect_local(home, ControlListener.name.cString)
    guard socket >= 0 else { return fail(-socket, directory, &text) }
    defer { close(socket) }
    clinux_set_timeout(socket, timeoutSeconds)
    clinux_ignore_broken_pipes()
    guard Home.writeAll(socket, request.text) == 0 else {
      return fail(clinux_errno(), directory, &text)
    }
    shutdown(socket, Int32(SHUT_WR))
    var answer = Text(capacity: ControlConnection.answerBytesMax)
    let piece = FixedBuffer<UInt8>(capacity: 4096)
    while true {
      let got = CLinux.read(socket, piece.room().baseAddress, piece.capacity)
      if got < 0 && clinux_errno() == EINTR { continue }
      guard got >= 0 else { return fail(clinux_errno(), directory, &text) }
      guard got > 0 else { break }
      answer.append(piece, count: got)
    }
    guard answer.count > 0, let status = ExitStatus(rawValue: Int32(answer.bytes[0])) else {
      return fail(ECONNRESET, directory, &text)
    }
    text.append(bytes: answer.bytes.extracting(1..<answer.count))
    return status
  }

  private static func fail(
    _ error: Int32, _ directory: UnsafePointer<CChar>, _ text: inout Text
  ) -> ExitStatus {
    switch error {
    case ENOENT, ENOTDIR, ECONNREFUSED:
      text.append("no sandbox runs in ", printable: CString.span(directory))
      text.append(": start one with `tinypush sandbox --dir DIR`, or name its directory with --dir")
      return .unavailable
    case EAGAIN, ECONNRESET, EPIPE:
      text.append("the sandbox in ", printable: CString.span(directory), " does not answer")
      return .tryLater
    default:
      text.append(printable: CString.span(directory))
      text.append(": ", cString: clinux_error_text(error))
      return error == EACCES ? .noPermission : .unavailable
    }
  }
}
