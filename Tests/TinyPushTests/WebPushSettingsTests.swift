import CLinux
import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushAgent

@Test(arguments: [
  ("mailto:me@box.tinypush.org", true), ("https://tinypush.org", true),
  ("https://box.tinypush.org:8443/contact", true), ("mailto:a.b+c@example-box.de", true),
  ("me@tinypush.org", false), ("mailto:me", false), ("mailto:@tinypush.org", false),
  ("mailto:me@box.example.org", false),
  ("mailto:mailto:me@localhost", false), ("mailto:me@localhost", false),
  ("mailto:me@box.local", false), ("mailto:me@box.invalid", false), ("mailto:me@box.lan", false),
  ("mailto:me@example.com", false), ("https://example.org", false),
  ("http://tinypush.org", false),
  ("https://", false), ("mailto:me@box..", false), ("https://localhost/x.y", false),
  (#"mailto:"me"@tinypush.org"#, false), ("mailto:me@tinypush.org\\", false), ("", false),
])
func `a contact is an address that push services take`(contact: String, isTaken: Bool) {
  #expect(Config.isContact(contact.bytes.span) == isTaken)
}

@Test func `a VAPID token names the service, its end and the contact`() {
  let claims = text {
    VAPIDToken.writeClaims(
      "push.example.net:8443".bytes.span, "mailto:me@box.example.org".bytes.span,
      until: 1_800_000_000, in: &$0)
  }
  // The header and the claims in base64url, as any decoder reads them.
  let header = text { $0.append(base64URL: #"{"typ":"JWT","alg":"ES256"}"#.bytes.span) }
  let body = text {
    $0.append(
      base64URL:
        #"{"aud":"https://push.example.net:8443","exp":1800000000,"sub":"mailto:me@box.example.org"}"#
        .bytes.span)
  }
  #expect(claims == "\(header).\(body)")
}

@Test(arguments: [
  ("8.8.8.8", true), ("1.1.1.1", true), ("100.63.255.255", true), ("172.15.0.1", true),
  ("172.32.0.1", true), ("192.167.1.1", true), ("223.255.255.255", true), ("198.20.0.1", true),
  ("0.0.0.0", false), ("10.1.2.3", false), ("100.64.0.1", false), ("100.127.255.255", false),
  ("127.0.0.1", false), ("127.255.255.255", false), ("169.254.169.254", false),
  ("172.16.0.1", false), ("172.31.255.255", false), ("192.0.0.8", false), ("192.0.2.1", false),
  ("192.168.178.1", false), ("198.18.0.1", false), ("198.51.100.7", false), ("203.0.113.9", false),
  ("224.0.0.1", false), ("255.255.255.255", false),
  ("2a00:1450:4001:80e::200a", true), ("2606:4700::1111", true), ("64:ff9b::808:808", true),
  ("::ffff:8.8.8.8", true), ("2002:808:808::1", true),
  ("::", false), ("::1", false), ("::ffff:127.0.0.1", false), ("::ffff:10.0.0.1", false),
  ("64:ff9b::a00:1", false), ("64:ff9b:1::1", false), ("fe80::1", false), ("fc00::1", false),
  ("fd12:3456::1", false), ("ff02::1", false), ("2001:db8::1", false), ("2001:10::1", false),
  ("2002:a00:1::1", false), ("2002:7f00:1::1", false),
])
func `an address in a private network is told from a public one`(
  address: String, isPublic: Bool
) throws {
  var hints = addrinfo()
  hints.ai_flags = AI_NUMERICHOST
  var found: UnsafeMutablePointer<addrinfo>?
  try #require(getaddrinfo(address, "443", &hints, &found) == 0)
  defer { freeaddrinfo(found) }
  let first = try #require(found)
  #expect((clinux_is_public(first.pointee.ai_addr) != 0) == isPublic)
}
