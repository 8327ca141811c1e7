import CLinux
import TinyPush

extension Checkup {
  /// Checks the configuration file and reports the settings in use.
  @inline(never)
  mutating func checkConfig(_ config: borrowing Config, _ path: UnsafePointer<CChar>) {
    report.begin("config")
    reportFile(config, path)
    if config.hasFormerSettings {
      report.message.append(
        "alpn, linger, barrier-interval and failed-limit have no effect any more")
      report.advice.append("remove these settings from the file")
      report.report("settings", .warning)
    }
    reportSettings(config)
  }

  @inline(never)
  private mutating func reportFile(_ config: borrowing Config, _ path: UnsafePointer<CChar>) {
    var file = stat()
    report.message.append(printable: path)
    guard stat(path, &file) == 0 else {
      report.message.append(" does not exist: all settings have their defaults or come from -o")
      report.advice.append("create it (man tinypush.conf), or name another file with --config FILE")
      return report.report("file", .warning)
    }
    guard !isClosedToAgent(path) else { return reportClosed("file", isCredential: false) }
    let mode = UInt32(file.st_mode)
    if mode & 0o002 != 0 {
      report.message.append(", which anybody may change")
      advise("chmod o-w ", path)
      return report.report("file", .warning)
    }
    let hasKeyPassword = !config.keyPassword.isEmpty
    let hasEncryptionKey = !config.encryptionKey.isEmpty
    let isOpen = mode & 0o004 != 0
    if hasKeyPassword || hasEncryptionKey || !config.proxyLogin.isEmpty,
      isOpen || mode & 0o040 != 0 && user.isGroupOfSpool(file.st_gid)
    {
      report.message.append(", in which ", isOpen ? "anybody" : "everybody who sends")
      report.message.append(
        hasKeyPassword
          ? " may read the password of the key"
          : hasEncryptionKey
            ? " may read the encryption key" : " may read the password of the proxy")
      advise("let only root and the agent read it: chgrp tinypush-agent ", path)
      advise(" && chmod 640 ", path)
      return report.report("file", .warning)
    }
    report.report("file")
  }

  @inline(never)
  private mutating func reportSettings(_ config: borrowing Config) {
    guard config.courier.hasDevices else {
      report.message.append("browsers alone (Web Push)")
      return report.report("environment")
    }
    report.message.append(config.environment.name)
    var address = Text(capacity: 300)
    config.gatewayAddress(in: &address)
    report.message.append(", gateway ", printable: address)
    if config.courier.rules.pushProtocol == .http2 {
      report.message.append(" (HTTP/2)")
    } else {
      address.clear()
      config.feedbackAddress(in: &address)
      report.message.append(", feedback ", printable: address)
    }
    if !config.proxy.isEmpty {
      report.message.append(", through the proxy ", printable: config.proxy.span)
    }
    report.report("environment")
  }
}
