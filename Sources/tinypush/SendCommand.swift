import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush send`, which puts notifications into the spool.
enum SendCommand {
  static let command = Command(
    "send", "put a notification into the spool", options: options,
    usage: """
      Usage: tinypush send [TEXT] [OPTION]...
         or: COMMAND | tinypush send - [OPTION]...
      Writes a notification file into the spool and prints the file's name. The file
      is on disk when the command ends. This needs no running agent and no keys, only
      the right to write to the spool. With -, reads the text from standard input; or,
      if that begins with {, notifications in the form of a notification file, and
      queues either all or none.

      Recipients; without any of these, the recipients file "default":
        --to NAME             a recipients file; repeatable
        --token HEX           a device token, in hex digits or base64; repeatable
      Content:
        --title TEXT          the alert's title
        --subtitle TEXT       the line below the title
        --lang LANGUAGE=TEXT  the text for devices with this language; repeatable
        --badge N             the number on the app's icon; 0 removes it
        --sound NAME          the sound to play: default, or a file in the app
        --category NAME       the set of actions to offer
        --thread ID           the group of alerts that the device shows together
        --level LEVEL         passive, active, time-sensitive or critical
        --url URL             what a tap on the alert opens
        --icon URL            a picture beside the alert
        --image URL           a picture in the alert
        --group NAME          the group of alerts in the app's history
        --copy TEXT           the text that the alert offers to copy
        --data KEY=VALUE      a text for the app, beside aps; KEY:=JSON for a value
                              of another type; repeatable
        --content-available   wake the app without showing anything
        --payload FILE|-      the whole payload as JSON, instead of the options above
        --no-trim             refuse a text that is too long, and do not shorten it
        --trim                shorten the text of a payload that would be too large
      Delivery:
        --priority 10|5|1     10: at once; 5: when it saves the device's power; 1:
                              without waking the device
        --push-type TYPE      what kind of push: alert, background, voip ...
        --topic TOPIC         the app's bundle ID, instead of the configured one
        --id UUID             the ID of the notification at Apple's service
        --ttl TIME            how long the notification is valid, in the spool and at
                              the service; 0: the service does not store it
        --expiration WHEN     the same as a date
        --not-before WHEN     hold the notification in the spool until then
        --collapse-id ID      replace a waiting notification that has this ID and the
                              same recipients
        --again-after TIME    skip devices that got the same content within TIME
        --urgent              ignore the limits that the configuration sets
        --registered WHEN     when the app last registered its tokens, in the past
        --wait[=TIME]         wait for the outcome, for 60s if no time is given
        --no-sync             do not wait for the disk
        --quiet               do not print the name
        --json                print a line of JSON instead: name, notifications,
                              and with --wait outcome and recipients
        --dry-run             print the notification, and queue nothing
      \t\

      TIME is in seconds, or has a unit (90s, 10m, 2h, 1d). WHEN is UNIX seconds, a
      time from now with a unit, or a date: 2026-12-24 or 2026-12-24T18:00 in local
      time, 2026-12-24T18:00Z or 2026-12-24T18:00+01:00.

      Exit status: 0 the notification is queued; 65 the agent would refuse it. With
      --wait: 0 the service has accepted it for every recipient; 65 it was refused for
      a recipient; 1 it was not sent to a recipient for another reason, which is
      printed; 75 the outcome is not known in time.

      """, run)

  private enum Flag: Int {
    case to, token, lang, data
    case title, subtitle, badge, sound, category, thread, level, contentAvailable, url, icon,
      image, group, copy, payload, noTrim, trim
    case priority, pushType, topic, id, ttl, expiration, notBefore, collapseID, registered
    case againAfter, urgent
    case wait, noSync, quiet, json, dryRun

    var isRepeatable: Bool { rawValue <= Flag.data.rawValue }
    /// Whether the option belongs to the notification, not to the way it is queued.
    var isContent: Bool { rawValue < Flag.wait.rawValue }
  }

  /// The names of the options, in the order of ``Flag``.
  static var options: StaticString {
    "to= token= lang= data= title= subtitle= badge= sound= category= thread= level= content-available url= icon= image= group= copy= payload= no-trim trim priority= push-type= topic= id= ttl= expiration= not-before= collapse-id= registered= again-after= urgent wait? no-sync quiet json dry-run"
  }

  /// The options about queueing, as opposed to those about the notification's content.
  private struct QueueOptions {
    var isSynced = true
    var isQuiet = false
    var isJSON = false
    var isDryRun = false
    var waitSeconds: UInt64?
    /// The dates that were given, in UNIX seconds; 0: none.
    var expiration: UInt64 = 0
    var notBefore: UInt64 = 0
    /// Whether `--wait` was given without a time.
    var isWaitBare = false
    /// Whether notifications are read from standard input.
    var isStream = false
    /// The last option about the content.
    var content: Flag?
    /// A descriptor of the signals that end the wait; -1: they end the program.
    var signals: Int32 = -1
  }

  static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var composition = Composition(arguments: arguments.countMax)
    let queueing = try read(&arguments, into: &composition)
    return try perform(queueing, &composition, arguments)
  }

  // MARK: - Options

  private static func read(
    _ arguments: inout Arguments, into composition: inout Composition
  ) throws(ExitStatus) -> QueueOptions {
    var queueing = QueueOptions()
    var content: Flag?
    var given: UInt64 = 0
    while let option = try arguments.next() {
      guard let flag = Flag(rawValue: option) else { continue }
      if !flag.isRepeatable, given & (1 << UInt64(option)) != 0 {
        throw fail(flag, " may be given only once", nil, arguments)
      }
      given |= 1 << UInt64(option)
      if flag.isContent { content = flag }
      try take(flag, &composition, &queueing, arguments)
    }
    guard !queueing.isQuiet || !queueing.isJSON else {
      throw arguments.fail(.usage, "give either --quiet or --json")
    }
    if queueing.expiration > 0, queueing.expiration <= queueing.notBefore {
      throw fail(
        .expiration, " is not after --not-before, so that nobody would get the alert", nil,
        arguments)
    }
    try SendMistakes.refuse(
      hasTitle: composition.draft.has(.title), isWaitBare: queueing.isWaitBare, arguments)
    if let operand = arguments.operand(0) {
      let text = CString.span(operand)
      queueing.isStream = text.equals("-")
      if !queueing.isStream { composition.take(text) }
    }
    queueing.content = content
    return queueing
  }

  @inline(never)
  private static func take(
    _ flag: Flag, _ composition: inout Composition, _ queueing: inout QueueOptions,
    _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    let part = Draft.Key(arguments.name(of: flag.rawValue))
    let value = arguments.value()
    switch flag {
    case .to: composition.add(list: clinux_option_argument())
    case .token: composition.draft.add(token: value)
    case .lang: composition.add(language: clinux_option_argument())
    case .data:
      guard composition.add(data: value) else {
        throw fail(flag, " takes KEY=VALUE, or KEY:=JSON with a JSON value, not ", value, arguments)
      }
    case .payload: composition.payloadPath = clinux_option_argument()
    case .title, .subtitle, .sound, .category, .thread, .url, .icon, .image, .group, .copy,
      .pushType, .topic, .id, .collapseID:
      composition.draft.set(part!, to: value)
    case .level:
      // Source: Generating a remote notification, table 1.
      let levels: WordList = "passive active time-sensitive critical"
      if levels.index(of: value) == nil {
        throw fail(
          flag, " takes passive, active, time-sensitive or critical, not ", value, arguments,
          nearest: levels)
      }
      composition.draft.set(.level, to: value)
    case .noTrim: composition.isUntrimmed = true
    case .contentAvailable: composition.draft.set(.contentAvailable, to: 1)
    case .trim, .urgent: composition.draft.set(part!, to: ("true" as StaticString).span)
    case .badge, .priority:
      guard let number = Config.number(value) else {
        throw fail(flag, " must be a whole number, not ", value, arguments)
      }
      composition.draft.set(part!, to: number)
    case .ttl, .againAfter, .wait:
      var seconds: UInt64? = 60
      if flag != .wait || arguments.hasValue { seconds = TimeArgument.seconds(value) }
      guard let seconds else {
        throw fail(flag, " takes a time such as 90s, 10m, 2h or 1d, not ", value, arguments)
      }
      if flag == .wait {
        queueing.waitSeconds = seconds
        queueing.isWaitBare = !arguments.hasValue
      } else {
        composition.draft.set(part!, to: seconds)
      }
    case .registered:
      guard let date = TimeArgument.past(value) else {
        throw fail(flag, TimeArgument.takesPast, value, arguments)
      }
      composition.draft.set(part!, to: UInt64(date))
    case .expiration, .notBefore:
      // With a clock that counts from 1970, the date would be wrong, and nobody would notice.
      guard Clock.time().wallSeconds != nil || !TimeArgument.isFromNow(value) else {
        throw fail(
          flag,
          flag == .expiration
            ? ": this machine's clock is not set: use --ttl, which needs no clock, instead of "
            : ": this machine's clock is not set: try again once it is set, or give a date such as 2026-12-24T18:00 instead of ",
          value, arguments, .tryLater)
      }
      guard let date = TimeArgument.date(value, now: Clock.wallSeconds()) else {
        throw fail(
          flag,
          " takes UNIX seconds, a time from now such as 10m, or a date such as 2026-12-24T18:00, not ",
          value, arguments)
      }
      // 0 is no date: it asks the service to store nothing.
      if flag == .expiration, date > 0, date <= Clock.time().wallSeconds.map(UInt64.init) ?? 0 {
        throw fail(flag, " is in the past, so that nobody would get the alert: ", value, arguments)
      }
      if flag == .expiration { queueing.expiration = UInt64(clamping: date) }
      if flag == .notBefore { queueing.notBefore = UInt64(clamping: date) }
      composition.draft.set(part!, to: UInt64(clamping: date))
    case .noSync: queueing.isSynced = false
    case .quiet: queueing.isQuiet = true
    case .json: queueing.isJSON = true
    case .dryRun: queueing.isDryRun = true
    }
  }

  /// Prints what is wrong with an option, followed by its value.
  @inline(never)
  private static func fail(
    _ flag: Flag, _ words: StaticString, _ value: Span<UInt8>?,
    _ arguments: borrowing Arguments, _ status: ExitStatus = .usage, nearest known: WordList? = nil
  ) -> ExitStatus {
    var text = Text(capacity: 2048)
    text.append("--", bytes: arguments.name(of: flag.rawValue))
    text.append(words)
    if let value {
      text.append(printable: value.count > 0 ? value : ("an empty text" as StaticString).span)
      if let known { text.suggest(known.nearest(to: value), of: known, "; did you mean ") }
    }
    return arguments.fail(status, text)
  }

  // MARK: - Queueing

  @inline(never)
  private static func perform(
    _ queueing: QueueOptions, _ composition: inout Composition, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    var config = Config()
    try arguments.readConfig(into: &config, for: .command)
    guard queueing.isStream else {
      return try queue(queueing, &composition, config, arguments)
    }
    var source = SourceText(("-" as StaticString).cString, dup(STDIN_FILENO))
    if source.readText() {
      if case .cannotRead(let error) = source.failure {
        throw arguments.fail(
          .noInput, "nothing was queued: cannot read standard input: ",
          CString.span(clinux_error_text(error)))
      }
      composition.take(source.text)
      var queueing = queueing
      queueing.isStream = false
      return try queue(queueing, &composition, config, arguments)
    }
    if let content = queueing.content {
      guard !source.isBlank else {
        throw arguments.fail(.dataRefused, "nothing was queued: standard input holds no text")
      }
      throw fail(
        content, " cannot be given with notifications on standard input: write it into them", nil,
        arguments)
    }
    guard !queueing.isDryRun else {
      throw arguments.fail(
        .usage, "--dry-run is for a text: check notifications with tinypush check -")
    }
    var count: UInt64 = 0
    var queueing = queueing
    let name = try queueStream(&source, &count, config, &queueing, arguments)
    return finish(name, count, config, queueing, arguments)
  }

  @inline(never)
  private static func queue(
    _ queueing: QueueOptions, _ composition: inout Composition, _ config: borrowing Config,
    _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    let notification = try composition.compose(config, arguments)
    guard !queueing.isDryRun else {
      notification.write(to: STDOUT_FILENO)
      return .ok
    }
    var queueing = queueing
    let name = try queue(notification, config, &queueing, arguments)
    return finish(name, 1, config, queueing, arguments)
  }

  /// Warns a user who cannot read the configuration, and so may have used another spool.
  private static func warnIfUnserved(
    _ config: borrowing Config, _ arguments: borrowing Arguments
  ) {
    var message = Text()
    guard let queue = try? Queue(config.spool.pointer, message: &message),
      queue.isServed() == false
    else { return }
    var text = Text()
    text.append("no agent serves the spool ", printable: config.spool.span)
    text.append("; this user cannot read ", printable: CString.span(arguments.configPath))
    text.append(", which may name another one: give it with -o spool=DIR")
    arguments.warn(text)
  }

  /// Prints the name of the queued file, and waits for its outcome if that is wanted.
  ///
  /// - Parameter count: the number of notifications in the file.
  @inline(never)
  private static func finish(
    _ name: borrowing CString, _ count: UInt64, _ config: borrowing Config,
    _ queueing: QueueOptions, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    if config.isUnread { warnIfUnserved(config, arguments) }
    if queueing.isJSON, queueing.waitSeconds == nil {
      var text = Text(capacity: 1024)
      Waiting.begin(name.span, count, in: &text)
      text.endLine()
      text.write(to: STDOUT_FILENO)
    } else if !queueing.isQuiet, !queueing.isJSON {
      var text = Text(capacity: 300)
      text.append(bytes: name.span)
      text.append("\n")
      text.write(to: STDOUT_FILENO)
    }
    guard let seconds = queueing.waitSeconds else { return .ok }
    return Waiting.run(
      name.span, count, config, seconds: seconds, isStream: queueing.isStream,
      isJSON: queueing.isJSON, signals: queueing.signals, arguments)
  }

  @inline(never)
  private static func queue(
    _ notification: borrowing Text, _ config: borrowing Config, _ queueing: inout QueueOptions,
    _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> CString {
    let spool = config.spool.pointer
    do throws(DropBox.Problem) {
      var box = try DropBox(spool)
      try box.write(notification.bytes)
      return try drop(&box, &queueing)
    } catch {
      throw arguments.fail(error.status, error.text(spool))
    }
  }

  /// Drops a complete file into the spool.
  private static func drop(
    _ box: inout DropBox, _ queueing: inout QueueOptions
  ) throws(DropBox.Problem) -> CString {
    // The line of JSON must tell the name of the file, even if somebody ends the wait.
    if queueing.isJSON, queueing.waitSeconds != nil {
      queueing.signals = clinux_signal_descriptor(0)
    }
    return try box.drop(isSynced: queueing.isSynced, isAwaited: queueing.waitSeconds != nil)
  }

  /// Queues the notifications on standard input, unless one of them would be refused.
  ///
  /// - Parameter count: receives the number of notifications.
  @inline(never)
  private static func queueStream(
    _ source: inout SourceText, _ count: inout UInt64, _ config: borrowing Config,
    _ queueing: inout QueueOptions, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> CString {
    let spool = config.spool.pointer
    var stream = NotificationStream()
    do throws(DropBox.Problem) {
      var box = try DropBox(spool)
      var warnings = SuppressionWarnings(config)
      try stream.copy(&source, to: box, config, &warnings, arguments)
      warnings.end(arguments)
      if stream.error == 0, stream.refused == 0, stream.notifications > 0 {
        count = stream.notifications
        return try drop(&box, &queueing)
      }
    } catch {
      throw arguments.fail(error.status, error.text(spool))
    }
    var text = Text()
    if stream.error != 0 {
      text.append("nothing was queued: cannot read standard input: ")
      text.append(cString: clinux_error_text(stream.error))
      throw arguments.fail(.noInput, text)
    }
    if stream.refused == 0 {
      text.append("standard input holds no notification")
    } else {
      text.append("nothing was queued: ", stream.refused)
      text.append(" of ", stream.notifications + stream.refused, " notifications would be refused")
    }
    throw arguments.fail(.dataRefused, text)
  }
}
