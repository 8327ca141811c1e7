import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The notifications on standard input, which are checked while they are copied into the spool.
struct NotificationStream {
  /// The most problems that are printed; further ones are only counted.
  private static let shownMax: UInt64 = 20

  private(set) var notifications: UInt64 = 0
  private(set) var refused: UInt64 = 0
  /// Why standard input cannot be read (errno).
  private(set) var error: Int32 = 0

  init() {}

  /// Copies the notifications up to the first wrong one, and prints what is wrong.
  @inline(never)
  mutating func copy(
    _ source: inout SourceText, to box: borrowing DropBox, _ config: borrowing Config,
    _ warnings: inout SuppressionWarnings, _ arguments: borrowing Arguments
  ) throws(DropBox.Problem) {
    try box.write(source.text)
    var report = CheckReport(to: STDERR_FILENO)
    var reader = NotificationReader()
    var findings = Findings()
    reading: while true {
      let refusal: Finding
      switch reader.next(
        in: source.text, isWhole: source.isWhole, config.courier.rules, &findings)
      {
      case .notification(let notification):
        let recipients = config.recipients.span
        guard let finding = RecipientsFile.missing(notification, of: source.text, in: recipients)
        else {
          notifications += 1
          warnings.look(at: notification, in: source.text, arguments)
          continue
        }
        refusal = finding
      case .refused(let finding, _): refusal = finding
      case .more(let from):
        reader.resume(at: source.readOn(from: from, &report))
        if refused == 0 { try box.write(source.fresh) }
        continue
      case .end: break reading
      }
      refused += 1
      guard refused <= Self.shownMax else { continue }
      report.take(refusal)
      report.report(&source, refusal.offset, isWarning: false)
    }
    report.flush()
    if case .cannotRead(let number) = source.failure { error = number }
  }
}
