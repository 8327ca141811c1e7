import CLinux
import TinyPush
import TinyPushAgent

/// A command of a program.
public struct Command: Sendable {
  let name: StaticString
  /// What the command does, for the list in the program's help.
  let summary: StaticString
  let options: StaticString
  let usage: StaticString
  let body: @Sendable (inout Arguments) throws(ExitStatus) -> ExitStatus

  /// Makes a command; ``Arguments/handle(_:of:_:_:options:usage:_:)`` explains the options and the
  /// usage.
  public init(
    _ name: StaticString, _ summary: StaticString, options: StaticString, usage: StaticString,
    _ body: @escaping @Sendable (inout Arguments) throws(ExitStatus) -> ExitStatus
  ) {
    self.name = name
    self.summary = summary
    self.options = options
    self.usage = usage
    self.body = body
  }
}

/// A program with commands.
public struct Program<Settings: ~Copyable>: Sendable {
  private let name: StaticString
  private let purpose: StaticString
  private let notes: StaticString
  private let settings: SettingsTable<Settings>
  private let file: StaticString
  private let commands: [Command]

  /// Makes a program.
  ///
  /// - Parameters:
  ///   - purpose: what the program does, for its help.
  ///   - notes: the text of its help behind the commands.
  ///   - settings: what `help settings` prints, with the path of their file.
  public init(
    _ name: StaticString, _ purpose: StaticString, notes: StaticString,
    settings: SettingsTable<Settings>, in file: StaticString, _ commands: [Command]
  ) {
    self.name = name
    self.purpose = purpose
    self.notes = notes
    self.settings = settings
    self.file = file
    self.commands = commands
  }

  /// Performs the command that the arguments name, and ends the process.
  @inline(never)
  public func run() -> Never {
    let count = Int(clinux_argument_count())
    guard let arguments = clinux_arguments() else { exit(ExitStatus.usage.rawValue) }
    let place = commandPlace(arguments, count)
    guard place < count else {
      printUsage(to: STDERR_FILENO)
      exit(ExitStatus.usage.rawValue)
    }
    settings.printHelp(ifAsked: arguments, at: place, of: file)
    if CString.span(arguments[place]!).equals("help"), place + 1 < count {
      // Turn `help COMMAND` into `COMMAND --help`.
      for index in place..<count - 1 { arguments[index] = arguments[index + 1] }
      arguments[count - 1] = UnsafeMutablePointer(mutating: ("--help" as StaticString).cString)
    }
    let word = CString.span(arguments[place]!)
    if isHelp(word) {
      printUsage(to: STDOUT_FILENO)
      exit(ExitStatus.ok.rawValue)
    }
    if Version.isAsked(word) || word.equals("version") {
      Version.print(of: name)
      exit(ExitStatus.ok.rawValue)
    }
    for command in commands where word.equals(command.name) {
      // Move options that stand before the command behind it.
      let called = arguments[place]
      for index in 0..<place - 1 { arguments[place - index] = arguments[place - index - 1] }
      arguments[1] = called
      exit(
        Arguments.handle(
          command.name, of: name, Int32(count - 1), arguments + 1, options: command.options,
          usage: command.usage, command.body))
    }
    var text = Text()
    text.append("unknown command ", printable: word)
    if let nearest = Nearest.index(to: word, among: commands.count + 2, self.word) {
      text.append("; did you mean ", self.word(nearest), "?")
    }
    exit(fail(text))
  }

  /// The name of a command, or a word that may stand in its place.
  private func word(_ index: Int) -> StaticString {
    index < commands.count ? commands[index].name : index == commands.count ? "help" : "version"
  }

  private func isHelp(_ word: Span<UInt8>) -> Bool {
    word.equals("--help") || word.equals("-h") || word.equals("help")
  }

  /// Returns the index of the command, which may follow options that every command takes.
  private func commandPlace(
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, _ count: Int
  ) -> Int {
    var place = 1
    while place < count, let argument = arguments[place] {
      let word = CString.span(argument)
      guard word.count > 1, word[0] == .hyphen, !isHelp(word), !Version.isAsked(word) else {
        break
      }
      var end = 2
      if word[1] == .hyphen { while end < word.count, word[end] != .equals { end += 1 } }
      let option = word.extracting(0..<end)
      guard
        option.equals("-c") || option.equals("-o") || option.equals("--config")
          || option.equals("--option")
      else { refuse(option) }
      // The value stands in the same argument, or is the next.
      if end == word.count {
        place += 1
        guard place < count else {
          var text = Text()
          text.append("", printable: option, " needs a value")
          exit(fail(text))
        }
      }
      place += 1
    }
    return place
  }

  private func refuse(_ option: Span<UInt8>) -> Never {
    let known: WordList = "--config --help --version"
    var text = Text()
    text.append("unknown option ", printable: option)
    let nearest = known.nearest(to: option)
    if nearest == nil {
      text.append(": only --config FILE and -o KEY=VALUE may stand before the command")
    }
    text.suggest(nearest, of: known, "; did you mean ")
    exit(fail(text))
  }

  private func fail(_ problem: borrowing Text) -> Int32 {
    var text = Text()
    text.append(name, ": ")
    text.append(problem)
    text.append("\nTry `", name, " --help`.\n")
    text.write(to: STDERR_FILENO)
    return ExitStatus.usage.rawValue
  }

  private func printUsage(to descriptor: Int32) {
    var text = Text(capacity: 2048)
    text.append("Usage: ", name, " COMMAND [OPTION]...\n")
    text.append(purpose, "\n\n")
    for command in commands {
      text.append("  ", command.name)
      for _ in command.name.utf8CodeUnitCount..<11 { text.append(byte: .space) }
      text.append(command.summary, "\n")
    }
    text.append("\n", notes, "\n")
    text.write(to: descriptor)
  }
}
