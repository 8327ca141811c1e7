import CLinux
import CMbed
import TinyPush

extension Checkup {
  /// Checks the key for Web Push, and each push service that a subscription names.
  @inline(never)
  mutating func checkWebPush(_ config: borrowing Config) {
    let reason = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CMBED_TEXT_MAX))
    defer { reason.deallocate() }
    report.begin("web-push")
    if access(config.vapidKey.pointer, F_OK) != 0, clinux_errno() == ENOENT {
      report.message.append(printable: config.vapidKey.span)
      let files = RecipientsFiles(config.recipients.span, config.courier.rules.pushProtocol)
      report.advice.append(
        files.countBrowsers() > 0
          ? "put it back from a backup: the browsers in the recipients files need it, and would have to register again with a new key"
          : "run tinypush recipient invite NAME, which makes the key")
      report.report("key", .wrong(.noInput), " does not exist")
    } else {
      reportSigningKey("key", config.vapidKey.pointer, reason)
    }
    report.message.append(printable: config.contact.span)
    report.report("contact")
    // The first ones are checked.
    var hosts = TextList(8, bytes: 8 * 256)
    findHosts(config, &hosts)
    if hosts.count == 0 {
      report.message.append("no recipients file has a browser's subscription")
      return report.report("service", .skipped)
    }
    for number in 0..<hosts.count { checkService(hosts[number], config) }
  }

  private mutating func findHosts(_ config: borrowing Config, _ hosts: inout TextList) {
    let files = RecipientsFiles(config.recipients.span, config.courier.rules.pushProtocol)
    _ = files.forEachName { name in Self.findHosts(in: name, files, &hosts) }
  }

  private static func findHosts(
    in name: Span<UInt8>, _ files: borrowing RecipientsFiles, _ hosts: inout TextList
  ) {
    _ = files.forEachLine(in: name) { _, line, text in
      guard case .recipient(let recipient) = line, !recipient.subscription.isEmpty else {
        return true
      }
      let word = text.extracting(recipient.subscription)
      do throws(Subscription.Problem) {
        let host = word.extracting(try Subscription(word).authority)
        if !hosts.contains(host) { _ = hosts.append(host) }
      } catch {}
      return true
    }
  }

  /// Connects to a service; what it answers is known when something is sent.
  private mutating func checkService(_ host: Span<UInt8>, _ config: borrowing Config) {
    var connection = TLSConnection(address: host, port: "443", config, .browsers)
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    defer { close(epoll) }
    report.wait(for: "connecting to ", host)
    let since = Clock.now()
    guard connection.connect(epoll: epoll, config: config) else {
      take(connection.problem.bytes)
      return report.report("service", .wrong(connection.isOurFault ? .config : .unavailable))
    }
    report.message.append(printable: host)
    report.message.append(", ", cString: connection.version)
    report.message.append(", in ", since.until(Clock.now()).milliseconds, " ms")
    report.report("service")
    connection.hangUp(epoll: epoll, closeNotify: true)
  }
}
