import TinyPush

extension [UInt8] {
  init(_ span: Span<UInt8>) {
    self = span.withUnsafeBufferPointer { Array($0) }
  }
}

extension Sequence<UInt8> {
  /// Returns the bytes behind the first occurrence of a text, or nil if the text does not occur.
  ///
  /// The simulator searches in each notification, and a search in a `String` takes much longer.
  func rest(behind text: StaticString) -> ArraySlice<UInt8>? {
    let bytes = ArraySlice(self)
    return text.withUTF8Buffer { wanted in
      guard let first = wanted.first else { return bytes }
      var rest = bytes
      while let start = rest.firstIndex(of: first) {
        rest = rest[start...]
        if rest.starts(with: wanted) { return rest.dropFirst(wanted.count) }
        rest.removeFirst()
      }
      return nil
    }
  }
}

extension String {
  var bytes: [UInt8] { Array(utf8) }

  init(_ span: Span<UInt8>) {
    self.init(decoding: [UInt8](span), as: UTF8.self)
  }
}
