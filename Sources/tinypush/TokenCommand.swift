import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// `tinypush token`: who is not sent to any more, and what is to be changed of that.
enum TokenCommand {
  static let usage: StaticString = """
    Usage: tinypush token list [--json] [--all]
           tinypush token register TOKEN... [--at TIME]
           tinypush token suppress TOKEN... [--at TIME]
           tinypush token forget TOKEN...
    The suppression list: device tokens to which nothing is sent, since the feedback
    service told that the app is gone from the device, or the gateway called the
    token invalid, or somebody said so. A running agent takes up what changes by
    itself.

      list                  say which they are, since when, and why
      register              the app has registered the token: it is sent to again,
                            unless that was before the app was found gone
      suppress              nothing is sent to it any more, until it is registered
      forget                nothing is known of it any more
      --at TIME             when that was, if not now: UNIX seconds, or as in
                            2026-12-24T18:00:00Z
      --all                 list also tokens of which it is known that they were
                            registered
      --json                a line of JSON for each
    \t\

    TOKEN is 64 hexadecimal digits in either case; - reads them from standard input,
    a line each. Ends with 65 when a token stays suppressed that was to be
    registered.

    """

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
    try arguments.readConfig(into: &config)
    guard action == .list else {
      return try change(config, action, at: time, isJSON: isJSON, arguments)
    }
    try arguments.refuseOperands(from: 1, "list takes no operands, but was given ")
    return try list(config, isAll: isAll, isJSON: isJSON, arguments)
  }

  private static func date(_ arguments: borrowing Arguments) throws(ExitStatus) -> UInt32 {
    let now = Clock.wallSeconds()
    guard let seconds = TimeArgument.date(arguments.value(), now: now),
      seconds <= UInt64(max(now, 0))
    else {
      throw arguments.fail(
        .usage,
        "--at must be a time that is past: UNIX seconds, or as in 2026-12-24T18:00:00Z, not ",
        arguments.value())
    }
    return UInt32(clamping: seconds)
  }

  // MARK: - Listing

  private static func list(
    _ config: borrowing Config, isAll: Bool, isJSON: Bool, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    var message = Text()
    // Where there is none, nothing is known.
    if access(config.state.pointer, F_OK) != 0, clinux_errno() == ENOENT { return .ok }
    let store: SuppressionDirectory
    do throws(ExitStatus) {
      store = try SuppressionDirectory(config.state.pointer, message: &message)
    } catch {
      throw arguments.fail(error, message)
    }
    var lines = TokenLines(isJSON: isJSON)
    let listing = store.list { token, reason, time in
      if isAll || reason != .registered { lines.print(token, time, reason.text) }
    }
    lines.flush()
    guard listing.error == 0 else {
      let status = SuppressionDirectory.explain(
        listing.error, config.state.pointer, in: &message)
      throw arguments.fail(status, message)
    }
    guard listing.isDamaged else { return .ok }
    message.append(
      "the list is damaged, or another version wrote it: put a copy of the list in its place; otherwise the agent sets the file aside, and sends to the tokens in it again"
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
        .tryLater, "this machine's clock is not set: say when that was, by --at")
    }
    var message = Text()
    let store: SuppressionDirectory
    do throws(ExitStatus) {
      store = try SuppressionDirectory(config.state.pointer, message: &message)
    } catch {
      throw arguments.fail(error, message)
    }
    var changes = SuppressionMerge(store)
    changes.areOfNow = time == nil
    clinux_ignore_broken_pipes()
    var wanted: UInt64 = 0
    var index = 1
    while let operand = arguments.operand(index) {
      index += 1
      try TokenReader.read(operand, arguments) { token throws(ExitStatus) in
        wanted += 1
        guard !changes.isFull else {
          throw arguments.fail(
            .usage, "takes 262144 tokens at most at a time; nothing has changed", nil)
        }
        switch action {
        case .register:
          changes.add(SuppressionRecord(token: token, time: now, reason: .registered))
        case .suppress:
          changes.add(SuppressionRecord(token: token, time: now, reason: .byHand))
        case .list, .forget: changes.forget(token)
        }
      }
    }
    var lines = TokenLines(isJSON: isJSON)
    var said: UInt64 = 0
    var areAll = true
    let isDone = changes.finish { token, time, outcome in
      said += 1
      if action == .register, outcome == .known { areAll = false }
      lines.print(token, time, words(action, outcome))
    }
    extendLifetime(store)
    lines.flush()
    guard isDone else {
      let status = SuppressionDirectory.explain(
        changes.error, config.state.pointer, in: &message)
      message.append("; nothing has changed")
      throw arguments.fail(status, message)
    }
    if changes.wasDamaged {
      message.append("the suppression list in ", printable: config.state.span)
      message.append(SuppressionDirectory.setAside)
      _ = arguments.fail(.ok, message)
      message.clear()
    }
    if action == .forget, said < wanted {
      message.append("not known, and so not forgotten: ", wanted - said)
      _ = arguments.fail(.ok, message)
      message.clear()
    }
    if !areAll {
      message.append(
        "what stays suppressed has been so since a later time: tinypush token list says since when and why, and tinypush token forget lifts it"
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
