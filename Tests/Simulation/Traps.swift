import Foundation

/// Reports the running seeds when a broken precondition ends the process.
enum Traps {
  private static let lineBytes = 32
  private static let linesMax = 64
  /// Prepared lines, since a signal handler may only write them.
  nonisolated(unsafe) private static let lines: UnsafeMutablePointer<CChar> = {
    let lines = UnsafeMutablePointer<CChar>.allocate(capacity: lineBytes * linesMax)
    lines.initialize(repeating: 0, count: lineBytes * linesMax)
    for number in [SIGILL, SIGTRAP, SIGSEGV] {
      signal(number) { number in
        for line in 0..<Traps.linesMax {
          let start = Traps.lines + line * Traps.lineBytes
          if start[0] != 0 { _ = write(2, start, strlen(start)) }
        }
        signal(number, SIG_DFL)
        raise(number)
      }
    }
    return lines
  }()
  private static let lock = NSLock()

  /// Runs `act`, and reports the seed if that ends in a trap.
  static func reporting<Result>(_ seed: UInt64, _ act: () -> Result) -> Result {
    let line: Int? = lock.withLock {
      for line in 0..<linesMax where lines[line * lineBytes] == 0 {
        strcpy(lines + line * lineBytes, "SEED=\(seed) (a trap)\n")
        return line
      }
      return nil
    }
    defer { if let line { lock.withLock { lines[line * lineBytes] = 0 } } }
    return act()
  }
}
