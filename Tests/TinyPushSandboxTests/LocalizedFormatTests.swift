import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushSandbox

/// Returns a format with its arguments inserted, and the numbers of specifiers left as written.
private func formatted(_ format: String, _ arguments: String?) -> (
  String, missing: Int, strange: Int
) {
  let payload = (arguments ?? "").bytes
  let bytes = format.bytes
  var format = LocalizedFormat(
    arguments: arguments == nil ? nil : 0..<payload.count, of: payload.span)
  let result = text { format.write(bytes.span, payload.span, to: &$0) }
  return (result, format.missing, format.strange)
}

@Test(
  arguments: [
    // Examples of the Programming Guide.
    (
      "%@ and %@ have invited you to play Monopoly", #"["Jenna", "Frank"]"#,
      "Jenna and Frank have invited you to play Monopoly"
    ),
    (
      "%2$@ and %1$@ have invited you to play Monopoly", #"["Jenna", "Frank"]"#,
      "Frank and Jenna have invited you to play Monopoly"
    ),
    ("", "[]", ""), ("none", #"["a"]"#, "none"), ("100%%", nil, "100%"), ("%%@", #"["a"]"#, "%@"),
    ("%@%@%@", #"["a","b","c"]"#, "abc"), ("%1$@%1$@", #"["a"]"#, "aa"),
    // `%@` counts on from the last `%@`; `%2$@` does not change that count.
    ("%2$@%@%@", #"["a","b"]"#, "bab"), ("%01$@", #"["a"]"#, "a"),
    ("%@", #"["\u00e9\n\"\\\ud83d\ude00"]"#, "é\n\"\\😀"), ("%@", #"["%@ %%"]"#, "%@ %%"),
    ("é%@日", #"["ö"]"#, "éö日"), ("%@.", #"[ "" ]"#, "."),
    // A value that is not a string is shown as it is written.
    ("%@ %@ %@", #"[1.50, true, {"a": [1]}]"#, #"1.50 true {"a": [1]}"#),
  ] as [(String, String?, String)])
func `a format takes its arguments in order or by number`(
  format: String, arguments: String?, expected: String
) {
  let result = formatted(format, arguments)
  #expect(result.0 == expected)
  #expect(result.missing == 0)
  #expect(result.strange == 0)
}

@Test(
  arguments: [
    ("%@", nil, "%@", 1, 0), ("%@ %@", #"["a"]"#, "a %@", 1, 0),
    ("%2$@ %1$@", #"["a"]"#, "%2$@ a", 1, 0),
    ("%0$@", #"["a"]"#, "%0$@", 1, 0),
    ("%99999999999999999999$@", #"["a"]"#, "%99999999999999999999$@", 1, 0),
    ("%@", "5", "%@", 1, 0), ("%@", #"{"a":"b"}"#, "%@", 1, 0), ("%@", #""ab""#, "%@", 1, 0),
    ("%d%s%10@%-@% @", #"["a"]"#, "%d%s%10@%-@% @", 0, 5), ("%1$d", #"["a"]"#, "%1$d", 0, 1),
    ("50% of", nil, "50% of", 0, 1), ("%", #"["a"]"#, "%", 0, 1), ("%1", #"["a"]"#, "%1", 0, 1),
    ("%1$", #"["a"]"#, "%1$", 0, 1), ("%$@", #"["a"]"#, "%$@", 0, 1), ("%é", nil, "%é", 0, 1),
    ("%d%%%@", #"["a"]"#, "%d%a", 0, 1),
  ] as [(String, String?, String, Int, Int)])
func `unknown specifiers and those without an argument stay as written and are counted`(
  format: String, arguments: String?, expected: String, missing: Int, strange: Int
) {
  let result = formatted(format, arguments)
  #expect(result.0 == expected)
  #expect(result.missing == missing)
  #expect(result.strange == strange)
}

@Test func `a format takes at most 64 arguments`() {
  let list = "[" + (1...65).map { "\"\($0)\"" }.joined(separator: ",") + "]"
  #expect(formatted("%64$@ %65$@", list) == ("64 %65$@", 1, 0))
}
