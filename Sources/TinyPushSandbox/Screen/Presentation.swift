import TinyPush

/// The texts and the sound of a notification on a device, with localized texts looked up.
///
/// Source: Local and Remote Notification Programming Guide, 2015-10, tables 3-1 and 3-2, "Localized
/// Formatted Strings" and "Using Notification Actions in iOS".
///
/// If one key names a text and another has a text (`loc-key` and `body`), the named text is shown.
/// Inferred: if the app has no text of that name, the text in the payload is shown, or else the
/// name.
struct Presentation: ~Copyable {
  /// The room for all texts; longer texts are cut, with a note.
  ///
  /// Inferred: far more than a screen shows.
  static let bytesMax = 8192
  /// The most buttons in a modal alert.
  static let buttonsMax = 4
  /// The most buttons elsewhere, such as on a lock screen.
  static let buttonsOnLockScreen = 2

  private var words = Text(capacity: bytesMax)
  /// Notes for a developer, such as missing texts, one a line, safe for a terminal.
  private(set) var notes = Text(capacity: 2048)

  private(set) var title: Place?
  private(set) var subtitle: Place?
  private(set) var text: Place?
  private(set) var sound = Sound.none
  /// Whether the sound is played even if the device is muted.
  let isCritical: Bool
  /// How much the notification may interrupt the user; nil: not given.
  private(set) var interruptionLevel: Place?
  /// The event of a live activity.
  private(set) var event: Place?
  /// The texts beside `aps`, in the order of ``AppKey``.
  private var app: InlineArray<5, Place?> = .init(repeating: nil)
  private(set) var buttonCount = 0
  private var buttons: InlineArray<4, Place> = .init(repeating: 0..<0)
  /// The new number of the badge; 0: none; nil: the number does not change.
  let badge: UInt64?
  /// Whether nothing is shown and the app is only woken.
  let isSilent: Bool
  /// Whether the app is woken, in addition to what is shown.
  let wakesApp: Bool
  /// Whether the app has decrypted the payload.
  let wasSealed: Bool

  /// The range of a text; see ``bytes(_:)``.
  typealias Place = Range<Int>

  enum Sound {
    case none
    case systemDefault
    case file(Place)
  }

  /// Returns the bytes of a text, which are not made safe for a terminal.
  @_lifetime(borrow self)
  func bytes(_ place: Place) -> Span<UInt8> { words.bytes.extracting(place) }

  /// Returns a text beside `aps`; nil: there is none.
  func text(_ key: AppKey) -> Place? { app[key.rawValue] }

  /// Returns the title of a button of the category, by its number from 0.
  @_lifetime(borrow self)
  func button(_ index: Int) -> Span<UInt8> { words.bytes.extracting(buttons[index]) }

  /// Looks up the texts of a payload.
  ///
  /// - Parameters:
  ///   - summary: the summary of this payload.
  ///   - bundle: the files of the app.
  ///   - wasSealed: whether the app has decrypted the payload.
  init(
    _ summary: PayloadSummary, _ payload: Span<UInt8>, of bundle: borrowing AppBundle,
    wasSealed: Bool = false
  ) {
    self.wasSealed = wasSealed
    badge = summary.badgeNumber(payload)
    isSilent = summary.isSilent
    wakesApp = summary.isContentAvailable
    isCritical = summary.isCritical
    notes.append(bundle.notes)
    if summary.badge != nil, badge == nil {
      notes.append("the badge is not a whole number from 0 on: the old badge stays\n")
    }
    var isBroken = false
    title = localize(
      summary.titleLocKey, summary.titleLocArgs, else: summary.title, payload, bundle, &isBroken)
    subtitle = localize(
      summary.subtitleLocKey, summary.subtitleLocArgs, else: summary.subtitle, payload, bundle,
      &isBroken)
    text = localize(summary.locKey, summary.locArgs, else: summary.body, payload, bundle, &isBroken)
    // A live activity without an alert changes the content that it shows.
    if text == nil { text = copy(summary.contentState, payload) }
    event = unescape(summary.event, payload)
    interruptionLevel = unescape(summary.interruptionLevel, payload)
    for index in app.indices { app[index] = unescape(summary.app[index], payload) }
    if let range = summary.category { findButtons(of: payload.extracting(range), bundle) }
    if let range = summary.sound { takeSound(range, payload) }
    if words.isCut {
      notes.append("the texts are longer than ", Self.bytesMax, " bytes, and are cut\n")
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

  /// Copies a JSON value unchanged.
  private mutating func copy(_ range: Range<Int>?, _ payload: Span<UInt8>) -> Place? {
    guard let range else { return nil }
    let start = words.count
    words.append(bytes: payload.extracting(range))
    return place(from: start)
  }

  /// Returns the range of the words since `start`; nil: there are none.
  ///
  /// A cut text ends with a whole character.
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

  /// Looks up the text that a key names, and inserts its arguments; nil, or empty if absent.
  ///
  /// - Parameter isBroken: whether `Localizable.strings` cannot be read, which a note has reported.
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
      notes.append(note: "only %@, %n$@ and %% are known, but others occur in ", key)
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
    // Bark has this category.
    guard !name.bytes.equals(Bark.category) else {
      let titles: StaticString = "Copy,Mute"
      return takeButtons(titles.span, 0..<titles.utf8CodeUnitCount)
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
          "the category has more than four buttons: only four are shown\n")
      }
      buttons[buttonCount] = words.count..<words.count + title.count
      words.append(bytes: source.extracting(title))
      // Drop a button whose title was cut.
      guard !words.isCut else { return }
      buttonCount += 1
    }
  }

  @inline(never)
  private mutating func takeSound(_ range: Range<Int>, _ payload: Span<UInt8>) {
    guard PayloadSummary.isString(range, payload) else {
      return notes.append("the sound is not a string: no sound is played\n")
    }
    sound = .systemDefault
    if let name = unescape(range, payload), !words.bytes.extracting(name).equals("default") {
      sound = .file(name)
    }
  }
}

extension Text {
  /// Appends a note that ends with a name.
  fileprivate mutating func append(note words: StaticString, _ name: Span<UInt8>) {
    append(words)
    append("\"")
    append(visible: name, columns: 40)
    append("\"\n")
  }

  /// Appends a text in one line, safe for a terminal, and cut with an ellipsis if it is too long.
  ///
  /// - Returns: the columns that the text takes.
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
