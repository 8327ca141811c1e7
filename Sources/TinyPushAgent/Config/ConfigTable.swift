import CMbed
import TinyPush
import TinyPushBinary

extension Config {
  /// The settings, in the order of tinypush.conf(5), which explains them.
  public static let table = SettingsTable<Config>(
    of: "tinypush.conf(5)",
    [
      Setting(
        "environment", "production|development|local", default: "production",
        "Apple's service for published apps or for Xcode's, or a sandbox here",
        .value { config, value throws(Problem) in
          // This word is from Apple's host names.
          let isSandbox = value.equals("sandbox")
          let number = try isSandbox ? 1 : Config.choice(value, "production|development|local")
          config.environment = Environment(rawValue: UInt8(number))!
        }),
      Setting(
        "protocol", "http2|binary", default: "http2", for: .command,
        "Apple's service, or gateways of Apple's older protocol",
        .choice { $0.courier.rules.pushProtocol = $1 == 0 ? .http2 : .binary }),
      Setting(
        "gateway", "HOST:PORT", "the gateway, if not that of the environment",
        .value { config, value throws(Problem) in
          config.gateway = try Config.address(value)
        }),
      Setting(
        "feedback", "HOST:PORT", only: .binary("the service answers at once when a device is gone"),
        "the feedback service, if not that of the environment",
        .value { config, value throws(Problem) in
          config.feedback = try Config.address(value)
        }),
      Setting(
        "certificate", "FILE", "the push certificate and its chain, in PEM",
        .value { config, value throws(Problem) in
          config.certificate = try config.credential(value)
        }),
      Setting(
        "key", "FILE", "the key of the certificate, if in a file of its own",
        .value { config, value throws(Problem) in
          config.key = try config.credential(value)
        }),
      Setting(
        "key-password", "TEXT", "the password of the key",
        .text { config, value throws(Problem) in
          try config.keyPassword.set(value, file: config.file)
        }),
      Setting(
        "signing-key", "FILE", only: .http2("a certificate is needed"),
        "Apple's file AuthKey_XXXXXXXXXX.p8, instead of a certificate",
        .value { config, value throws(Problem) in
          config.signingKey = try config.credential(value)
        }),
      Setting(
        "key-id", "ID", only: .http2("a certificate is needed"),
        "the ID of the signing key, from the name of its file",
        .value { config, value throws(Problem) in
          config.keyID = try Config.appleID(value)
        }),
      Setting(
        "team-id", "ID", only: .http2("a certificate is needed"),
        "the ID of the key's team, from Apple's page Membership",
        .value { config, value throws(Problem) in
          config.teamID = try Config.appleID(value)
        }),
      Setting(
        "topic", "ID", only: .http2("the certificate decides the topic"),
        "the bundle ID of the app",
        .value { config, value throws(Problem) in
          config.topic = try Config.topic(value)
        }),
      Setting(
        "app", "own|bark", default: "own", for: .command,
        only: .http2("the app must be your own"),
        "the app on the phones: your own, or Bark from the App Store",
        .choice { $0.courier.rules.app = $1 == 0 ? .own : .bark }),
      Setting(
        "encryption-key", "TEXT", for: .command, only: .http2("the app must be your own"),
        "the key that encrypts alerts for Bark, of 16, 24 or 32 characters",
        .text { config, value throws(Problem) in
          guard Config.isSealKey(value) else {
            throw .value("a text of 16, 24 or 32 ASCII characters, the same as in the app")
          }
          // The key stays in memory: the agent needs it for each alert.
          try config.encryptionKey.set(value, file: CString(""))
          config.courier.rules.isEncrypted = true
        }),
      Setting(
        "encryption-mode", "cbc|gcm", default: "cbc", only: .http2("the app must be your own"),
        "the mode of AES that is set in Bark",
        .choice { $0.sealMode = $1 == 0 ? CMBED_SEAL_CBC : CMBED_SEAL_GCM }),
      Setting(
        "vapid-key", "FILE", for: .command,
        "the key by which browsers know this machine, in PEM",
        .value { config, value throws(Problem) in
          config.vapidKey = try config.credential(value)
          config.courier.hasWebPush = true
        }),
      Setting(
        "contact", "mailto:ADDRESS|https://PAGE",
        "where the push services of browsers can reach you",
        .value { config, value throws(Problem) in
          guard Config.isContact(value) else {
            throw .value(
              "mailto:ADDRESS or https://PAGE of a real domain, since Apple refuses others")
          }
          config.contact = CString(value)
        }),
      Setting(
        "web-page", "https://HOST/PATH/",
        "the page on which browsers register, and which a click on an alert opens",
        .value { config, value throws(Problem) in
          guard InvitationPage.isAddress(value) else {
            throw .value(
              "the address of the page, which begins with https:// and ends with a slash")
          }
          config.webPage = CString(value)
        }),
      Setting(
        "private-endpoints", "no|yes", default: "no",
        "whether subscriptions may name hosts in this network",
        .choice { $0.allowsPrivateEndpoints = $1 == 1 }),
      Setting(
        "proxy", "http://USER:PASSWORD@HOST:PORT", "an HTTP proxy for all connections",
        .text { config, value throws(Problem) in
          try config.setProxy(value)
        }),
      Setting(
        "ca", "FILE", default: "/etc/ssl/certs/ca-certificates.crt",
        "the authorities that the gateway's certificate is verified with",
        .value { config, value throws(Problem) in
          config.ca = try config.credential(value)
        }),

      Setting(
        "spool", "DIR", default: "/var/spool/tinypush", for: .command, "the spool",
        .path { $0.spool = $1 }),
      Setting(
        "state", "DIR", default: "/var/lib/tinypush", for: .command, "the suppression list",
        .path { $0.state = $1 }),
      Setting(
        "status", "FILE", for: .command, "the status page; best on a tmpfs",
        .path { $0.status = $1 }),
      Setting(
        "recipients", "DIR", default: "/etc/tinypush/recipients", for: .command,
        "the recipients files",
        .path { $0.recipients = $1 }),

      Setting(
        "ttl", "TIME", default: "1d", "the time to live of notifications that name none",
        .value { config, value throws(Problem) in
          config.courier.ttl = UInt32(try Config.lifetime(value).milliseconds / 1000)
        }),
      Setting(
        "default-language", "LANGUAGE", default: "en", for: .command,
        "for devices without a known language",
        .value { config, value throws(Problem) in
          guard let language = LanguageTag(value) else {
            throw .value("a language, such as en or fr-CA")
          }
          config.courier.rules.defaultLanguage = language
        }),
      Setting(
        "failed-size", "SIZE", default: "16M", "how much failed/ keeps",
        .value { config, value throws(Problem) in
          config.failedLimits.bytes = Int64(
            try Config.count(
              Config.size(value), 65_536...1 << 40, "a size of 64K or more, such as 16M"))
        }),
      Setting(
        "log", "changes|deliveries", default: "changes",
        "whether the log has a line for each delivery",
        .choice { $0.courier.reportsSettlements = $1 == 1 }),

      Setting(
        "limit", "COUNT/TIME", default: "off",
        "how many alerts may go to each device, such as 20/10m",
        .value { config, value throws(Problem) in
          config.courier.limit = try Config.rateLimit(value)
        }),
      Setting(
        "limit-all", "COUNT/TIME", default: "off", "how many alerts this machine may send",
        .value { config, value throws(Problem) in
          config.courier.limitAll = try Config.rateLimit(value)
        }),
      Setting(
        "limit-summary", "TEXT", "the text of the alert that counts the alerts over a limit",
        .text { config, value throws(Problem) in
          guard let words = SummaryWords(Config.unquoted(value)) else {
            throw .value(
              "at most 120 bytes of text, in which {count} stands for the number of alerts and {time} for the period"
            )
          }
          config.courier.summaryWords = words
        }),

      Setting(
        "on-trouble", "COMMAND", "what /bin/sh runs when alerts fail, and when that is over",
        .text {
          $0.onTrouble = CString($1)
        }),
      Setting(
        "trouble-after", "TIME", default: "10m",
        "how long nothing is delivered before that is trouble",
        .time(min: 1000, max: 604_800_000) { $0.troubleAfter = $1 }),

      Setting(
        "connect-timeout", "TIME", default: "10s",
        "how long to wait for a connection to an address",
        .time(min: 1000, max: 600_000) { $0.connectTimeout = $1 }),
      Setting(
        "payload-limit", "SIZE", for: .command, "the largest payload, if not the protocol's",
        .value { config, value throws(Problem) in
          config.courier.rules.payloadLimit = Int(
            try Config.count(
              Config.size(value), 16...4096,
              "a size from 16 to 4096 bytes (256, 2048 or 4096 by the age of the gateway)"))
        }),
      Setting(
        "uncertain", "resend|drop", default: "resend",
        "what to do when nobody knows whether a notification arrived",
        .choice { $0.courier.uncertain = $1 == 0 ? .resend : .drop }),
      Setting(
        "window", "COUNT", default: "8192", "the most notifications, and files, in flight",
        .value { config, value throws(Problem) in
          config.courier.window = Int(
            try Config.count(Config.number(value), 16...65_000, "a number from 16 to 65000"))
        }),
      Setting(
        "rescan", "TIME", default: "15m", "how often the spool is scanned without a reason",
        .time(min: 1000, max: 86_400_000) { $0.courier.rescan = $1 }),

      Setting(
        "streams", "COUNT", default: "200",
        only: .http2("the service does not answer what it accepts"),
        "the most notifications that wait for their answer",
        .value { config, value throws(Problem) in
          config.courier.streams = Int(
            try Config.count(Config.number(value), 1...1000, "a number from 1 to 1000"))
        }),
      Setting(
        "answer-timeout", "TIME", default: "30s",
        only: .http2("the service does not answer what it accepts"),
        "how long a notification waits for its answer",
        .time(min: 100, max: 600_000) { $0.courier.answerTimeout = $1 }),
      Setting(
        "ping", "TIME", default: "1h", only: .http2("the service does not answer what it accepts"),
        "after how long a silence the connection is tested",
        .time(min: 1000, max: 86_400_000) { $0.courier.ping = $1 }),
      Setting(
        "repeats", "replace|show", default: "replace",
        only: .http2("no notification replaces another on a device"),
        "what the device does with a notification that arrives twice",
        .choice { $0.courier.repeats = $1 == 0 ? .replace : .show }),

      Setting(
        "settle", "TIME", default: "10s", only: .binary("the service answers each notification"),
        "how long without an error response counts as a delivery",
        .time(min: 100, max: 3_600_000) { $0.binary.settle = $1 }),
      Setting(
        "confirm", "drain|barrier|settle", default: "drain",
        only: .binary("the service answers each notification"),
        "when barriers prove what arrived: at the end, after bursts too, or never",
        .choice { $0.binary.confirm = BinaryLink.Confirm(rawValue: UInt8($1))! }),
      Setting(
        "format", "2|1|0", default: "2", for: .command,
        only: .binary("there are no frames of several formats"), "the version of the frames",
        .choice {
          $0.binary.format = FrameFormat(rawValue: UInt8(2 - $1))!
          $0.courier.rules.isOfOldFrames = $1 > 0
        }),
      Setting(
        "feedback-timeout", "TIME", default: "60s",
        only: .binary("the service answers at once when a device is gone"),
        "how long the feedback service may be silent",
        .time(min: 100, max: 3_600_000) { $0.feedbackTimeout = $1 }),
    ])
}
