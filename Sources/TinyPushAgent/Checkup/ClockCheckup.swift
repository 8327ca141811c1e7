import CLinux
import TinyPush

extension Checkup {
  /// Checks whether the clock is set, and whether a time service keeps it.
  ///
  /// Only the gateway's certificate can show, roughly, whether the time is right.
  @inline(never)
  mutating func checkClock() {
    report.begin("clock")
    let now = Clock.wallSeconds()
    isClockSet = Clock.time().wallSeconds != nil
    report.message.append(utc: UInt32(clamping: now))
    guard isClockSet else {
      report.message.append(
        " is before this program was built: the clock is not set, so no certificate seems valid yet"
      )
      report.advice.append(
        "set the clock (date -s), and run a time service: systemctl enable --now systemd-timesyncd")
      return report.report("time", .wrong(.tryLater))
    }
    guard clinux_is_clock_kept() != 0 else {
      report.message.append(", but the kernel knows of no time service that keeps the clock")
      report.advice.append("is there a time service? Run timedatectl")
      return report.report("time", .warning)
    }
    report.report("time")
  }
}
