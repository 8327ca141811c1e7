import CLinux
import TinyPush
import TinyPushAgent

/// The messages about wrong options.
extension Arguments {
  /// Prints what is wrong with the option that getopt_long refused.
  @inline(never)
  func complain(isValueMissing: Bool) -> ExitStatus {
    let letter = clinux_option_letter()
    let word = CString.span(word(with: letter))
    let nearest = nearest(to: word)
    // An argument such as -xyz holds several options: name only the wrong letter.
    var option = Text(capacity: 2048)
    if letter == 0 || nearest != nil && !isValueMissing {
      option.append(bytes: word)
    } else {
      option.append("-")
      option.append(byte: UInt8(truncatingIfNeeded: letter))
    }
    var text = Text(capacity: 2048)
    if isValueMissing {
      text.append(printable: option)
      text.append(" needs a value")
      return fail(options: &text)
    }
    if isText(word) { return complain(ofText: word) }
    if letter == 0, explain(word, in: &text) { return fail(options: &text) }
    text.append("unknown option ", printable: option)
    if let nearest {
      text.append("; did you mean --", bytes: name(of: nearest), "?")
    }
    return fail(options: &text)
  }

  /// Prints that a text which begins with a hyphen needs `--` before it.
  @inline(never)
  func complain(ofText word: Span<UInt8>) -> ExitStatus {
    var text = Text(capacity: 2048)
    text.append("\"", printable: word)
    text.append("\" is not an option: put -- before a text that begins with -")
    return fail(options: &text)
  }

  @inline(never)
  private func fail(options text: inout Text) -> ExitStatus {
    text.append("\nTry `")
    appendName(to: &text)
    text.append(" --help`.")
    return fail(.usage, text)
  }

  /// Returns the argument that holds the letter of a short option.
  ///
  /// The index of getopt moves to the next argument only after the last letter.
  func word(with letter: Int32) -> UnsafePointer<CChar> {
    let index = Int(clinux_option_index())
    if letter != 0, index < Int(count), let word = values[index],
      word[0] == CChar(UInt8.hyphen), word[1] != CChar(UInt8.hyphen), strchr(word, letter) != nil
    {
      return UnsafePointer(word)
    }
    return UnsafePointer(values[index - 1]!)
  }

  /// Returns the option's name in an argument, without hyphens and value.
  @_lifetime(copy word)
  @inline(never)
  private func name(in word: Span<UInt8>) -> Span<UInt8> {
    var start = 0
    while start < word.count, word[start] == .hyphen { start += 1 }
    var end = start
    while end < word.count, word[end] != .equals { end += 1 }
    return word.extracting(start..<end)
  }

  /// Whether an argument with a leading hyphen is more likely a text: a number, or several words.
  private func isText(_ word: Span<UInt8>) -> Bool {
    let name = name(in: word)
    if name.count > 0, name[0].isDigit { return true }
    for index in name.indices where name[index] == .space { return true }
    return false
  }

  /// Returns the option whose name is most similar to the argument, if one is similar enough.
  private func nearest(to word: Span<UInt8>) -> Int? {
    let name = name(in: word)
    guard name.count > 1 else { return nil }
    var best: Int?
    var bestDistance = Nearest.distanceMax(name) + 1
    for index in 0..<optionCount {
      let edits = Nearest.distance(name, self.name(of: index))
      if edits < bestDistance { (best, bestDistance) = (index, edits) }
    }
    return best
  }

  /// Describes why an abbreviated option is refused; false: no option begins with these letters.
  ///
  /// Either the option takes no value, or several options begin with these letters.
  private func explain(_ word: Span<UInt8>, in text: inout Text) -> Bool {
    let name = name(in: word)
    var matches = 0
    var isExact = false
    for index in 0..<optionCount where isShort(name, for: index) {
      matches += 1
      if self.name(of: index).count == name.count { isExact = true }
    }
    guard matches > 0 else { return false }
    if isExact || matches == 1 {
      text.append(printable: word)
      text.append(": this option takes no value")
      return true
    }
    text.append("ambiguous option ", printable: word, ":")
    for index in 0..<optionCount where isShort(name, for: index) {
      text.append(" --", bytes: self.name(of: index))
    }
    return true
  }

  private func isShort(_ name: Span<UInt8>, for index: Int) -> Bool {
    name.count > 0 && self.name(of: index).begins(with: name)
  }
}
