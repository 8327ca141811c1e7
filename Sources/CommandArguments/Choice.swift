import TinyPush

/// One of several words: a command, or an action of a command.
public enum Choice {
  /// The number of a word among those that are known.
  @inline(never)
  public static func index(_ word: Span<UInt8>, among known: Span<StaticString>) -> Int? {
    for index in known.indices where word.equals(known[index]) { return index }
    return nil
  }

  /// Says of a word that is not known which one resembles it.
  ///
  /// - Parameter objection: stands before the word.
  @inline(never)
  public static func refuse(
    _ word: Span<UInt8>, among known: Span<StaticString>, _ objection: StaticString,
    in text: inout Text
  ) {
    text.append(objection)
    text.append(printable: word)
    suggest(word, among: known, ": did you mean ", in: &text)
  }

  /// Asks whether the known word that resembles this one is meant, if there is one.
  @inline(never)
  public static func suggest(
    _ word: Span<UInt8>, among known: Span<StaticString>, _ question: StaticString,
    in text: inout Text
  ) {
    guard let nearest = Nearest.match(word, among: known) else { return }
    text.append(question)
    text.append(nearest)
    text.append("?")
  }
}
