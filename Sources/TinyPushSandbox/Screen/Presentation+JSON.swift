import TinyPush

extension Presentation {
  /// Appends the members of an event of JSON Lines.
  ///
  /// ```
  /// "title":"Water","text":"40 cm","badge":3,"sound":"default","silent":false,"wakesApp":false,
  /// "notes":["…"]
  /// ```
  ///
  /// `subtitle`, `category`, `critical`, `interruptionLevel`, `activityEvent`, `encrypted` and the
  /// texts of ``AppKey`` are left out if there is none; other missing values are null. `badge` is the
  /// number on the icon, null for none.
  ///
  /// - Parameter badge: the number on the app's icon; 0: none.
  func write(badge: UInt64, to out: inout Text) {
    write("title", title, to: &out)
    if subtitle != nil { write("subtitle", subtitle, to: &out) }
    write("text", text, to: &out)
    if category != nil { write("category", category, to: &out) }
    out.member("badge", number: badge > 0 ? badge : nil)
    switch sound {
    case .none: write("sound", nil, to: &out)
    case .systemDefault: out.member("sound", word: "default")
    case .file(let name): write("sound", name, to: &out)
    }
    if isCritical { out.member("critical", bool: true) }
    if interruptionLevel != nil { write("interruptionLevel", interruptionLevel, to: &out) }
    if event != nil { write("activityEvent", event, to: &out) }
    if wasSealed { out.member("encrypted", bool: true) }
    for key in AppKey.allCases {
      guard let place = text(key) else { continue }
      out.key(escaping: key.name)
      out.append(json: bytes(place))
    }
    out.member("silent", bool: isSilent)
    out.member("wakesApp", bool: wakesApp)
    writeNotes(to: &out)
  }

  private func write(
    _ name: StaticString, _ place: Place?, to out: inout Text
  ) {
    if let place { out.member(name, string: bytes(place)) } else { out.member(null: name) }
  }

  private func writeNotes(to out: inout Text) {
    out.key("notes")
    out.beginArray()
    let notes = notes.bytes
    var start = 0
    for index in notes.indices where notes[index] == .lineFeed {
      out.element(string: notes.extracting(start..<index))
      start = index + 1
    }
    out.endArray()
  }
}
