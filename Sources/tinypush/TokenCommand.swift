import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush token`, which lists and changes the suppression list.
enum TokenCommand {
  static let command = Command(
    "token", "list or change the suppressed device tokens", options: "json all at=",
    usage: """
      Usage: tinypush token list [--json] [--all]
             tinypush token register TOKEN... [--at TIME]
             tinypush token suppress TOKEN... [--at TIME]
             tinypush token forget TOKEN...
      Lists and changes the suppression list, the device tokens to which nothing is
      sent. A token is in the list because the app is gone from the device, the push
      service called the token invalid, or a user suppressed it. A running agent reads
      the changed list by itself.

        list                  print each token, since when it is suppressed, and why
        register              the app has registered the token: send to it again,
                              unless the app was found gone at a later time
        suppress              send nothing to the token until it is registered
        forget                remove the token from the list
        --at TIME             when it was registered or suppressed, if not now: UNIX
                              seconds, or a date such as 2026-01-24T18:00
        --all                 list also the tokens that are known to be registered
        --json                print a line of JSON for each token
      \t\

      TOKEN is hexadecimal digits in either case, two for each byte; - reads tokens
      from standard input, one a line. The list has the SHA-256 of a token that has
      not 64 digits, and all commands take it in place of the token.
      Exit status: 65 a token to be registered stays suppressed.

      """, run)

  private enum Action: Int {
    case list, register, suppress, forget
  }

  static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var config = Config()
    var isJSON = false
    var isAll = false
    var time: UInt32?
    while let option = try arguments.next() {
      switch option {
      case 0: isJSON = true
      case 1: isAll = true
      default: time = try date(arguments)
      }
    }
    let action = Action(
      rawValue: try arguments.action(
        among: "list register suppress forget", "list, register, suppress or forget"))!
    if action == .list || action == .forget, time != nil {
      throw arguments.fail(.usage, "--at is only for register and suppress")
    }
    if action != .list, isAll { throw arguments.fail(.usage, "--all is only for list") }
    try arguments.readConfig(into: &config, for: .command)
    guard action == .list else {
      return try change(config, action, at: time, isJSON: isJSON, arguments)
    }
    try arguments.refuseOperands(from: 1, "list takes no tokens: unexpected argument ")
    return try list(config, isAll: isAll, isJSON: isJSON, arguments)
  }

  private static func date(_ arguments: borrowing Arguments) throws(ExitStatus) -> UInt32 {
    if let seconds = TimeArgument.past(arguments.value()) { return seconds }
    var text = Text()
    text.append("--at", TimeArgument.takesPast)
    text.append(printable: arguments.value())
    throw arguments.fail(.usage, text)
  }

  // MARK: - Listing

  private static func list(
    _ config: borrowing Config, isAll: Bool, isJSON: Bool, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    var message = Text()
    // Without the directory, nothing has been suppressed yet.
    if access(config.state.pointer, F_OK) != 0, clinux_errno() == ENOENT { return .ok }
    let store = try arguments.attempt { message throws(ExitStatus) in
      try SuppressionDirectory(config.state.pointer, isAgent: false, message: &message)
    }
    var lines = TokenLines(isJSON: isJSON, keeps: false)
    let listing = store.list { record in
      if isAll || record.reason != .registered {
        lines.print(record.token.bytes, record.time, record.reason.text)
      }
    }
    lines.show()
    guard listing.error == 0 else {
      let status = SuppressionDirectory.explain(
        listing.error, config.state.pointer, isAgent: false, in: &message)
      throw arguments.fail(status, message)
    }
    guard listing.isDamaged else { return .ok }
    message.append(
      "the list is damaged, or version 0.2.0 wrote it; the lines above are good: start the agent, which keeps them, and takes over the list of 0.2.0 or sets the damaged file aside"
    )
    throw arguments.fail(.dataRefused, message)
  }

  // MARK: - Changing

  private static func change(
    _ config: borrowing Config, _ action: Action, at time: UInt32?, isJSON: Bool,
    _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    guard arguments.operand(1) != nil else {
      throw arguments.fail(.usage, "give a device token, or - for standard input")
    }
    guard let now = time ?? Clock.time().wallSeconds.map({ UInt32(clamping: $0) }) else {
      throw arguments.fail(
        .tryLater, "this machine's clock is not set: give the time with --at")
    }
    var message = Text()
    let store = try arguments.attempt { message throws(ExitStatus) in
      try SuppressionDirectory(config.state.pointer, isAgent: false, message: &message)
    }
    var changes = SuppressionMerge(store)
    changes.areMadeNow = time == nil
    clinux_ignore_broken_pipes()
    var index = 1
    while let operand = arguments.operand(index) {
      index += 1
      try TokenReader.read(operand, arguments) { token throws(ExitStatus) in
        guard !changes.isFull else {
          throw arguments.fail(
            .usage, "takes at most 262144 tokens at a time; nothing has changed", nil)
        }
        switch action {
        case .register:
          changes.add(SuppressionRecord(token: token.identity, time: now, reason: .registered))
        case .suppress:
          changes.add(SuppressionRecord(token: token.identity, time: now, reason: .byHand))
        case .list, .forget: changes.forget(token.identity)
        }
      }
    }
    var lines = TokenLines(isJSON: isJSON, keeps: true)
    var printed: UInt64 = 0
    var areAll = true
    let isDone = changes.finish { token, time, outcome in
      printed += 1
      if action == .register, outcome == .known { areAll = false }
      lines.print(token, time, words(action, outcome))
    }
    extendLifetime(store)
    guard isDone else {
      let status = SuppressionDirectory.explain(
        changes.error, config.state.pointer, isAgent: false, in: &message)
      message.append("; the list may not have the changes, so run the command again")
      throw arguments.fail(status, message)
    }
    lines.show()
    if changes.wasDamaged {
      message.append("the suppression list in ", printable: config.state.span)
      message.append(SuppressionDirectory.setAside)
      arguments.warn(message)
      message.clear()
    }
    if action == .forget, printed < changes.tokens {
      message.append("tokens that were not in the list: ", changes.tokens - printed)
      arguments.warn(message)
      message.clear()
    }
    if !areAll {
      message.append(
        "a token stays suppressed if it was suppressed after the given time: tinypush token list prints when and why; tinypush token forget removes it from the list"
      )
      throw arguments.fail(.dataRefused, message)
    }
    return .ok
  }

  private static func words(
    _ action: Action, _ outcome: SuppressionMerge.Outcome
  ) -> StaticString {
    switch outcome {
    case .forgotten: "forgotten"
    case .new: "suppressed"
    case .known: action == .register ? "stays suppressed" : "was suppressed already"
    case .returned: "is sent to again"
    case .registered: action == .suppress ? "registered since, so not suppressed" : "registered"
    }
  }
}
