import CLinux
import CommandArguments
import TinyPush
import TinyPushAgent

/// The command `tinypush queue`, which lists, prints, retries and removes files of the spool.
enum QueueCommand {
  static let command = Command(
    "queue", "list, show, drop or retry the files in the spool",
    options: "waiting later failed all null json",
    usage: """
      Usage: tinypush queue [list] [OPTION]...
             tinypush queue show|retry|drop NAME... [OPTION]...
             tinypush queue show|retry|drop --all [OPTION]...
      Lists and changes the files in the spool: those that wait to be sent, those that
      wait in later/, and those that were refused. Works beside a running agent.

        list                  print each file's name, age, size, number of
                              notifications, and why it waits or was refused
        show                  print the content of files, and why each was refused
        retry                 send the refused notifications and tokens again that
                              pass the check now; the rest stays in failed/
        drop                  remove the files
        --waiting             only files that wait for the service or the agent
        --later               only files in later/, which wait for a time, a limit, a
                              device or a service
        --failed              only files in failed/, which were refused
        --all                 all files, or all that the three options above select
        --null                names on standard input end with NUL, not with a line
                              end
        --json                print a line of JSON for each file (not for show)
      \t\

      NAME is a name as list prints it; - reads names from standard input, one a line.
      The age counts from when the file was last changed or moved, by the clock of the
      file system. Exit status: 65 something cannot be sent again; 66 there is no such
      file.

      """, run)

  enum Action: Int {
    case list, show, retry, drop
  }

  /// The action and the options.
  struct Options {
    var action = Action.list
    /// A bit for each directory that an option names; 0: none is named, and all are meant.
    var places: UInt8 = 0
    var isAll = false
    var isNull = false
    var isJSON = false

    func includes(_ place: QueuePlace) -> Bool { places == 0 || places & 1 << place.rawValue != 0 }
  }

  static func run(_ arguments: inout Arguments) throws(ExitStatus) -> ExitStatus {
    var options = Options()
    while let option = try arguments.next() {
      switch option {
      case 3: options.isAll = true
      case 4: options.isNull = true
      case 5: options.isJSON = true
      default: options.places |= 1 << UInt8(option)
      }
    }
    try read(&options, arguments)
    var config = Config()
    try arguments.readConfig(into: &config, for: .command)
    return try perform(options, config, arguments)
  }

  private static func read(
    _ options: inout Options, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    options.action = Action(
      rawValue: try arguments.action(
        among: "list show retry drop", "list, show, retry or drop", orElse: 0))!
    let name = arguments.operand(1)
    switch options.action {
    case .list:
      try arguments.refuseOperands(
        from: 1, "list takes no names: to print a file, use tinypush queue show ")
    case .show, .retry, .drop:
      guard (name != nil) != options.isAll else {
        throw arguments.fail(
          .usage,
          name == nil
            ? "give names as tinypush queue list prints them, - for standard input, or --all"
            : "give names or --all, not both", nil)
      }
      if options.action == .show, options.isJSON {
        throw arguments.fail(.usage, "show has no --json: it prints the files as they are")
      }
      if options.action == .retry, options.places & ~(1 << QueuePlace.failed.rawValue) != 0 {
        throw arguments.fail(
          .usage, "retry is only for failed/: the agent sends other files anyway")
      }
    }
  }

  @inline(never)
  private static func perform(
    _ options: Options, _ config: borrowing Config, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    let queue = try arguments.attempt { message throws(ExitStatus) in
      try Queue(config.spool.pointer, message: &message)
    }
    switch options.action {
    case .list: return QueueList.run(queue, options, config, arguments)
    case .show: return QueueShow.run(queue, options, arguments)
    case .drop: return QueueDrop.run(queue, options, arguments)
    case .retry: return QueueRetry.run(queue, options, config, arguments)
    }
  }

  /// Prints why a directory of the spool cannot be read, and returns the exit status.
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
