import Testing
import TinyPush
import TinyPushMail

/// Knows no character set.
private struct NoConverter: CharacterSetConverter {
  func convert(_ bytes: Span<UInt8>, from name: Span<UInt8>, to text: inout Text) -> Bool { false }
}

/// Writes the name of the character set in front of the text.
private struct NamingConverter: CharacterSetConverter {
  func convert(_ bytes: Span<UInt8>, from name: Span<UInt8>, to text: inout Text) -> Bool {
    text.append("[", bytes: name, "]")
    text.append(bytes: bytes)
    return true
  }
}

private func string(_ bytes: Span<UInt8>) -> String {
  String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
}

private func read(
  _ mail: String, _ converter: some CharacterSetConverter = NoConverter(), payloadMax: Int = 4096
) -> [String] {
  let mail = Mail(Array(mail.utf8).span, payloadMax: payloadMax, converter)
  return [string(mail.subject.bytes), string(mail.text.bytes)]
}

/// What the alert of a mail shows.
@Suite struct MailTests {
  /// A mail, its subject and its text.
  static let mails: [(mail: String, subject: String, text: String)] = [
    ("Subject: Tank low\n\n5 litres\n", "Tank low", "5 litres"),
    ("Subject: Tank low\r\n\r\n5 litres\r\nleft\r\n", "Tank low", "5 litres\nleft"),
    // Names in any case, white space before the colon, and a subject in several lines.
    ("SUBJECT : a\n  b\n\tc\n\nx", "a b c", "x"),
    ("From root Thu Nov 26 04:00:00 2026\nSubject: x\n\ny", "x", "y"),
    ("Subject: first\nSubject: second\n\nx", "first", "x"),
    ("Subject:\n\nx", "", "x"), ("Subject: only\n", "only", ""),
    ("Subject: only\n\n \n\n", "only", ""),
    // Without a header.
    ("hello\nworld\n", "", "hello\nworld"), ("Error: disk full\n", "", "Error: disk full"),
    ("\nNote: x\n", "", "Note: x"), ("", "", ""), (" \n\t\n", "", ""),
    // Empty lines and white space.
    ("\n\n  a  \n\n\n\n\tb\u{1B}[0m\u{0}c \n\n", "", "  a\n\n\tb[0mc"),
    // A line that is no field ends the header.
    ("Subject: x\nno field\n\ny", "x", "no field\n\ny"),
    ("To: a\n : b\n\nx", "", "x"),
    // Lines that look like fields.
    (
      "Warning: disk sda is failing\n\nLook at it.\n", "",
      "Warning: disk sda is failing\n\nLook at it."
    ),
    ("From now on: disk full\nrun fsck\n", "", "From now on: disk full\nrun fsck"),
    ("To: a\n\n", "", "To: a"),
    (
      "job: backup\ndate: 2026-11-26\nresult: FAILED\n", "",
      "job: backup\ndate: 2026-11-26\nresult: FAILED"
    ), (">From root x\nSubject: a\n\nb", "a", "b"),
  ]

  @Test(arguments: mails)
  func `a mail has a subject and a text`(mail: String, subject: String, text: String) {
    #expect(read(mail) == [subject, text])
  }

  /// The value of a subject, and what it shows.
  static let subjects: [(field: String, shown: String)] = [
    ("=?utf-8?q?Caf=C3=A9_x?=", "Café x"), ("=?UTF-8?B?Q2Fmw6k=?=", "Café"),
    ("a =?utf-8?q?b?= c", "a b c"), ("=?utf-8?q?a?=\n =?utf-8?q?b?=", "ab"),
    // A character that is divided among two words.
    ("=?utf-8?q?Caf=C3?= =?utf-8?q?=A9?=", "Café"),
    ("=?utf-8*de?q?a?=", "a"), ("=?utf-8?q?a b?=", "a b"),
    // Not encoded after all.
    ("=?utf-8?x?a?=", "=?utf-8?x?a?="), ("=?utf-8?q?a", "=?utf-8?q?a"), ("a=?", "a=?"),
    ("=?utf-8?q?=ZZ=4?=", "=ZZ=4"), ("plain Café", "plain Café"),
    // Neither UTF-8 nor of a known character set.
    ("=?x-unknown?q?Caf=E9?=", "Café"), ("=?utf-8?q?Caf=E9_=C3=A9?=", "Café é"),
    ("=?iso-8859-1?q?=93Caf=C3=A9=94_5_=80?=", "“Café” 5 €"), ("=?utf-8?q?a=C2=9B31m?=", "a 31m"),
    (String(repeating: "é", count: 128), String(repeating: "é", count: 128)),
    (String(repeating: "é", count: 129), String(repeating: "é", count: 126) + "…"),
  ]

