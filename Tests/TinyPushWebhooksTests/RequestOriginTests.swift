import Testing
import TinyPushWebhooks

@Suite struct RequestOriginTests {
  @Test(arguments: [
    ("localhost", true), ("LocalHost:8077", true), ("127.0.0.1:8077", true), ("[::1]:8077", true),
    ("192.168.1.5", true), ("attic", true), ("attic:80", true), ("Attic.local", true),
    ("attic.example.org", true), ("attic.example.org:443", true),
    ("", false), ("evil.example", false), ("localhost.evil.example", false),
    ("attic.evil.example", false), ("attic.local.evil.example", false), ("local", false),
    (".local", false), ("cellar.local", false), ("127.0.0.1.evil.example", false),
  ])
  func `a host is an address or a name of this machine`(host: String, isOwn: Bool) {
    let (bytes, machine) = (Array(host.utf8), Array("attic.example.org".utf8))
    #expect(RequestOrigin.isOfMachine(host: bytes.span, machine: machine.span) == isOwn)
  }

  @Test func `without a name of the machine only addresses and localhost are its own`() {
    for (host, isOwn) in [("localhost", true), ("10.0.0.1", true), ("attic", false), ("", false)] {
      let (bytes, machine) = (Array(host.utf8), [UInt8]())
      #expect(RequestOrigin.isOfMachine(host: bytes.span, machine: machine.span) == isOwn)
    }
  }

  @Test(arguments: [
    ("http://attic:8077/page", "attic:8077", false), ("http://ATTIC:8077", "attic:8077", false),
    ("http://attic:8077?x=1", "attic:8077", false),
    ("http://evil.example/", "attic:8077", true), ("http://attic/", "attic:8077", true),
    ("attic:8077", "attic:8077", true), ("", "attic:8077", true),
    ("http://attic:8077.evil.example/", "attic:8077", true),
  ])
  func `a referer of another site is foreign`(referer: String, host: String, isForeign: Bool) {
    let (bytes, own) = (Array(referer.utf8), Array(host.utf8))
    #expect(RequestOrigin.isForeign(referer: bytes.span, host: own.span) == isForeign)
  }
}
