/// Bark, an app in the App Store that shows what anybody sends to it.
///
/// Source: the documentation of Bark, "Certificate", and the source of its server.
public enum Bark {
  /// The ID of the signing key that the authors publish.
  public static let keyID: StaticString = "LH4T9V5U4R"
  /// The ID of their team.
  public static let teamID: StaticString = "5U8LBRXG3A"
  /// The bundle ID of the app.
  public static let topic: StaticString = "me.fin.bark"

  /// The payload of an encrypted notification, up to the members that it may have.
  static let sealedStart: StaticString =
    "{\"aps\":{\"alert\":\"Encrypted\",\"mutable-content\":1,\"category\":\"myNotificationCategory\""
  /// The most bytes of an encrypted payload besides the base64 of its content.
  static let sealedOverhead = 192
  /// The most bytes by which a content is longer than its payload: an empty body.
  static let contentBytes = 10
  /// The most bytes by which the encryption makes a content longer.
  static let sealBytes = 16

  /// Encrypts the contents of notifications.
  public struct Seal {
    /// The number of characters of an IV.
    let ivCount: Int
    /// Encrypts a content into base64, under a fresh IV; returns the number of characters, or nil.
    let seal:
      (
        _ content: UnsafeBufferPointer<UInt8>, _ sealed: UnsafeMutableBufferPointer<UInt8>,
        _ iv: UnsafeMutableBufferPointer<UInt8>
      ) -> Int?

    /// Makes a seal of a function that encrypts.
    public init(
      ivCount: Int,
      _ seal:
        @escaping (
          UnsafeBufferPointer<UInt8>, UnsafeMutableBufferPointer<UInt8>,
          UnsafeMutableBufferPointer<UInt8>
        ) -> Int?
    ) {
      self.ivCount = ivCount
      self.seal = seal
    }
  }

  /// Returns the most bytes of a payload that is encrypted, if the encrypted payload may have `limit`.
  static func contentLimit(_ limit: Int) -> Int {
    max((limit - sealedOverhead) / 4 * 3 - sealBytes - contentBytes, 0)
  }
}

/// What the agent adds to a payload, since the app that shows the notification needs more than the
/// sender gave.
///
/// Bark keeps a notification in its history only with `mutable-content`, and has sounds whose names
/// end in `.caf`.
struct PayloadAdditions: BitwiseCopyable {
  // The category whose buttons are in the app.
  private static let both: StaticString =
    "\"mutable-content\":1,\"category\":\"myNotificationCategory\","
  private static let categoryOnly: StaticString = "\"category\":\"myNotificationCategory\","
  private static let mutableOnly: StaticString = "\"mutable-content\":1,"
  static let soundEnding: StaticString = ".caf"

  private var lacksMutableContent = false
  private var lacksCategory = false
  /// The index of the closing quote of a sound whose ending is missing; 0: none.
  private(set) var soundEnd = 0

  /// Adds nothing.
  init() {}

  /// Returns what an alert for Bark lacks.
  ///
  /// - Parameter sound: the content of the string `sound`; empty: none.
  init(ofBark traits: PayloadTraits, sound: Range<Int>, in text: Span<UInt8>) {
    lacksMutableContent = !traits.has(.mutableContent)
    lacksCategory = !traits.has(.category)
    let name = text.extracting(sound)
    guard name.count > 0, !name.equals("default") else { return }
    for index in name.indices where name[index] == .dot { return }
    soundEnd = sound.upperBound
  }

  /// The members to add at the beginning of `aps`.
  var members: StaticString {
    lacksMutableContent
      ? lacksCategory ? Self.both : Self.mutableOnly : lacksCategory ? Self.categoryOnly : ""
  }

  /// The number of bytes that are added.
  var bytes: Int {
    members.utf8CodeUnitCount + (soundEnd > 0 ? Self.soundEnding.utf8CodeUnitCount : 0)
  }

  /// Moves to a text that begins `distance` bytes later.
  mutating func move(by distance: Int) { if soundEnd > 0 { soundEnd -= distance } }
}
