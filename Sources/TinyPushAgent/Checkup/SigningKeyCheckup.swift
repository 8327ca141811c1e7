import CLinux
import CMbed
import TinyPush

extension Checkup {
  /// Checks the signing key and its settings.
  @inline(never)
  mutating func checkSigningKey(
    _ config: borrowing Config, _ reason: UnsafeMutablePointer<CChar>
  ) {
    reportSigningKey("file", config.signingKey.pointer, reason)
    reportKeyID(config)
    report.message.append(printable: config.teamID.span)
    report.report("team-id")
    report.message.append(printable: config.topic.span)
    if config.courier.rules.app == .bark { report.message.append(", the app Bark") }
    report.report("topic")
  }

  /// Reports whether a key can sign, and who may read the file.
  @inline(never)
  mutating func reportSigningKey(
    _ item: StaticString, _ path: UnsafePointer<CChar>, _ reason: UnsafeMutablePointer<CChar>
  ) {
    let result = SigningKeyFile.check(path, reason)
    guard result == CMBED_OK else { return refuse(item, result, reason) }
    report.message.append(printable: path)
    report.message.append(", EC, 256 bits")
    reportSecret(item, path)
  }

  /// Compares the key ID with the file name, which Apple makes from the ID.
  @inline(never)
  private mutating func reportKeyID(_ config: borrowing Config) {
    report.message.append(printable: config.keyID.span)
    guard let named = Config.keyID(inName: config.signingKey.span), !named.equals(config.keyID.span)
    else { return report.report("key-id") }
    report.message.append(", but the file is named after ", printable: named)
    report.advice.append("set key-id to the ID of this key, or signing-key to the other file")
    report.report("key-id", .warning)
  }
}
