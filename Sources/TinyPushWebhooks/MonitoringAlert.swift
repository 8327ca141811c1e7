import TinyPush

/// An alert in a webhook: the places of its parts in the text.
struct MonitoringAlert {
  /// The objects; empty: absent.
  private var labels = 0..<0
  private var annotations = 0..<0
  /// The contents of strings, with their escapes; empty: absent.
  private var fingerprint = 0..<0
  private var link = 0..<0
  private var isResolved = false

  /// Reads an alert.
  ///
  /// - Parameters:
  ///   - text: valid JSON.
  ///   - start: the index of the object's brace.
  init(_ text: Span<UInt8>, at start: Int) {
    var members = JSONMembers(text, at: start)
    // Grafana's panel is a better link than its dashboard, and that is better than the rule.
    var linkRank = 0
    while let member = members.next(text) {
      let isObject = text[member.value.lowerBound] == .openBrace
      let string = member.content(text)
      let key = text.extracting(member.key)
      var rank = 0
      if key.equals("labels"), isObject {
        labels = member.value
      } else if key.equals("annotations"), isObject {
        annotations = member.value
      } else if key.equals("fingerprint") {
        fingerprint = string
      } else if key.equals("status") {
        isResolved = text.extracting(string).equals("resolved")
      } else if key.equals("generatorURL") {
        rank = 1
      } else if key.equals("dashboardURL") {
        rank = 2
      } else if key.equals("panelURL") {
        rank = 3
      }
      if rank > linkRank, !string.isEmpty { (link, linkRank) = (string, rank) }
    }
  }

  /// Completes the draft of the notification.
  ///
  /// A resolved alert replaces the firing one on the device, without a sound. Its priority is the
  /// same, since a lower one could let it arrive after an alert that fires again.
  ///
  /// - Parameter limit: the most bytes of the payload. The agent trims only the body, so that the
  ///   other texts are shortened here, and a link that is too long is left out.
  func complete(_ draft: inout Draft, _ text: Span<UInt8>, limit: Int) {
    Self.replace(text.extracting(fingerprint), in: &draft)
    completeAlert(&draft, text, limit)
    completeUrgency(&draft, text)
    if !link.isEmpty, link.count <= limit / 5 {
      draft.set(.url) { $0.append(bytes: text.extracting(link)) }
    }
  }

  /// Completes the draft of the notification for alerts that the sender left out.
  ///
  /// - Parameters:
  ///   - number: the number of alerts.
  ///   - group: the key of their group.
  static func complete(_ draft: inout Draft, omitted number: Span<UInt8>, of group: Span<UInt8>) {
    replace(group, in: &draft)
    draft.set(.title) { $0.append("More alerts") }
    draft.set(.alert) { $0.append("Not shown here: ", bytes: number) }
    draft.set(.sound) { $0.append("default") }
    draft.remove(.level)
  }

  /// Sets what the alert has in common with those that it replaces; empty: nothing.
  ///
  /// - Parameter key: the content of a string, with its escapes.
  private static func replace(_ key: Span<UInt8>, in draft: inout Draft) {
    var plain = Text(capacity: key.count)
    plain.append(unescaping: key)
    _ = draft.setCollapseID(plain.bytes)
  }

  // MARK: - The alert's text

  private func completeAlert(_ draft: inout Draft, _ text: Span<UInt8>, _ limit: Int) {
    let (name, instance) = (label("alertname", text), label("instance", text))
    draft.set(.title) { title in
      if isResolved { title.append("Resolved: ") }
      if name.isEmpty { title.append("Alert") }
      title.append(spelled: text.extracting(name), atMost: limit / 10)
    }
    if !instance.isEmpty {
      draft.set(.subtitle) { $0.append(spelled: text.extracting(instance), atMost: limit / 10) }
    }
    draft.set(.alert) { appendBody(text, limit, in: &$0) }
  }

  /// Appends the annotations `summary` and `description`, or else `message`, or else the labels.
  private func appendBody(_ text: Span<UInt8>, _ limit: Int, in line: inout Text) {
    let start = line.count
    for name in 0..<Self.annotationNames.count {
      let isLast = name == Self.annotationNames.count - 1
      if isLast, line.count > start { return }
      let value = annotation(Self.annotationNames[name], text)
      guard !value.isEmpty else { continue }
      if line.count > start { line.append("\\n") }
      line.append(spelled: text.extracting(value), atMost: limit)
    }
    guard line.count == start, !labels.isEmpty else { return }
    var members = JSONMembers(text, at: labels.lowerBound)
    while line.count < start + limit, let member = members.next(text) {
      let key = text.extracting(member.key)
      let value = member.content(text)
      guard !value.isEmpty, !key.equals("alertname"), !key.equals("instance"),
        !key.begins(with: ("__" as StaticString).span)
      else { continue }
      if line.count > start { line.append(", ") }
      line.append(spelled: key, atMost: limit)
      line.append(" = ")
      line.append(spelled: text.extracting(value), atMost: limit)
    }
  }

  private static let annotationNames: InlineArray<3, StaticString> = [
    "summary", "description", "message",
  ]

  private func label(_ name: StaticString, _ text: Span<UInt8>) -> Range<Int> {
    Self.string(name, in: labels, text)
  }

  private func annotation(_ name: StaticString, _ text: Span<UInt8>) -> Range<Int> {
    Self.string(name, in: annotations, text)
  }

  private static func string(
    _ name: StaticString, in object: Range<Int>, _ text: Span<UInt8>
  ) -> Range<Int> {
    guard !object.isEmpty else { return 0..<0 }
    var members = JSONMembers(text, at: object.lowerBound)
    while let member = members.next(text) {
      if text.extracting(member.key).equals(name) { return member.content(text) }
    }
    return 0..<0
  }

  // MARK: - Sound and level

  private func completeUrgency(_ draft: inout Draft, _ text: Span<UInt8>) {
    guard !isResolved else {
      draft.remove(.sound)
      // The next alert that fires is new.
      draft.remove(.againAfter)
      return draft.set(.level) { $0.append("passive") }
    }
    if !draft.has(.sound) { draft.set(.sound) { $0.append("default") } }
    if !draft.has(.level), text.extracting(label("severity", text)).equals("critical") {
      draft.set(.level) { $0.append("time-sensitive") }
    }
  }
}

extension Text {
  /// Appends the content of a JSON string, which keeps its escapes.
  ///
  /// - Parameter limit: the most bytes. An ellipsis stands for the rest.
  mutating func append(spelled content: Span<UInt8>, atMost limit: Int) {
    guard content.count > limit else { return append(bytes: content) }
    var index = 0
    var end = 0
    while index <= limit {
      let unit = JSONUnit(in: content, at: index)
      if !unit.isExtending { end = index }
      index += unit.length
    }
    append(bytes: content.extracting(0..<end))
    append("…")
  }
}
