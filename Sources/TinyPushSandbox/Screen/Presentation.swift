import TinyPush

/// What a device shows of a notification, and sounds, with everything looked up that the payload only names. Source: Local
/// and Remote Notification Programming Guide, 2015-10, tables 3-1 and 3-2, "Localized Formatted Strings" and "Using
/// Notification Actions in iOS".
///
/// Where one key names a text and another holds one (`loc-key` and `body`), the one that is looked up is shown. Inferred: if
/// it is not there, what the payload holds is shown in its place, and if that holds none, the key itself.
struct Presentation: ~Copyable {
  /// Room for all its texts; inferred: far above what a screen shows. What is past it is cut, and that is said.
  static let bytesMax = 8192
  /// In a modal alert.
  static let buttonsMax = 4
  /// Elsewhere, as on a lock screen: the first ones.
  static let buttonsOnLockScreen = 2

  private var words = Text(capacity: bytesMax)
  /// What a developer should know, such as what was not found: a line each, fit for a terminal.
  private(set) var notes = Text(capacity: 2048)

  private(set) var title: Place?
  private(set) var subtitle: Place?
  private(set) var text: Place?
  private(set) var sound = Sound.none
  /// It sounds even though the device is silent.
  let isCritical: Bool
  /// How much it may interrupt; nil: it is not said.
  private(set) var interruptionLevel: Place?
  /// What happens to a live activity.
  private(set) var event: Place?
  private(set) var buttonCount = 0
  private var buttons: InlineArray<4, Place> = .init(repeating: 0..<0)
  /// What the badge becomes: 0 removes it; nil: it stays.
  let badge: UInt64?
  /// Nobody is shown anything: the app is woken.
  let isSilent: Bool
  /// The app is woken, whatever is shown.
  let wakesApp: Bool

  /// One of its texts; see ``bytes(_:)``.
  typealias Place = Range<Int>

  enum Sound {
    case none
    case systemDefault
    case file(Place)
  }

  /// The bytes of one of its texts, as the payload or the app's files have them: not yet fit for a terminal.
  @_lifetime(borrow self)
  func bytes(_ place: Place) -> Span<UInt8> { words.bytes.extracting(place) }

  /// The title of a button of its category, the first one being 0.
  @_lifetime(borrow self)
  func button(_ index: Int) -> Span<UInt8> { words.bytes.extracting(buttons[index]) }

  /// - Parameters:
  ///   - summary: of this payload.
  ///   - bundle: of the app that it is for.
  init(_ summary: PayloadSummary, _ payload: Span<UInt8>, of bundle: borrowing AppBundle) {
    badge = summary.badgeNumber(payload)
    isSilent = summary.isSilent
    wakesApp = summary.isContentAvailable
    isCritical = summary.isCritical
    notes.append(bundle.notes)
    if summary.badge != nil, badge == nil {
      notes.append("the badge is no whole number from 0 on: it stays as it was\n")
    }
    var isBroken = false
    title = localize(
      summary.titleLocKey, summary.titleLocArgs, else: summary.title, payload, bundle, &isBroken)
    subtitle = localize(
      summary.subtitleLocKey, summary.subtitleLocArgs, else: summary.subtitle, payload, bundle,
      &isBroken)
    text = localize(summary.locKey, summary.locArgs, else: summary.body, payload, bundle, &isBroken)
    // Without an alert, a live activity still changes what it shows.
    if text == nil { text = copy(summary.contentState, payload) }
    event = unescape(summary.event, payload)
    interruptionLevel = unescape(summary.interruptionLevel, payload)
    if let range = summary.category { findButtons(of: payload.extracting(range), bundle) }
    if let range = summary.sound { takeSound(range, payload) }
    if words.isCut {
      notes.append("the texts are longer than ", Self.bytesMax, " bytes, and cut\n")
    }
  }

  // MARK: - Texts

  @inline(never)
  private mutating func unescape(_ range: Range<Int>?, _ payload: Span<UInt8>) -> Place? {
    guard let range else { return nil }
    let start = words.count
    words.append(unescaping: payload.extracting(range))
    return place(from: start)
  }

  /// A JSON value, as it stands there.
  private mutating func copy(_ range: Range<Int>?, _ payload: Span<UInt8>) -> Place? {
    guard let range else { return nil }
    let start = words.count
    words.append(bytes: payload.extracting(range))
    return place(from: start)
  }

  /// What has been written since; nil: nothing. What is cut ends with a whole character.
  private func place(from start: Int) -> Place? {
    var end = words.count
    if words.isCut {
      var last = end
      while last > start, end - last < 4 {
        last -= 1
        guard words.bytes[last] & 0xC0 == 0x80 else { break }
      }
      if last < end, words.bytes[last] >= 0x80, UTF8Sequence.length(in: words.bytes, at: last) == 0
      {
        end = last
      }
    }
    return end > start ? start..<end : nil
  }

