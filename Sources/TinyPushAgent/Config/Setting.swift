import TinyPush

/// A setting of a configuration file: its name, its values, and where they go.
public struct Setting<Settings: ~Copyable>: Sendable {
  /// The kinds of values, each with where a value goes.
  public enum Kind: Sendable {
    /// One of the words between the bars of ``values``, by its number.
    case choice(@Sendable (inout Settings, Int) -> Void)
    /// A path.
    case path(@Sendable (inout Settings, consuming CString) -> Void)
    /// A time from `min` to `max` milliseconds.
    case time(min: UInt64 = 0, max: UInt64, @Sendable (inout Settings, Duration) -> Void)
    /// Another value, behind which a comment may stand.
    case value(Reading)
    /// A text, which goes to the end of the line and may contain `#` and `;`.
    case text(Reading)
  }

  /// Reads a value into the settings.
  public typealias Reading =
    @Sendable (inout Settings, Span<UInt8>) throws(Config.Problem) -> Void

  /// The only protocol that a setting is for, and why the other protocol has no use for it.
  public enum Only: Sendable {
    case http2(StaticString)
    case binary(StaticString)
  }

  /// The key in the file.
  public let name: StaticString
  /// What the value is, or all values with `|` between them.
  public let values: StaticString
  /// The value if none is given; empty: none, or one that depends on others.
  public let standard: StaticString
  /// One line about the setting.
  public let help: StaticString
  /// Who needs the setting.
  let reader: Config.Reader
  /// The only protocol that the setting is for; nil: both.
  let only: Only?
  private let kind: Kind

  /// Makes a setting; inlined, so that the compiler makes constant data of the table.
  @inline(__always)
  public init(
    _ name: StaticString, _ values: StaticString, default standard: StaticString = "",
    for reader: Config.Reader = .agent, only: Only? = nil, _ help: StaticString, _ kind: Kind
  ) {
    self.name = name
    self.values = values
    self.standard = standard
    self.help = help
    self.reader = reader
    self.only = only
    self.kind = kind
  }

  /// Whether a comment may follow the value.
  var mayHaveComment: Bool {
    if case .text = kind { return false }
    return true
  }

  /// Reads a value into the settings.
  func read(_ value: Span<UInt8>, into settings: inout Settings) throws(Config.Problem) {
    switch kind {
    case .choice(let put): put(&settings, try Config.choice(value, values))
    case .path(let put): put(&settings, try Config.path(value))
    case .time(let min, let max, let put):
      put(&settings, try Config.duration(value, min: min, max: max))
    case .value(let put), .text(let put): try put(&settings, value)
    }
  }
}

/// The settings of a configuration file.
public struct SettingsTable<Settings: ~Copyable>: Sendable {
  /// The settings, in the order of the manual page.
  public let rows: [Setting<Settings>]
  /// The manual page that explains the settings.
  public let page: StaticString

  /// Makes the table of the file that a manual page describes.
  @inline(__always)
  public init(of page: StaticString, _ rows: [Setting<Settings>]) {
    self.page = page
    self.rows = rows
  }

  /// Returns the number of a setting; nil if there is none of this name.
  @inline(never)
  public func index(of name: Span<UInt8>) -> Int? {
    for index in rows.indices where rows[index].name.span.equals(name) { return index }
    return nil
  }

  /// Returns the number of the setting whose name is most similar to a misspelled one.
  func nearest(to name: Span<UInt8>) -> Int? {
    Nearest.index(to: name, among: rows.count) { rows[$0].name }
  }

  /// Sets each setting to its default.
  public func setDefaults(of settings: inout Settings) {
    for row in rows where row.standard.utf8CodeUnitCount > 0 {
      do throws(Config.Problem) {
        try row.read(row.standard.span, into: &settings)
      } catch {
        fatalError("a default value is wrong")
      }
    }
  }

  /// Sets a setting to a value.
  ///
  /// - Parameter problem: on failure, what is wrong and what to do.
  /// - Returns: the number of the setting; nil on failure.
  @inline(never)
  public func set(
    _ name: Span<UInt8>, to value: Span<UInt8>, in settings: inout Settings, _ problem: inout Text
  ) -> Int? {
    guard let index = index(of: name) else {
      problem.append("unknown setting ", printable: name)
      if let nearest = nearest(to: name) {
        problem.append("; did you mean ", bytes: rows[nearest].name.span, "?")
      } else {
        problem.append(": remove it; ", page, " lists all settings")
      }
      return nil
    }
    do throws(Config.Problem) {
      try rows[index].read(value, into: &settings)
      return index
    } catch {
      error.describe(name, in: &problem)
      return nil
    }
  }

  /// Sets what a line of the file says, as ``set(_:to:in:_:)`` does.
  @inline(never)
  public func set(
    name: Range<Int>, value: Range<Int>, of text: Span<UInt8>, in settings: inout Settings,
    _ problem: inout Text
  ) -> Int? {
    let word = text.extracting(name)
    let mayHaveComment = index(of: word).map { rows[$0].mayHaveComment } ?? false
    let value = mayHaveComment ? ConfigLines.withoutComment(value, in: text) : value
    return set(word, to: text.extracting(value), in: &settings, &problem)
  }
}

extension Config {
  /// A mistake in a value.
  public enum Problem: Error {
    /// The value must be as the text says.
    case value(StaticString)
    /// The value must be one of the words, which have `|` between them.
    case choice(StaticString)

    /// Appends what the value of a name must be.
    @inline(never)
    public func describe(_ name: Span<UInt8>, in text: inout Text) {
      text.append(printable: name)
      text.append(" must be ")
      switch self {
      case .value(let expected): text.append(expected)
      case .choice(let words):
        var bars = 0
        for index in words.span.indices where words.span[index] == .bar { bars += 1 }
        for index in words.span.indices {
          guard words.span[index] == .bar else {
            text.append(byte: words.span[index])
            continue
          }
          bars -= 1
          text.append(bars == 0 ? " or " : ", ")
        }
      }
    }
  }
}
