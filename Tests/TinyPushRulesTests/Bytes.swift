extension Span<UInt8> {
  /// The bytes as text.
  var string: String { String(decoding: array, as: UTF8.self) }

  /// The bytes as an array.
  var array: [UInt8] { withUnsafeBufferPointer { Array($0) } }
}
