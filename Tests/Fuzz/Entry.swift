// libFuzzer's entry point. Tests/Fuzz/fuzz compiles this file with the library once per property.

#if FUZZ_WIRE
  private let property = Property.wire
#elseif FUZZ_SUPPRESSION
  private let property = Property.suppression
#elseif FUZZ_MQTT
  private let property = Property.mqtt
#elseif FUZZ_HTTP
  private let property = Property.http
#elseif FUZZ_MAIL
  private let property = Property.mail
#elseif FUZZ_WEBPUSH
  private let property = Property.webpush
#elseif FUZZ_NUMBERS
  private let property = Property.numbers
#elseif FUZZ_CONFIG
  private let property = Property.config
#else
  private let property = Property.notification
#endif

/// Checks the property with one input; libFuzzer calls this.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: start, count: count))
  if let violation = property.violation(input) { fatalError("\(property): \(violation)") }
  return 0
}
