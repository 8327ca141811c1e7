import CLinux
import CMbed
import TinyPush
import TinyPushAgent

/// The sandbox's certificates: those of its authority, of the gateway and of the agent.
struct Credentials {
  /// The topic of the agent's certificate.
  static let topic: StaticString = "com.example.tinypush"

  private static let daySeconds: Int64 = 86_400
  private static let authorityDays: Int64 = 3650
  private static let certificateDays: Int64 = 730

  private let home: Home
  private let now: Int64
  private let isRSA: Bool

  /// Makes the certificates that are missing or not valid, and prints which it replaces, and why.
  ///
  /// - Parameter isRSA: whether the keys must be RSA keys; otherwise any key is accepted, and new
  ///   keys are EC keys.
  init(in home: Home, now: Int64, isRSA: Bool) throws(SandboxFailure) {
    self.home = home
    self.now = now
    self.isRSA = isRSA
    let isAuthorityNew = try keep(.authority, isForced: false)
    _ = try keep(.gateway, isForced: isAuthorityNew)
    _ = try keep(.client, isForced: isAuthorityNew)
  }

  private enum Holder {
    case authority, gateway, client

    var certificate: StaticString {
      switch self {
      case .authority: "/ca.pem"
      case .gateway: "/gateway.pem"
      case .client: "/client.pem"
      }
    }

    var key: StaticString {
      switch self {
      case .authority: "/ca-key.pem"
      case .gateway: "/gateway-key.pem"
      case .client: "/client-key.pem"
      }
    }

    var kind: cmbed_issue_kind {
      switch self {
      case .authority: CMBED_AUTHORITY
      case .gateway: CMBED_SERVER
      case .client: CMBED_CLIENT
      }
    }

    var name: StaticString {
      switch self {
      case .authority: "TinyPush sandbox"
      case .gateway: "localhost"
      case .client: "TinyPush sandbox Push Services: com.example.tinypush"
      }
    }
  }

  /// Makes a certificate if needed; true: it was made.
  private func keep(_ holder: Holder, isForced: Bool) throws(SandboxFailure) -> Bool {
    var why = Text()
    if isForced {
      why.append("its authority is new")
    } else {
      guard !isGood(holder, why: &why) else { return false }
    }
    if home.withPath(holder.certificate, { path in access(path, F_OK) == 0 }) {
      var text = Text(capacity: 8192)
      text.append("replacing ")
      home.write(holder.certificate, in: &text)
      text.append(": ", bytes: why.bytes)
      SandboxFailure.print(text)
    }
    try issue(holder)
    return true
  }

  private func isGood(_ holder: Holder, why: inout Text) -> Bool {
    let words = FixedBuffer<CChar>(capacity: Int(CMBED_TEXT_MAX))
    var facts = cmbed_certificate()
    let result = home.withPath(holder.certificate) { certificate in
      home.withPath(holder.key) { key in
        cmbed_certificate_read(&facts, certificate, key, nil, words.room(from: 0).baseAddress!)
      }
    }
    guard result == CMBED_OK else {
      why.append(cString: words.room(from: 0).baseAddress!)
      return false
    }
    if isRSA,
      !CString.span(cmbed_certificate_key(&facts)).begins(with: ("RSA" as StaticString).span)
    {
      why.append("its key is not an RSA key")
      return false
    }
    if now > facts.not_after {
      why.append("it has expired")
      return false
    }
    if now < facts.not_before {
      why.append("it is not valid yet, so this machine's clock has gone back")
      return false
    }
    return true
  }

  private func issue(_ holder: Holder) throws(SandboxFailure) {
    let words = FixedBuffer<CChar>(capacity: Int(CMBED_TEXT_MAX))
    let certificate = FixedBuffer<CChar>(capacity: Int(CMBED_PEM_MAX))
    let key = FixedBuffer<CChar>(capacity: Int(CMBED_PEM_MAX))
    let days = holder == .authority ? Self.authorityDays : Self.certificateDays
    var options = cmbed_issue_options()
    options.name = holder.name.cString
    options.kind = holder.kind
    options.rsa = isRSA ? 1 : 0
    // Valid since yesterday, for clocks that differ a little.
    options.not_before = now > Self.daySeconds ? now - Self.daySeconds : 0
    options.not_after = now + days * Self.daySeconds
    let result = home.withPath(Holder.authority.certificate) { issuer in
      home.withPath(Holder.authority.key) { issuerKey in
        if holder != .authority {
          options.issuer = issuer
          options.issuer_key = issuerKey
        }
        return cmbed_issue(
          certificate.room().baseAddress, key.room().baseAddress, &options,
          words.room().baseAddress)
      }
    }
    guard result == CMBED_OK else { throw SandboxFailure.refuse(words) }
    try home.replace(holder.key, byPEM: key, mode: 0o600)
    try home.replace(holder.certificate, byPEM: certificate, mode: 0o644)
  }
}
