import TinyPush

extension [UInt8] {
  init(_ span: Span<UInt8>) {
    self = span.withUnsafeBufferPointer { Array($0) }
  }
}

extension String {
  var bytes: [UInt8] { Array(utf8) }

  init(_ span: Span<UInt8>) {
    self.init(decoding: [UInt8](span), as: UTF8.self)
  }
}
