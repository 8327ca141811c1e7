import TinyPush

/// Encrypts messages to browsers.
public struct MessageSeal {
  /// The most bytes of an encrypted message.
  public static let bytesMax = 4096

  private let seal:
    (
      _ text: UnsafeBufferPointer<UInt8>, _ point: UnsafePointer<UInt8>,
      _ secret: UnsafePointer<UInt8>, _ body: UnsafeMutablePointer<UInt8>
    ) -> Int?

  /// Makes a seal of a function that encrypts a text for a browser's public key and secret.
  ///
  /// The function writes at most ``bytesMax`` bytes, and returns their number; 0: the key is wrong;
  /// nil: the function has failed.
  public init(
    _ seal:
      @escaping (
        UnsafeBufferPointer<UInt8>, UnsafePointer<UInt8>, UnsafePointer<UInt8>,
        UnsafeMutablePointer<UInt8>
      ) -> Int?
  ) {
    self.seal = seal
  }

  /// Encrypts a text for a subscription, and returns the number of bytes of `body`; 0: the browser's
  /// key is wrong; nil: failed.
  public func seal(
    _ text: UnsafeBufferPointer<UInt8>, for subscription: Subscription, in word: Span<UInt8>,
    to body: UnsafeMutablePointer<UInt8>
  ) -> Int? {
    let point = subscription.point(in: word)
    let secret = subscription.secretBytes(in: word)
    return point.span.withUnsafeBufferPointer { point in
      secret.span.withUnsafeBufferPointer { secret in
        seal(text, point.baseAddress!, secret.baseAddress!, body)
      }
    }
  }
}
