import CLinux
import TinyPush

/// Standard input, output and error.
public enum StandardStreams {
  /// Why standard output took no more: an errno; 0: it took everything.
  nonisolated(unsafe) static var outputError: Int32 = 0

  /// Opens /dev/null for each of them that is closed, and tells at the end what could not be written.
  ///
  /// Otherwise the first file that the program opens would take the place of a stream, and messages
  /// would be written into that file. Reading standard input, or writing to the others, still fails.
  public static func prepare() {
    var information = stat()
    for stream in 0...STDERR_FILENO where fstat(stream, &information) != 0 {
      _ = clinux_open(
        AT_FDCWD, ("/dev/null" as StaticString).cString,
        stream == STDIN_FILENO ? O_WRONLY : O_RDONLY, 0)
    }
    atexit { StandardStreams.reportOutputError() }
  }

  /// Ends the program with another status if standard output took no more.
  ///
  /// Otherwise output that lacks its end would look whole.
  private static func reportOutputError() {
    guard outputError != 0 else { return }
    var text = Text()
    if let name = clinux_arguments()?[0] {
      let path = CString.span(name)
      var start = path.count
      while start > 0, path[start - 1] != .slash { start -= 1 }
      text.append("", printable: path.extracting(start..<path.count), ": ")
    }
    text.append("cannot write to standard output: ", cString: clinux_error_text(outputError), "\n")
    _ = Descriptor.writeAll(STDERR_FILENO, text.bytes)
    _exit(ExitStatus.inputOutput.rawValue)
  }
}
