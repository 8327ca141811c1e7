import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// `tinypush queue`: what lies in the spool, and what is to become of it.
enum QueueCommand {
  static let usage: StaticString = """
    Usage: tinypush queue [list] [OPTION]...
           tinypush queue show|retry|drop NAME... [OPTION]...
           tinypush queue retry|drop --all [OPTION]...
    What lies in the spool: what waits, what waits for its time, and what was
    refused. It may be used beside a running agent, and takes up what that one does.

      list                  say of each file its name, how old it is, its size, how
                            many notifications are in it, and why it waits or was
                            refused
      show                  say what is in the files, and why it was refused
      retry                 send again what was refused, as far as it is right by
                            now: those notifications and tokens alone. The rest
                            stays in failed/
      drop                  remove the files
      --waiting             those in new/, which wait for the gateway or the agent
      --later               those in later/, which wait for their time
      --failed              those in failed/, which were refused
      --all                 all files (in those of the three that are named)
      --null                names on standard input end with a NUL instead of a line
                            end
      --json                a line of JSON for each file (not for show)
    \t\

    NAME is as list says it; - reads names from standard input, a line each. The age
    counts from when a file came where it is or was changed, by the clock of the
    file system. Ends with 65 when something cannot be sent again, and with 66 when
    a file is not there.

    """

  enum Action: Int {
    case list, show, retry, drop
  }

  /// What is asked for.
  struct Order {
    var action = Action.list
    /// Bits of those that are named; 0: none is, so all are meant.
    var places: UInt8 = 0
    var isAll = false
    var isNull = false
    var isJSON = false

    func includes(_ place: QueuePlace) -> Bool { places == 0 || places & 1 << place.rawValue != 0 }
  }

  static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var order = Order()
    while let option = try arguments.next() {
      switch option {
      case 3: order.isAll = true
      case 4: order.isNull = true
      case 5: order.isJSON = true
      default: order.places |= 1 << UInt8(option)
      }
    }
    try read(&order, arguments)
    var config = Config()
    try arguments.readConfig(into: &config, mayBeClosed: true)
    return try perform(order, config, arguments)
  }

  private static func read(
    _ order: inout Order, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    order.action = Action(
      rawValue: try arguments.action(
        among: "list show retry drop", "list, show, retry or drop", orElse: 0))!
    let name = arguments.operand(1)
    switch order.action {
    case .list:
      try arguments.refuseOperands(
        from: 1, "list takes no names: show says what is in a file. The first was ")
    case .show, .retry, .drop:
      guard (name != nil) != order.isAll else {
        throw arguments.fail(
          .usage,
          name == nil
            ? "give names as tinypush queue list says them, - for standard input, or --all"
            : "takes names or --all, and not both", nil)
      }
      if order.action == .show, order.isJSON {
        throw arguments.fail(.usage, "show has no --json: it says what is in the files")
      }
      if order.action == .retry, order.places & ~(1 << QueuePlace.failed.rawValue) != 0 {
        throw arguments.fail(.usage, "retry is for what is in failed/: the rest waits anyway")
      }
    }
  }

  @inline(never)
  private static func perform(
    _ order: Order, _ config: borrowing Config, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    var message = Text()
    let queue: Queue
    do throws(ExitStatus) {
      queue = try Queue(config.spool.pointer, message: &message)
    } catch {
      throw arguments.fail(error, message)
    }
    switch order.action {
    case .list: return QueueList.run(queue, order, config, arguments)
    case .show: return QueueShow.run(queue, order, arguments)
    case .drop: return QueueDrop.run(queue, order, arguments)
    case .retry: return QueueRetry.run(queue, order, config, arguments)
    }
  }

  /// Says why a directory of the spool cannot be gone through.
  @inline(never)
  static func explain(
    _ error: Int32, _ place: QueuePlace, _ arguments: borrowing Arguments
  ) -> ExitStatus {
    var text = Text()
    text.append("the spool's ", place.name)
    text.append("/: ", cString: clinux_error_text(error))
    switch error {
    case EACCES, EPERM:
      text.append(": run the command as root (sudo), or as a member of the spool's group")
      return arguments.fail(.noPermission, text)
    case ENOENT, ENOTDIR, ELOOP:
      text.append(": is this the spool? Name the right one with --config FILE or -o spool=DIR")
      return arguments.fail(.noInput, text)
    default: return arguments.fail(.inputOutput, text)
    }
  }
}
