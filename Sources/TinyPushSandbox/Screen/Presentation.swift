import TinyPush

/// The texts and the sound of a notification on a device.
///
/// Source: Local and Remote Notification Programming Guide, 2015-10, tables 3-1 and 3-2.
///
/// A device has no texts of an app. If the payload has no text and names one (`loc-key`), there are
/// the name and the arguments.
struct Presentation: ~Copyable {
  /// The room for all texts; longer texts are cut, with a note.
  ///
  /// Inferred: far more than a screen shows.
  static let bytesMax = 8192

  private var words = Text(capacity: bytesMax)
  /// Notes for a developer, one a line, safe for a terminal.
  private(set) var notes = Text(capacity: 512)

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
  /// The name of the app's buttons.
  private(set) var category: Place?
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

  /// Reads the texts of a payload.
  ///
  /// - Parameters:
  ///   - summary: the summary of this payload.
  ///   - wasSealed: whether the app has decrypted the payload.
  ///   - note: a line about the payload, or nothing.
  init(
    _ summary: PayloadSummary, _ payload: Span<UInt8>, wasSealed: Bool = false,
    note: StaticString = ""
  ) {
    self.wasSealed = wasSealed
    badge = summary.badgeNumber(payload)
    isSilent = summary.isSilent
    wakesApp = summary.isContentAvailable
    isCritical = summary.isCritical
    notes.append(note)
    if summary.badge != nil, badge == nil {
      notes.append("the badge is not a whole number from 0 on: the old badge stays\n")
    }
    title = read(summary.title, or: summary.titleLocKey, summary.titleLocArgs, payload)
    subtitle = read(summary.subtitle, or: summary.subtitleLocKey, summary.subtitleLocArgs, payload)
    text = read(summary.body, or: summary.locKey, summary.locArgs, payload)
    // A live activity without an alert changes the content that it shows.
    if text == nil { text = copy(summary.contentState, payload) }
    event = unescape(summary.event, payload)
    interruptionLevel = unescape(summary.interruptionLevel, payload)
    for index in app.indices { app[index] = unescape(summary.app[index], payload) }
    category = unescape(summary.category, payload)
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

  /// Reads a text, or else the name of a text and its arguments.
  private mutating func read(
    _ text: Range<Int>?, or name: Range<Int>?, _ arguments: Range<Int>?, _ payload: Span<UInt8>
  ) -> Place? {
    let start = words.count
    words.append(unescaping: payload.extracting(text ?? name ?? 0..<0))
    if text == nil, words.count > start, let arguments { append(arguments, payload) }
    return place(from: start)
  }

  /// Appends the elements of an array: ` (40 cm, Cellar)`.
  private mutating func append(_ array: Range<Int>, _ payload: Span<UInt8>) {
    var scanner = JSONScanner(at: array.lowerBound)
    do throws(JSONProblem) {
      guard payload[array.lowerBound] == .openBracket, try scanner.openArray(payload) else {
        return
      }
      var separator: StaticString = " ("
      repeat {
        words.append(separator)
        words.append(unescaping: payload.extracting(try scanner.value(payload)))
        separator = ", "
      } while try scanner.nextElement(payload)
      words.append(")")
    } catch {}
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
