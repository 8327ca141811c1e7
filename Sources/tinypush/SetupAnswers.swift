import CLinux
import CMbed
import CommandArguments
import TinyPush
import TinyPushAgent

/// The answers to the questions of `tinypush setup`.
struct SetupAnswers: ~Copyable {
  /// A question, in the order in which they are asked.
  enum Question: Int {
    case app, gateway, feedback, ca, certificate, key
    case signingKey, keyID, teamID, topic, environment, contact, webPage, token, name

    static var names: WordList {
      """
      app gateway feedback ca certificate key signing-key key-id team-id topic environment contact web-page token name
      """
    }
    static var count: Int { 15 }
    /// The questions whose answers are settings, apart from the files.
    static var settings: [Question] {
      [.gateway, .feedback, .keyID, .teamID, .topic, .environment, .contact, .webPage]
    }
    /// The questions for the path of a file, which is kept.
    static var files: [Question] { [.ca, .certificate, .key, .signingKey] }

    /// The key in a file of answers.
    var name: Span<UInt8> { @_lifetime(immortal) get { Self.names[rawValue] } }

    /// The words before the answer on a terminal.
    func words(_ app: App) -> StaticString {
      switch self {
      case .app:
        """
        What shows the alerts?
          bark: Bark, a free app from the App Store
          own: an app of yours
          gateway: an app of yours, behind a gateway of Apple's older binary protocol
          browser: a web page, in the browsers of phones and computers
          sandbox: no phone, but a stand-in on this machine, to try TinyPush
        """
      case .gateway: "The address of the gateway, HOST:PORT."
      case .feedback: "The address of its feedback service, HOST:PORT, if there is one."
      case .ca:
        "The path of the authorities of the gateway's certificate, in PEM, if they are not in the list of this system."
      case .certificate: "The path of your push certificate and its chain, in PEM."
      case .key: "The path of the key of the certificate, if the key is in a file of its own."
      case .signingKey:
        app == .bark
          ? "The path of the signing key that the authors of Bark publish: see https://bark.day.app, the page about the certificate."
          : "The path of your signing key AuthKey_....p8, from Apple's developer account."
      case .keyID: "The ID of the key, 10 characters."
      case .teamID: "The ID of your team, 10 characters, from the page Membership of the account."
      case .topic: "The bundle ID of your app, such as com.example.app."
      case .environment:
        "production, or development if Xcode has installed the app on the phone."
      case .contact:
        "Your address for the push services of browsers, mailto:ADDRESS or https://PAGE."
      case .webPage:
        "The address of the page on which browsers register, https://...: man tinypush-webpush says how to serve it."
      case .token:
        app == .bark
          ? "The device token of the phone: the settings of Bark show it."
          : "The device token of the phone, as your app prints it."
      case .name: "The name of the recipients file for this phone."
      }
    }
  }

  /// What shows the alerts.
  enum App: Int {
    case bark, own, gateway, browser, sandbox

    static var names: WordList { "bark own gateway browser sandbox" }
  }

  private var values = Text(capacity: 65_536)
  private var places: InlineArray<15, Range<Int>> = .init(repeating: 0..<0)
  /// What the configuration has at present, and whether its key is that of Bark.
  private var present: InlineArray<15, Range<Int>> = .init(repeating: 0..<0)
  private var isPresentOfBark = false
  /// Whether the configuration is for a gateway of the binary protocol at present.
  private(set) var isPresentOfGateway = false
  /// Whether the configuration has a key for browsers at present.
  private(set) var hasBrowserKey = false

