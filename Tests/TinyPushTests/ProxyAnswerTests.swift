import Foundation
import Testing

@testable import TinyPush
@testable import TinyPushAgent

/// Reads an answer byte by byte, and returns the result and the number of bytes read.
private func read(_ answer: String) -> (outcome: ProxyAnswer.Outcome?, count: Int) {
  var reader = ProxyAnswer()
  var count = 0
  for byte in Array(answer.utf8) {
    count += 1
    if let outcome = reader.take(byte) { return (outcome, count) }
  }
  return (nil, count)
}

private let ok = "HTTP/1.1 200 Connection established\r\n"

@Test(arguments: [
  ok + "\r\n", ok + "Via: 1.1 x\r\nContent-Length: 5\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n",
  "HTTP/1.1 200\r\n\r\n", "HTTP/1.1 200 \r\n\r\n", "HTTP/1.1 299 What\r\n\r\n",
  "HTTP/1.1 200 OK\n\n", "HTTP/1.1 200 OK\r\nA: b\n\r\n",
  "HTTP/1.1 100 Continue\r\n\r\n" + ok + "\r\n",
  "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 102 Wait\n\n" + ok + "\r\n",
  "HTTP/1.1 200 \u{FF}\0\r\n\0: \u{FF}\r\n\r\n",
])
func `the tunnel is open at the end of a proxy's headers, and the rest belongs to TLS`(
  answer: String
) {
  for rest in ["", "\u{16}\u{3}", "HTTP/1.1 403 No\r\n\r\n"] {
    let found = read(answer + rest)
    #expect(found.outcome == .open)
    #expect(found.count == answer.utf8.count)
  }
  for end in 0..<answer.utf8.count {
    #expect(read(String(decoding: Array(answer.utf8)[0..<end], as: UTF8.self)).outcome == nil)
  }
}

@Test(arguments: [
  ("HTTP/1.1 407 Proxy Authentication Required\r\n", 407), ("HTTP/1.0 403 \n", 403),
  ("HTTP/1.1 502\r\n", 502), ("HTTP/1.1 301 Moved\r\n", 301), ("HTTP/1.1 999 x\r\n", 999),
  ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 x\r\n", 503),
])
func `another status is a refusal by the proxy`(answer: String, status: Int) {
  let found = read(answer + "Content-Type: text/html\r\n\r\n<html>")
  #expect(found.outcome == .refused(status: status))
  #expect(found.count == answer.utf8.count)
}

@Test(arguments: [
  "\u{15}", "S", "<", "h", "HTTP/2", "HTTP/1.x", "HTTP/1.1\t", "HTTP/1.1  ",
  "HTTP/1.1 2x", "HTTP/1.1 20\n", "HTTP/1.1 2000", "HTTP/1.1 099 x\n", "HTTP/1.1\r\n", "\r\n",
  "HTTP/1.1 100 x\r\n\r\nHTTQ",
])
func `an answer that is not HTTP is recognized at its first wrong byte`(answer: String) {
  let found = read(answer + "more")
  #expect(found.outcome == .garbage)
  #expect(found.count == answer.utf8.count)
}

@Test(arguments: [
  ("HTTP/1.1 200 ", "x"), ("HTTP/1.1 200 OK", "\r"), (ok, "a: b\r\n"), (ok + "A: ", "\0"),
  ("", "HTTP/1.1 100 x\r\n\r\n"),
])
func `an endless answer is read up to 8 KB`(start: String, filler: String) {
  let found = read(start + String(repeating: filler, count: 9000))
  #expect(found.outcome == .garbage)
  #expect(found.count == 8193)
}

@Test func `the bytes behind a proxy's headers stay in the socket`() throws {
  var ends: [Int32] = [-1, -1]
  #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
  defer { for end in ends { close(end) } }
  func send(_ text: String) {
    let bytes = Array(text.utf8)
    #expect(write(ends[1], bytes, bytes.count) == bytes.count)
  }
  var tunnel = ProxyTunnel()
  for byte in ok + "Via: x\r\n\r" {
    let progress = tunnel.readAnswer(ends[0]).progress
    #expect(progress == .waiting)
    send(String(byte))
  }
  send("\n\u{16}\u{3}\u{1}")
  let progress = tunnel.readAnswer(ends[0]).progress
  #expect(progress == .open)
  var rest: [UInt8] = [0, 0, 0, 0]
  #expect(recv(ends[0], &rest, 4, 0) == 3)
  #expect(rest == [0x16, 3, 1, 0])
}

// MARK: - The setting

/// Returns login and address of a value as `LOGIN|ADDRESS`.
private func parts(_ value: String) -> String? {
  let bytes = Array(value.utf8)
  guard let setting = ProxySetting(bytes.span) else { return nil }
  var login: [UInt8] = []
  _ = ProxySetting.decode(bytes.span.extracting(setting.login)) { login.append($0) }
  return String(decoding: login + Array("|".utf8) + bytes[setting.address], as: UTF8.self)
}

@Test(arguments: [
  ("http://proxy:3128", "|proxy:3128"), ("http://proxy:3128/", "|proxy:3128"),
  ("http://[::1]:3128", "|[::1]:3128"), ("http://me:se%25c%40r@t@proxy:1", "me:se%c@r@t|proxy:1"),
  ("http://me@proxy:1", "me|proxy:1"), ("http://@proxy:1", "|proxy:1"),
  ("http://zo%C3%AB:p%20w@10.0.0.1:8080", "zoë:p w|10.0.0.1:8080"),
])
func `a proxy setting has host and port, and may have user and password`(
  value: String, expected: String
) {
  #expect(parts(value) == expected)
}

@Test(arguments: [
  "", "http://", "http:///", "http://proxy", "proxy:3128", "https://proxy:3128", "http://::1:1",
  "http://me:%@proxy:1", "http://me:%4@proxy:1", "http://me:%zz@proxy:1",
  "http://me:%0d%0a@proxy:1",
  "http://me:a\u{7F}@proxy:1", "http://" + String(repeating: "x", count: 1100) + "@proxy:1",
])
func `other proxy settings are refused`(value: String) {
  #expect(parts(value) == nil)
}

@Test(arguments: [
  ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("\u{FB}?\u{FF}", "w7s/w78="),
])
func `base64 is padded`(value: String, expected: String) {
  let bytes = Array(value.utf8)
  #expect(text { $0.append(base64: bytes.span) } == expected)
}
