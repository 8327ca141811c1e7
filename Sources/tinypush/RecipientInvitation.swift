import CLinux
import CMbed
import CommandArguments
import TinyPush
import TinyPushAgent

/// `tinypush recipient invite`: the address with which a browser registers.
enum RecipientInvitation {
  /// Makes the key of this machine if there is none, and prints an invitation.
  @inline(never)
  static func run(
    _ config: borrowing Config, isJSON: Bool, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> ExitStatus {
    guard let operand = arguments.operand(1) else {
      throw arguments.fail(.usage, "give the name of a recipients file")
    }
    let name = CString.span(operand)
    let key = try publicKey(config, arguments)
    guard let now = Clock.time().wallSeconds else {
      throw arguments.fail(
        .tryLater,
        "this machine's clock is not set, so the invitation would have no end: set the clock, and try again"
      )
    }
    let end = now + Invitations.lifetime
    var code = Text(capacity: 64)
    var error: Int32 = 0
    if let invitations = Invitations(config.recipients.span, error: &error) {
      error = invitations.make(for: name, until: end, code: &code)
    }
    guard error == 0 else {
      var text = Text()
      throw arguments.fail(
        RecipientsEditor.explain(error, config.recipients.span, nil, in: &text), text)
    }
    var address = Text(capacity: 4096)
    InvitationPage.append(
      config.webPage.span, key: key.span, list: name, code: code.bytes, to: &address)
    print(address, name, until: UInt32(clamping: end), isJSON: isJSON)
    return .ok
  }

  // MARK: - The key

  /// Makes the key that the configuration names, unless there is one.
  @inline(never)
  static func ensureKey(_ arguments: borrowing Arguments) throws(ExitStatus) {
    var config = Config()
    try arguments.readConfig(into: &config, for: .command)
    _ = try publicKey(config, arguments)
  }

  @inline(never)
  private static func publicKey(
    _ config: borrowing Config, _ arguments: borrowing Arguments
  ) throws(ExitStatus) -> InlineArray<65, UInt8> {
    let path = config.vapidKey.pointer
    guard !config.vapidKey.isEmpty, !config.webPage.isEmpty else {
      var text = Text()
      text.append(
        config.vapidKey.isEmpty
          ? "run tinypush setup and answer browser, or write the lines vapid-key = credentials/vapid.pem, contact = mailto:YOUR-ADDRESS and "
          : "run tinypush setup and answer browser, or write the line ")
      text.append("web-page = https://HOST/web/ into ")
      text.append(printable: CString.span(arguments.configPath))
      text.append(" (man tinypush-webpush)")
      throw arguments.fail(config.isUnread ? .noPermission : .config, text)
    }
    if access(path, F_OK) != 0, clinux_errno() == ENOENT {
      try refuseNewKey(config, arguments)
      try makeKey(path, arguments)
    }
    var point = InlineArray<65, UInt8>(repeating: 0)
    let words = FixedBuffer<CChar>(capacity: Int(CMBED_TEXT_MAX))
    guard SigningKeyFile.read(path, &point, words.room().baseAddress!) == CMBED_OK else {
      var text = Text(capacity: 2048)
      text.append("vapid-key: ", cString: words.room().baseAddress)
      let mayRead = access(path, R_OK) == 0 || clinux_errno() != EACCES
      if !mayRead { text.append(" Run the command as root (sudo).") }
      throw arguments.fail(mayRead ? .config : .noPermission, text)
    }
    return point
  }

  /// Refuses a new key while browsers are registered, which need the key that is missing.
  private static func refuseNewKey(
    _ config: borrowing Config, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    let files = RecipientsFiles(config.recipients.span, config.courier.rules.pushProtocol)
    let browsers = files.countBrowsers()
    guard browsers > 0 else { return }
    var text = Text()
    text.append(printable: config.vapidKey.span)
    text.append(" does not exist, and ", browsers)
    text.append(
      browsers == 1
        ? " browser in the recipients files needs that key"
        : " browsers in the recipients files need that key")
    text.append(
      ": put it back from a backup; or let them register again with a new key: remove them first (tinypush recipient remove), and then run this command again"
    )
    throw arguments.fail(.noInput, text)
  }

  /// Makes a key that only its owner can read; systemd gives it to the agent as a credential.
  private static func makeKey(
    _ path: UnsafePointer<CChar>, _ arguments: borrowing Arguments
  ) throws(ExitStatus) {
    let pem = FixedBuffer<CChar>(capacity: Int(CMBED_PEM_MAX))
    let words = FixedBuffer<CChar>(capacity: Int(CMBED_TEXT_MAX))
    defer { clinux_wipe(pem.room().baseAddress, pem.capacity) }
    var text = Text(capacity: 2048)
    guard cmbed_signing_key_make(pem.room().baseAddress, words.room().baseAddress) == CMBED_OK
    else {
      text.append(cString: words.room().baseAddress)
      throw arguments.fail(.inputOutput, text)
    }
    let directory = ConfigFile.directory(of: path)
    if !directory.isEmpty { mkdir(directory.pointer, 0o700) }
    extendLifetime(directory)
    let error = CredentialCopy.write(
      CString.span(pem.room().baseAddress!), to: path, replaces: false)
    // Another command has made a key meanwhile.
    if error == EEXIST { return }
    text.append(printable: CString.span(path))
    guard error == 0 else {
      text.append(": ", cString: clinux_error_text(error))
      let isForbidden = error == EACCES || error == EPERM
      if isForbidden { text.append(": run the command as root (sudo)") }
      throw arguments.fail(isForbidden ? .noPermission : .cannotCreate, text)
    }
    text.append(
      "  written: keep a copy, since subscriptions need this key, and restart the agent\n")
    text.write(to: STDERR_FILENO)
  }

  // MARK: - Output

  private static func print(
    _ address: borrowing Text, _ name: Span<UInt8>, until end: UInt32, isJSON: Bool
  ) {
    var text = Text(capacity: 8192)
    if isJSON {
      text.beginObject()
      text.member("name", string: name)
      text.member("address", string: address.bytes)
      text.member("expires", number: end)
      text.endLine()
      return text.write(to: STDOUT_FILENO)
    }
    text.append(address)
    text.append("\n")
    text.write(to: STDOUT_FILENO)
    guard isatty(STDOUT_FILENO) != 0 else { return }
    let hasCode = printCode(address)
    text.clear()
    if !hasCode { text.append("To see a QR code here, install the package qrencode.\n") }
    text.append("The invitation works once, until ")
    text.append(utc: end)
    text.append(".\n")
    text.write(to: STDOUT_FILENO)
  }

  /// Prints a QR code with the program qrencode; returns whether there is one.
  ///
  /// Other users do not see the environment, as they do arguments.
  private static func printCode(_ address: borrowing Text) -> Bool {
    address.withCString { _ = setenv(("ADDRESS" as StaticString).cString, $0, 1) }
    let command: StaticString =
      Terminal(STDOUT_FILENO).isPlain
      ? "printf %s \"$ADDRESS\" | qrencode -t ASCII -m 2 2>/dev/null"
      : "printf %s \"$ADDRESS\" | qrencode -t ANSIUTF8 -m 2 2>/dev/null"
    return system(command.cString) == 0
  }
}
