import CLinux
import CMbed
import CommandArguments
import TinyPush
import TinyPushAgent

/// The answers to the questions of `tinypush setup`.
struct SetupAnswers: ~Copyable {
  /// A question, in the order in which they are asked.
  enum Question: Int {
    case app, signingKey, keyID, teamID, topic, environment, token, name

    static var names: WordList {
      "app signing-key key-id team-id topic environment token name"
    }
    static var count: Int { 8 }
    /// The questions whose answers are settings.
    static var settings: [Question] { [.app, .signingKey, .keyID, .teamID, .topic, .environment] }

    /// The key in a file of answers.
    var name: Span<UInt8> { @_lifetime(immortal) get { Self.names[rawValue] } }

    /// The words before the answer on a terminal.
    func words(isOfBark: Bool) -> StaticString {
      switch self {
      case .app:
        "Which app shows the alerts? bark: Bark, a free app from the App Store; own: an app of yours."
      case .signingKey:
        isOfBark
          ? "The path of the signing key that the authors of Bark publish: see https://bark.day.app, the page about the certificate."
          : "The path of your signing key AuthKey_....p8, from Apple's developer account."
      case .keyID: "The ID of the key, 10 characters."
      case .teamID: "The ID of your team, 10 characters, from the page Membership of the account."
      case .topic: "The bundle ID of your app, such as com.example.app."
      case .environment:
        "production, or development if Xcode has installed the app on the phone."
      case .token:
        isOfBark
          ? "The device token of the phone: the settings of Bark show it."
          : "The device token of the phone, as your app prints it."
      case .name: "The name of the recipients file for this phone."
      }
    }
  }

  private var values = Text(capacity: 16_384)
  private var places: InlineArray<8, Range<Int>> = .init(repeating: 0..<0)
  /// The key that the configuration has at present, and whether that is the key of Bark.
  private var presentKey = 0..<0
  private var isPresentOfBark = false

  /// Takes what a configuration file has at present.
  @inline(never)
  init(current path: UnsafePointer<CChar>) {
    let directory = ConfigFile.directory(of: path)
    set(.environment, to: ("production" as StaticString).span)
    set(.name, to: Notification.defaultList.span)
    var hasApp = false
    var isOwn = false
    try? ConfigFile.forEachLine(of: path) { line, _, text in
      guard case .setting(let name, let value) = line,
        let number = Question.names.index(of: text.extracting(name)),
        let question = Question(rawValue: number), question.rawValue < Question.token.rawValue
      else { return }
      if question == .app { hasApp = true }
      if question == .topic || question == .teamID { isOwn = true }
      let given = text.extracting(ConfigLines.withoutComment(value, in: text))
      // The path begins in the directory of the configuration.
      let isRelative = question == .signingKey && given.count > 0 && given[0] != .slash
      set(question, to: given, behind: isRelative ? directory.span : Span())
    }
    if !hasApp { set(.app, to: ((isOwn ? "own" : "bark") as StaticString).span) }
    presentKey = places[Question.signingKey.rawValue]
    isPresentOfBark = hasApp && isOfBark
  }

  /// Forgets the present key if it is that of another app.
  private mutating func forgetPresentKey() {
    let place = Question.signingKey.rawValue
    if places[place] == presentKey, isOfBark != isPresentOfBark { places[place] = 0..<0 }
  }

  deinit {}

  /// The answer to a question; empty: there is none.
  subscript(question: Question) -> Span<UInt8> {
    @_lifetime(borrow self) get { values.bytes.extracting(places[question.rawValue]) }
  }

  private mutating func set(
    _ question: Question, to value: Span<UInt8>, behind directory: Span<UInt8> = Span()
  ) {
    let start = values.count
    values.append(bytes: directory)
    values.append(bytes: value)
    places[question.rawValue] = start..<values.count
  }

  private var isOfBark: Bool { self[.app].equals("bark") }

  /// Whether the answers before make a question necessary.
  func isWanted(_ question: Question) -> Bool {
    switch question {
    case .app, .signingKey, .token, .name: true
    case .keyID: !isOfBark && Config.keyID(inName: self[.signingKey]) == nil
    case .teamID, .topic, .environment: !isOfBark
    }
  }

  // MARK: - From a file