  @Test(arguments: subjects) func `a subject is decoded`(field: String, shown: String) {
    #expect(read("Subject: \(field)\n\nx")[0] == shown)
  }

  @Test func `the character set of a text and of a word is used`() {
    let words = "Subject: =?Koi8-R?q?a?= =?koi8-r?q?b?= =?koi8-r?q?c?= d\n"
    let text = "Content-Type: text/plain; format=flowed; CharSet = \"big5\"\n\nx"
    #expect(read(words + text, NamingConverter()) == ["[Koi8-R]a[koi8-r]bc d", "[big5]x"])
    for name in ["utf-8", "US-ASCII", "ANSI_X3.4-1968"] {
      let mail = "Content-Type: text/plain; charset=\(name)\n\nGröße"
      #expect(read(mail, NamingConverter()) == ["", "Größe"])
    }
  }

  /// The header fields of a body, the body, and the text.
  static let bodies: [(fields: String, body: String, text: String)] = [
    (
      "Content-Transfer-Encoding: quoted-printable", "Caf=C3=A9 =\nis=20open=\r\n!", "Café is open!"
    ),
    ("Content-Transfer-Encoding: Quoted-Printable", "a =  \nb = c\n==", "a b = c\n="),
    ("Content-Transfer-Encoding: base64", "aGVs\r\nbG8=\r\n", "hello"),
    ("Content-Transfer-Encoding: base64", "YQ==YQ==", "aa"),
    ("Content-Transfer-Encoding: 8bit", "=41", "=41"),
    ("Content-Type: text/html", "<p>a<br>b</p>c", "a\nb\nc"),
    (
      "Content-Type: TEXT/HTML; charset=utf-8", "1 &lt; 2 &amp; 3&nbsp;&#8364;&#x41;&x;",
      "1 < 2 & 3 €A&x;"
    ),
    (
      "Content-Type: text/html",
      "<!DOCTYPE html><head><title>t</title><STYLE>p {}</STYLE></head><!-- a > b --><b>x</b>\n\n y",
      "x y"
    ),
    ("Content-Type: text/html", "<table><tr><td>a<td>b</tr></table>1 < 2 <3", "a b\n\n1 < 2 <3"),
    (
      "Content-Type: text/html", "&#0;&#xD800;&#x110000;&#99999999;",
      "&#0;&#xD800;&#x110000;&#99999999;"
    ),
    // A page that shows nothing.
    ("Content-Type: text/html", "<style>x", ""),
    // Other types of text, and of a whole mail.
    ("Content-Type: text/x-log", "x", "x"),
    ("Content-Type: text/plain (x); charset=utf-8", "x", "x"),
    ("Content-Type: application/octet-stream\nContent-Transfer-Encoding: base64", "bG9n", "log"),
    ("Content-Type: application/octet-stream\nContent-Transfer-Encoding: base64", "bAA=", ""),
    ("Content-Transfer-Encoding: \"base64\" (x)", "bG9n", "log"),
    // Only an attached text.
    (
      "Content-Type: multipart/mixed; boundary=b",
      "--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename=x\n\nlog\n--b--",
      "log"
    ),
    // A plain form that is empty once it is decoded.
    (
      "Content-Type: multipart/alternative; boundary=b",
      "--b\nContent-Transfer-Encoding: base64\n\nCg==\n--b\nContent-Type: text/html\n\n<p>html\n--b--",
      "html"
    ),
    // The first text goes before others that are not another form of the same.
    (
      "Content-Type: multipart/mixed; boundary=b",
      "--b\nContent-Type: text/html\n\n<p>html\n--b\n\nfooter\n--b--", "html"
    ),
    (
      "Content-Type: multipart/alternative; boundary=b",
      "--b\nContent-Type: text/html\n\n<p>html\n--b\nContent-Type: multipart/mixed; boundary=i\n\n--i\n\nplain\n--i--\n--b--",
      "plain"
    ),
    (
      "Content-Type: multipart/mixed; boundary=b",
      "pre\n--b\nContent-Type: image/png\n\nno\n--b\n\nyes\n--b--\nafter", "yes"
    ),
    (
      "Content-Type: multipart/alternative;\n boundary=\"b=; 1\"",
      "--b=; 1\nContent-Type: text/html\n\n<p>html\n--b=; 1\n\nplain\n--b=; 1--", "plain"
    ),
    (
      "Content-Type: multipart/mixed; boundary=b",
      "--b\nContent-Type: text/html\n\n<p>html\n--b\nContent-Disposition: attachment\n\nno\n--b--",
      "html"
    ),
    (
      "Content-Type: multipart/mixed; boundary=o",
      "--o\nContent-Type: multipart/mixed; boundary=oi\n\n--oi\n\n\n--oi\n\ninner\n--oi--\n--o\n\nouter\n--o--",
      "inner"
    ),
    // No boundary is found.
    ("Content-Type: multipart/mixed", "x", "x"),
    ("Content-Type: multipart/mixed; boundary*0=a; boundary*1=b", "--ab\n\nx", "--ab\n\nx"),
    ("Content-Type: multipart/alternative; boundary=b", "--c\n\nx", "--c\n\nx"),
    (
      "Content-Type: multipart/mixed; boundary=b",
      "--b\nContent-Type: multipart/mixed; boundary=i\n\n--i--\n--b\n\ngood\n--b--", "good"
    ),
    // The last boundary is missing, and another line only looks like one.
    ("Content-Type: multipart/mixed; boundary=b", "--b\n\n--bc\n-- b", "--bc\n-- b"),
  ]

