import TinyPush

extension Presentation {
  /// The members of an event of JSON Lines:
  ///
  /// ```
  /// "title":"Water","text":"40 cm","action":"View","buttons":["Pump on"],"badge":3,
  /// "sound":"default","launchImage":null,"silent":false,"wakesApp":false,"notes":["…"]
  /// ```
  ///
  /// What is not there is null. `buttons` are those of a modal alert, of which a lock screen shows the first two; `badge` is
  /// what the icon bears now, and null for none.
  ///
  /// - Parameter badge: on the app's icon from now on; 0: none.
  func write(badge: UInt64, as line: JSONLine, to out: inout Text) {
    write("title", title, as: line, to: &out)
    write("text", text, as: line, to: &out)
    switch action {
    case .view: line.member("action", text: ("View" as StaticString).span, in: &out)
    case .title(let title): write("action", title, as: line, to: &out)
    case .none: write("action", nil, as: line, to: &out)
    }
    line.key("buttons", in: &out)
    out.append("[")
    for index in 0..<buttonCount {
      if index > 0 { out.append(",") }
      out.append(json: button(index))
    }
    out.append("]")
    line.member("badge", badge > 0 ? badge : nil, in: &out)
    switch sound {
    case .none: write("sound", nil, as: line, to: &out)
    case .systemDefault: line.member("sound", text: ("default" as StaticString).span, in: &out)
    case .file(let name): write("sound", name, as: line, to: &out)
    }
    write("launchImage", launchImage, as: line, to: &out)
    line.member("silent", isSilent, in: &out)
    line.member("wakesApp", wakesApp, in: &out)
    writeNotes(as: line, to: &out)
  }

  private func write(
    _ name: StaticString, _ place: Place?, as line: JSONLine, to out: inout Text
  ) {
    guard let place else {
      line.key(name, in: &out)
      return out.append("null")
    }
    line.member(name, text: bytes(place), in: &out)
  }

  private func writeNotes(as line: JSONLine, to out: inout Text) {
    line.key("notes", in: &out)
    out.append("[")
    let notes = notes.bytes
    var start = 0
    for index in notes.indices where notes[index] == 0x0A {
      if start > 0 { out.append(",") }
      out.append(json: notes.extracting(start..<index))
      start = index + 1
    }
    out.append("]")
  }
}