  /// Takes the answers of a file.
  @inline(never)
  mutating func read(
    _ path: UnsafePointer<CChar>, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    var problem = Text()
    do throws(InputFile.Problem) {
      try ConfigFile.forEachLine(of: path) { line, number, text in
        guard problem.count == 0 else { return }
        guard case .setting(let name, let value) = line else {
          problem.append(cString: path)
          problem.append(":", number, ": expected KEY = VALUE")
          return
        }
        let key = text.extracting(name)
        guard let question = Question.names.index(of: key).flatMap({ Question(rawValue: $0) })
        else {
          problem.append(cString: path)
          problem.append(":", number, ": there is no question ")
          problem.append(printable: key)
          problem.suggest(Question.names.nearest(to: key), of: Question.names, "; did you mean ")
          return
        }
        set(question, to: text.extracting(ConfigLines.withoutComment(value, in: text)))
      }
    } catch {
      throw arguments.fail(error.status, error.text(path))
    }
    guard problem.count == 0 else { throw arguments.fail(.dataRefused, problem) }
    forgetPresentKey()
    for number in 0..<Question.count {
      let question = Question(rawValue: number)!
      guard isWanted(question), !isRight(question, &problem) else { continue }
      var text = Text(capacity: 2048)
      text.append(cString: path)
      text.append(": ", problem)
      throw arguments.fail(.dataRefused, text)
    }
  }

  // MARK: - On a terminal

  /// Asks on the terminal.
  @inline(never)
  mutating func ask(_ arguments: borrowing Arguments) throws(ExitStatus) {
    guard isatty(STDIN_FILENO) == 1 else {
      throw arguments.fail(
        .usage,
        "the questions are asked on a terminal: give --answers FILE with the lines app = bark, signing-key = PATH and token = TOKEN (tinypush help setup)"
      )
    }
    guard let input = fdopen(dup(STDIN_FILENO), ("r" as StaticString).cString) else {
      throw arguments.fail(.noInput, "cannot read standard input")
    }
    var line: UnsafeMutablePointer<CChar>?
    var room = 0
    defer {
      free(line)
      fclose(input)
    }
    for number in 0..<Question.count {
      let question = Question(rawValue: number)!
      guard isWanted(question) else { continue }
      var problem = Text()
      while true {
        show(question, problem)
        problem.clear()
        guard getline(&line, &room, input) >= 0, let line else {
          throw arguments.fail(.noInput, "the answers end here, and nothing was written")
        }
        let before = places[number]
        let answer = CString.span(line).trimmed()
        if answer.count > 0 { set(question, to: answer) }
        if isRight(question, &problem) { break }
        places[number] = before
      }
      if question == .app { forgetPresentKey() }
    }
  }

  private func show(_ question: Question, _ problem: borrowing Text) {
    var text = Text(capacity: 4096)
    if problem.count > 0 {
      text.append(problem)
      text.append("\n")
    } else {
      text.append("\n", question.words(isOfBark: isOfBark), "\n")
    }
    text.append(bytes: question.name)
    if self[question].count > 0 { text.append(" [", printable: self[question], "]") }
    text.append(": ")
    text.write(to: STDOUT_FILENO)
  }

  // MARK: - Checks

  /// Whether there is a right answer to a question.
  ///
  /// - Parameter problem: what is wrong and what to do.
  @inline(never)
  private mutating func isRight(_ question: Question, _ problem: inout Text) -> Bool {
    switch question {
    case .signingKey: return isKeyRight(&problem)
    case .token:
      // Without a token, the phones of the recipients file stay.
      let isRight = self[.token].count == 0 || DeviceToken(printed: self[.token]) != nil
      if !isRight {
        problem.append("token must be hexadecimal digits, usually 64, as the app shows them")
      }
      return isRight
    case .name:
      let isRight = RecipientsFile.isName(self[.name])
      if !isRight {
        problem.append(
          "name must have only letters, digits and + - . @ _, and not begin with a dot")
      }
      return isRight
    default:
      var config = Config()
      let value = CString(self[question])
      return config.set(question.name, to: value.span, &problem)
    }
  }

  private func isKeyRight(_ problem: inout Text) -> Bool {
    let given = self[.signingKey]
    guard given.count > 0 else {
      problem.append("signing-key must be the path of a file")
      return false
    }
    // The path goes into the configuration.
    for index in given.indices where given[index] <= .space || given[index] == .delete {
      problem.append("signing-key must be a path without spaces: rename the file")
      return false
    }
    let path = CString(given)
    let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    let digest = UnsafeMutablePointer<UInt8>.allocate(capacity: 32)
    defer {
      words.deallocate()
      digest.deallocate()
    }
    let result = cmbed_signing_key_read(path.pointer, digest, words)
    clinux_wipe_stack()
    guard result != CMBED_OK else { return true }
    problem.append(cString: words)
    return false
  }
}
