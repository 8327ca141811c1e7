import TinyPush
import TinyPushAgent
import TinyPushRules

/// Reads the rules of a configuration file, in which settings come first.
///
/// A section begins a rule: `[TOPIC-FILTER]`, or `[/PATH]`.
public struct RuleReading: ~Copyable {
  private enum Section {
    /// In front of all rules.
    case settings
    /// A rule without a key so far.
    case empty
    case rule
    /// A rule that has a mistake.
    case wrongRule
    /// A section that is no rule, since its topic filter or path is wrong.
    case noRule
  }

  private var section = Section.settings
  private var message = Text(capacity: 1024)
  /// What is wrong so far.
  public var mistakes = Mistakes()

  /// Begins in front of all rules.
  public init() {}

  deinit {}

  /// Takes one line of the file.
  ///
  /// - Parameter isSetting: whether a setting has this name.
  /// - Returns: whether the line is a setting in front of the rules, which the caller reads.
  public mutating func take(
    _ line: ConfigLines.Line, _ number: Int32, _ text: Span<UInt8>, into rules: inout MessageRules,
    isSetting: (Span<UInt8>) -> Bool
  ) -> Bool {
    var isRight = false
    switch line {
    case .section(let filter):
      finishRule(of: &rules)
      begin(text.extracting(filter), number, &rules)
      return false
    case .setting(let name, let value):
      switch section {
      case .settings: return true
      case .noRule: return false
      default:
        isRight = set(name, value, of: text, &rules, isSetting: isSetting)
        if section == .empty { section = .rule }
      }
    default:
      ConfigFile.describe(
        line,
        expected: rules.source == .topics
          ? "KEY = VALUE or [TOPIC-FILTER]" : "KEY = VALUE or [/PATH]", in: &message)
    }
    guard !isRight else { return false }
    if case .unknown(let place) = line, text[place.lowerBound] == UInt8(ascii: "[") {
      finishRule(of: &rules)
      section = .noRule
    } else if section == .empty || section == .rule {
      section = .wrongRule
    }
    addMistake(line: number)
    return false
  }

  private mutating func addMistake(line: Int32) {
    mistakes.add(message, line: line)
    message.clear()
  }

  private mutating func begin(_ filter: Span<UInt8>, _ number: Int32, _ rules: inout MessageRules) {
    do throws(RuleProblem) {
      try rules.begin(filter, line: number)
      section = .empty
    } catch {
      explain(error, filter, rules.source)
      addMistake(line: number)
      section = .noRule
    }
  }

  /// Sets what a line says in the rule; on a mistake returns false and fills in the message.
  private mutating func set(
    _ name: Range<Int>, _ value: Range<Int>, of text: Span<UInt8>, _ rules: inout MessageRules,
    isSetting: (Span<UInt8>) -> Bool
  ) -> Bool {
    let word = text.extracting(name)
    if let key = RuleKey(word) {
      let value = key.isText ? value : ConfigLines.withoutComment(value, in: text)
      return set(key, text.extracting(value), &rules)
    }
    if isSetting(word) {
      message.append(printable: word)
      message.append(
        " belongs before the first ", rules.source == .topics ? "[TOPIC-FILTER]" : "[/PATH]")
      return false
    }
    message.append("unknown key ", printable: word)
    if let nearest = RuleKey.nearest(to: word) {
      message.append("; did you mean ", bytes: nearest.name, "?")
    }
    return false
  }

  /// Sets a key of the rule.
  ///
  /// A number of seconds is spelled out.
  private mutating func set(
    _ key: RuleKey, _ value: Span<UInt8>, _ rules: inout MessageRules
  ) -> Bool {
    var spelled = Text(capacity: 32)
    do throws(Config.Problem) {
      switch key {
      case .ttl, .againAfter:
        spelled.append(try Config.lifetime(value).milliseconds / 1000)
      case .priority:
        _ = try Config.choice(value, "10|5|1")
        spelled.append(bytes: value)
      case .urgent:
        spelled.append(
          try Config.choice(value, "true|false") == 0 ? "true" : "false")
      case .silentFor:
        spelled.append(
          try Config.duration(value, min: 1000, max: 31_536_000_000).milliseconds / 1000)
      case .retained, .goOn, .onChange:
        _ = try Config.choice(value, "yes|no")
        spelled.append(bytes: value)
      case .level:
        _ = try Config.choice(value, "passive|active|time-sensitive|critical")
        spelled.append(bytes: value)
      default: break
      }
    } catch {
      error.describe(key.name, in: &message)
      return false
    }
    do throws(RuleProblem) {
      if spelled.count > 0 {
        try rules.set(key, to: spelled.bytes)
      } else {
        try rules.set(key, to: Config.unquoted(value))
      }
      return true
    } catch {
      explain(error, key.name, rules.source)
      return false
    }
  }

  /// Checks that the last rule is whole, unless it has a mistake already.
  public mutating func finishRule(of rules: inout MessageRules) {
    guard section == .rule || section == .empty else { return }
    let last = rules.count - 1
    do throws(RuleProblem) {
      try rules.finish()
      return
    } catch {
      message.append("[", printable: rules.filter(last), "]")
      if section == .empty {
        message.append(" has no keys: remove it, or add alert = TEXT")
      } else {
        explain(error, ("" as StaticString).span, rules.source)
      }
    }
    addMistake(line: rules.line(of: last))
  }

  private mutating func explain(
    _ problem: RuleProblem, _ word: Span<UInt8>, _ source: RuleSource
  ) {
    message.append(printable: word)
    switch problem {
    case .filter where source == .paths:
      message.append(
        " is not a path: a path begins with a slash and a name, has no slash at its end, no escape such as %20 and no query such as ?token=; + and # stand for whole parts, and # comes last"
      )
    case .filter:
      message.append(" is not a topic filter: + and # stand for whole levels, and # comes last")
    case .twice: message.append(" is given twice in this rule: remove one")
    case .braces: message.append(": a brace has no partner; write {{ or }} for a brace")
    case .expression:
      message.append(": unknown expression in braces; use ", source.word, ", ")
      message.append(source.word, ".2, payload or payload.NAME")
    case .condition:
      message.append(
        " takes EXPRESSION = VALUE, such as payload.state = on; other comparisons are !=, <, <=, >, >= and contains. Write \"or\" between conditions of which one must hold; for \"and\", give each condition a line of its own. Put a value with one of = < > in quotes"
      )
    case .data: message.append(" takes KEY = TEXT")
    case .silence:
      message.append(
        ": a rule with silent-for rings when no message comes: it has no payload, and no retained, continue or on-change; use {topic} or {topic.2}"
      )
    case .broker: message.append(" is only for the messages of a broker: remove it")
    case .empty: message.append(" shows nothing: add alert = TEXT")
    case .tooMany: message.append(": too many rules")
    }
  }
}