  /// Takes what a configuration file has at present.
  @inline(never)
  init(current path: UnsafePointer<CChar>) {
    let directory = ConfigFile.directory(of: path)
    set(.environment, to: ("production" as StaticString).span)
    set(.name, to: Notification.defaultList.span)
    var hasApp = false
    var isOwn = false
    try? ConfigFile.forEachLine(of: path) { line, _, text in
      guard case .setting(let name, let value) = line else { return }
      if text.extracting(name).equals("protocol") {
        isPresentOfGateway = text.extracting(value).begins(with: ("binary" as StaticString).span)
      }
      if text.extracting(name).equals("vapid-key") { hasBrowserKey = true }
      guard let number = Question.names.index(of: text.extracting(name)),
        let question = Question(rawValue: number), question.rawValue < Question.token.rawValue
      else { return }
      if question == .app { hasApp = true }
      if question == .topic || question == .teamID { isOwn = true }
      let given = text.extracting(ConfigLines.withoutComment(value, in: text))
      // The path begins in the directory of the configuration.
      let isRelative = Question.files.contains(question) && given.count > 0 && given[0] != .slash
      set(question, to: given, behind: isRelative ? directory.span : Span())
    }
    present = places
    isPresentOfBark = hasApp && app == .bark
    if isPresentOfGateway {
      set(.app, to: ("gateway" as StaticString).span)
    } else if !hasApp {
      let isOfBrowsers = hasBrowserKey && self[.signingKey].count == 0
      set(.app, to: ((isOwn ? "own" : isOfBrowsers ? "browser" : "bark") as StaticString).span)
    }
  }

  /// Forgets the present key if it is that of another app.
  private mutating func forgetPresentKey() {
    let place = Question.signingKey.rawValue
    if places[place] == present[place], (app == .bark) != isPresentOfBark { places[place] = 0..<0 }
  }

  deinit {}

  /// The answer to a question; empty: there is none.
  subscript(question: Question) -> Span<UInt8> {
    @_lifetime(borrow self) get { values.bytes.extracting(places[question.rawValue]) }
  }

  /// Whether this path is what the configuration has at present for a question.
  func isPresent(_ question: Question, _ path: Span<UInt8>) -> Bool {
    values.bytes.extracting(present[question.rawValue]).equals(path)
  }

  private mutating func set(
    _ question: Question, to value: Span<UInt8>, behind directory: Span<UInt8> = Span()
  ) {
    let start = values.count
    values.append(bytes: directory)
    values.append(bytes: value)
    places[question.rawValue] = start..<values.count
  }

  /// What shows the alerts, once the answer is right.
  var app: App { App.names.index(of: self[.app]).flatMap { App(rawValue: $0) } ?? .bark }

  /// Whether the answers before make a question necessary.
  @inline(never)
  func isWanted(_ question: Question) -> Bool {
    guard question == .keyID else { return isOfApp(question) }
    return isOfApp(.keyID) && Config.keyID(inName: self[.signingKey]) == nil
  }

  /// Whether the app has a question.
  private func isOfApp(_ question: Question) -> Bool {
    switch question {
    case .app: true
    case .name: app != .sandbox
    case .token: app != .sandbox && app != .browser
    case .contact, .webPage: app == .browser
    case .gateway, .feedback, .ca, .certificate, .key: app == .gateway
    case .signingKey: app == .bark || app == .own
    case .keyID, .teamID, .topic: app == .own
    case .environment: app == .own || app == .gateway
    }
  }

  // MARK: - From a file

