import CLinux
import TinyPush

/// Standard input, output and error.
public enum StandardStreams {
  /// Opens /dev/null for each of them that is closed.
  ///
  /// Otherwise the first file that the program opens would take its place, and messages would be
  /// written into that file. Reading standard input, or writing to the others, still fails.
  public static func reserve() {
    var information = stat()
    for stream in 0...STDERR_FILENO where fstat(stream, &information) != 0 {
      _ = clinux_open(
        AT_FDCWD, ("/dev/null" as StaticString).cString,
        stream == STDIN_FILENO ? O_WRONLY : O_RDONLY, 0)
    }
  }

  /// Ends the program because standard output takes no more, as a broken pipe does.
  ///
  /// Otherwise output that lacks its end would look whole.
  static func couldNotWrite(_ error: Int32) -> Never {
    var text = Text()
    text.append("cannot write to standard output: ", cString: clinux_error_text(error), "\n")
    _ = Descriptor.writeAll(STDERR_FILENO, text.bytes)
    exit(ExitStatus.inputOutput.rawValue)
  }
}