  /// The text that a key names, with its arguments; nil, or an empty one: there is none.
  ///
  /// - Parameter isBroken: whether `Localizable.strings` was found to be of no use, and that was said.
  private mutating func localize(
    _ key: Range<Int>?, _ arguments: Range<Int>?, else plain: Range<Int>?, _ payload: Span<UInt8>,
    _ bundle: borrowing AppBundle, _ isBroken: inout Bool
  ) -> Place? {
    guard let key else { return unescape(plain, payload) }
    var name = Text(capacity: key.count)
    name.append(unescaping: payload.extracting(key))
    let source = bundle.strings.bytes
    var value: Range<Int>?
    do throws(StringsProblem) {
      value = isBroken ? nil : try StringsReader.value(of: name.bytes, in: source)
      if value == nil, !isBroken {
        notes.append(note: "Localizable.strings has no ", name.bytes)
      }
    } catch {
      isBroken = true
      notes.append("Localizable.strings:")
      error.describe(in: source, to: &notes)
      notes.append("\n")
    }
    guard let value else {
      return unescape(plain, payload) ?? format(name.bytes, key: name.bytes, arguments, payload)
    }
    var text = Text(capacity: value.count)
    text.append(unescapingStrings: source.extracting(value))
    return format(text.bytes, key: name.bytes, arguments, payload)
  }

  @inline(never)
  private mutating func format(
    _ text: Span<UInt8>, key: Span<UInt8>, _ arguments: Range<Int>?, _ payload: Span<UInt8>
  ) -> Place? {
    let start = words.count
    var format = LocalizedFormat(arguments: arguments, of: payload)
    format.write(text, payload, to: &words)
    if format.missing > 0 { notes.append(note: "there are too few arguments for ", key) }
    if format.strange > 0 {
      notes.append(note: "only %@, %n$@ and %% are known, and not all that is in ", key)
    }
    return place(from: start)
  }

  // MARK: - Buttons and sound

  @inline(never)
  private mutating func findButtons(of category: Span<UInt8>, _ bundle: borrowing AppBundle) {
    var name = Text(capacity: category.count)
    name.append(unescaping: category)
    let source = bundle.categories.bytes
    var lines = LineReader()
    while let line = lines.next(source) {
      var equals = line.lowerBound
      while equals < line.upperBound, source[equals] != .equals { equals += 1 }
      guard equals < line.upperBound else {
        notes.append("categories:", lines.number, ": expected NAME=Button,Button\n")
        continue
      }
      let known = source.trimmed(line.lowerBound..<equals)
      if source.extracting(known).equals(name.bytes) {
        return takeButtons(source, equals + 1..<line.upperBound)
      }
    }
    notes.append(note: "the app has no category ", name.bytes)
  }

  private mutating func takeButtons(_ source: Span<UInt8>, _ list: Range<Int>) {
    var start = list.lowerBound
    while start < list.upperBound {
      var end = start
      while end < list.upperBound, source[end] != .comma { end += 1 }
      let title = source.trimmed(start..<end)
      start = end + 1
      guard !title.isEmpty else { continue }
      guard buttonCount < Self.buttonsMax else {
        return notes.append(
          "the category has more than four buttons, which is as many as are shown\n")
      }
      buttons[buttonCount] = words.count..<words.count + title.count
      words.append(bytes: source.extracting(title))
      // What is cut is no button.
      guard !words.isCut else { return }
      buttonCount += 1
    }
  }

  @inline(never)
  private mutating func takeSound(_ range: Range<Int>, _ payload: Span<UInt8>) {
    guard PayloadSummary.isString(range, payload) else {
      return notes.append("the sound is no string: there is none\n")
    }
    sound = .systemDefault
    if let name = unescape(range, payload), !words.bytes.extracting(name).equals("default") {
      sound = .file(name)
    }
  }
}

extension Text {
  /// A line that ends with a name.
  fileprivate mutating func append(note words: StaticString, _ name: Span<UInt8>) {
    append(words)
    append("\"")
    append(visible: name, columns: 40)
    append("\"\n")
  }

  /// As a terminal may show it, in one line, and cut with an ellipsis if it takes more columns. Returns those that it
  /// took.
  @discardableResult
  mutating func append(visible text: Span<UInt8>, columns columnsMax: Int) -> Int {
    var end = 0
    var columns = 0
    var endIfCut = 0
    var columnsIfCut = 0
    while end < text.count {
      let character = TerminalCharacter(in: text, at: end)
      guard columns + character.columns <= columnsMax else { break }
      columns += character.columns
      end += character.length
      if columns < columnsMax { (endIfCut, columnsIfCut) = (end, columns) }
    }
    guard end < text.count else {
      append(shown: text)
      return columns
    }
    guard columnsMax > 0 else { return 0 }
    append(shown: text.extracting(0..<endIfCut))
    append("…")
    return columnsIfCut + 1
  }
}
