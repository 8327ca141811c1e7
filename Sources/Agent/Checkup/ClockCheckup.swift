import CLinux
import TinyPush

extension Checkup {
  /// Whether this machine knows what time it is. Whether it is right only the gateway's certificate can tell, and that roughly.
  @inline(never)
  mutating func checkClock() {
    report.begin("clock")
    let now = Clock.wallSeconds()
    isClockSet = Clock.time().wallSeconds != nil
    report.message.append(utc: UInt32(clamping: now))
    guard isClockSet else {
      report.message.append(
        " is before this program was made: the clock is not set, and every certificate looks too new"
      )
      report.advice.append(
        "set it (date -s), and have a time service do so: systemctl enable --now systemd-timesyncd")
      return report.report("time", .wrong(.tryLater))
    }
    guard clinux_is_clock_kept() != 0 else {
      report.message.append(", but nothing keeps it right, as far as the kernel was told")
      report.advice.append("is there a time service? See timedatectl")
      return report.report("time", .warning)
    }
    report.report("time")
  }
}