  /// Takes the answers of a file.
  @inline(never)
  mutating func read(
    _ path: UnsafePointer<CChar>, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    var problem = Text()
    // A bit for each question.
    var given = 0
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
        given |= 1 << question.rawValue
      }
    } catch {
      throw arguments.fail(error.status, error.text(path))
    }
    guard problem.count == 0 else { throw arguments.fail(.dataRefused, problem) }
    forgetPresentKey()
    for number in 0..<Question.count {
      let question = Question(rawValue: number)!
      if isWanted(question) {
        guard !isRight(question, &problem) else { continue }
      } else {
        // The sandbox has no questions, so that its line may stand before answers for later.
        guard given & 1 << number != 0, app != .sandbox, !isOfApp(question) else { continue }
        problem.append(bytes: question.name)
        problem.append(" is no answer for app = ", bytes: self[.app], ": remove the line")
      }
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
    guard var lines = InputLines() else {
      throw arguments.fail(.noInput, "cannot read standard input")
    }
    for number in 0..<Question.count {
      let question = Question(rawValue: number)!
      guard isWanted(question) else { continue }
      var problem = Text()
      while true {
        show(question, problem)
        problem.clear()
        guard let answer = lines.next()?.trimmed() else {
          throw arguments.fail(.noInput, "the answers end here, and nothing was written")
        }
        let before = places[number]
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
      text.append("\n", question.words(app), "\n")
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
    case .app:
      let isRight = App.names.index(of: self[.app]) != nil
      if !isRight { problem.append("app must be bark, own, gateway, browser or sandbox") }
      return isRight
    case .ca, .key:
      if self[question].count == 0 { return true }
      fallthrough
    case .certificate, .signingKey: return isFileRight(question, &problem)
    case .feedback where self[.feedback].count == 0: return true
    case .token:
      // Without a token, the phones of the recipients file stay.
      guard self[.token].count > 0 else { return true }
      guard let token = DeviceToken(printed: self[.token]) else {
        problem.append("token must be hexadecimal digits, usually 64, as the app shows them")
        return false
      }
      let isRight = app != .gateway || token.count == Rules.tokenBytesOfBinary
      if !isRight {
        problem.append(RecipientsFile.Problem.tokenSizeOfBinary.text)
      } else if token.count < 32 {
        problem.append("token has only ", 2 * token.count)
        problem.append(" digits, and those of Apple have 64 or more")
      }
      return isRight && token.count >= 32
    case .name:
      let isRight = RecipientsFile.isName(self[.name])
      if !isRight {
        problem.append(
          "name must have only letters, digits and + - . @ _, and not begin with a dot")
      }
      return isRight
    default:
      var config = Config()
      var words = Text()
      let value = CString(self[question])
      let isRight = config.set(question.name, to: value.span, &words)
      if !isRight {
        if value.isEmpty { problem.append(Self.noAnswer) }
        problem.append(words)
      }
      return isRight
    }
  }

  private static let noAnswer: StaticString = "there is no answer: "

  /// Whether there is a file at the path, and the file has what it should have.
  private func isFileRight(_ question: Question, _ problem: inout Text) -> Bool {
    let given = self[question]
    guard given.count > 0 else {
      problem.append(Self.noAnswer)
      problem.append(bytes: question.name)
      problem.append(" must be the path of a file")
      return false
    }
    // The path goes into the configuration.
    for index in given.indices where given[index] <= .space || given[index] == .delete {
      problem.append(bytes: question.name)
      problem.append(" must be a path without spaces: rename the file")
      return false
    }
    // The copies are in one directory.
    for other in Question.files where other.rawValue < question.rawValue {
      guard isWanted(other), !self[other].equals(given),
        Self.fileName(self[other]).equals(Self.fileName(given))
      else { continue }
      problem.append(bytes: other.name)
      problem.append(" and ", bytes: question.name, " are files of the same name: rename one")
      return false
    }
    let path = CString(given)
    if question == .key {
      // The key may have a password, which the configuration has. The test at the end reads it.
      guard access(path.pointer, R_OK) != 0 else { return true }
      problem.append("The key ", printable: given)
      problem.append(": ", cString: clinux_error_text(clinux_errno()))
      return false
    }
    let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    defer { words.deallocate() }
    guard Self.read(question, path.pointer, words) < 0 else { return true }
    problem.append(cString: words)
    return false
  }

  /// The name of a file, without its directory.
  @_lifetime(copy path)
  static func fileName(_ path: Span<UInt8>) -> Span<UInt8> {
    var start = path.count
    while start > 0, path[start - 1] != .slash { start -= 1 }
    return path.extracting(start..<path.count)
  }

  /// Reads a file; returns a negative number and why it is wrong, or another number.
  private static func read(
    _ question: Question, _ path: UnsafePointer<CChar>, _ words: UnsafeMutablePointer<CChar>
  ) -> Int32 {
    switch question {
    case .ca: return cmbed_authorities_count(path, words)
    case .certificate:
      let certificate = UnsafeMutablePointer<cmbed_certificate>.allocate(capacity: 1)
      defer { certificate.deallocate() }
      return cmbed_certificate_read(certificate, path, nil, nil, words)
    default: return SigningKeyFile.check(path, words)
    }
  }
}