  @Test(arguments: bodies) func `a body is decoded`(fields: String, body: String, text: String) {
    #expect(read("\(fields)\n\n\(body)")[1] == text)
  }

  @Test func `a long subject leaves room for the text in a small payload`() {
    let mail = "Subject: \(String(repeating: "x", count: 300))\n\ny"
    #expect(read(mail)[0].utf8.count == 256)
    #expect(read(mail, payloadMax: 256)[0].utf8.count == 85)
  }

  @Test func `parts in parts end at some depth`() {
    var mail = ""
    for depth in 0..<20 {
      mail += "Content-Type: multipart/mixed; boundary=b\(depth)\n\n--b\(depth)\n"
    }
    #expect(read(mail + "\ny") == ["(no subject)", ""])
    #expect(read("Subject: x\n" + mail + "\ny")[1] == "")
  }

  @Test func `of a large text, the first lines are read`() {
    let lines = (0..<20_000).map { "Zeile \($0) größer" }
    let shown = read(lines.joined(separator: "\n"))[1].split(separator: "\n").map(String.init)
    #expect(shown.count > 2000)
    #expect(shown.dropLast().elementsEqual(lines.prefix(shown.count - 1)))
    let encoded =
      "Content-Transfer-Encoding: base64\n\n"
      + String(repeating: "w6TDtsO8", count: 20_000)
    #expect(read(encoded)[1].hasPrefix("äöüäöü"))
  }
}

/// To whom a mail goes.
@Suite struct AddressReaderTests {
  static let lists: [(list: String, names: [String])] = [
    ("family", ["family"]), ("family@box", ["family"]), ("a@x, b@y;c", ["a", "b", "c"]),
    ("The family <family@box>", ["family"]), ("\"A, B\" <a@b>, c", ["a", "c"]),
    ("<a@b>", ["a"]), ("<a>", ["a"]), ("a (the, first), b", ["a", "b"]), ("(x) a@b (y)", ["a"]),
    ("\"a\"@b", ["a"]), ("group: a, b@c;", ["a", "b"]), ("<@relay,@other:a@b>", ["a"]),
    ("", []), (" , ,", []), ("a@b@c", ["a"]), ("(a (b) \\) c", []), ("\"a", ["\"a"]),
    ("A\\<b <c", ["c"]),
  ]

  @Test(arguments: lists) func `a list of addresses is read`(list: String, names: [String]) {
    let bytes = Array(list.utf8)
    var reader = AddressReader(0..<bytes.count)
    var found: [String] = []
    while let place = reader.next(in: bytes.span) {
      found.append(String(decoding: bytes[place], as: UTF8.self))
    }
    #expect(found == names)
  }

  @Test func `recipients are in To, Cc and Bcc`() {
    let mail = "To: a, b@x\nFrom: c\ncc: d,\n e\nReply-To: f\nBCC: g\n\nTo: h\n"
    var found: [String] = []
    Mail.forEachRecipient(of: Array(mail.utf8).span) { found.append(string($0)) }
    #expect(found == ["a", "b", "d", "e", "g"])
  }
}
