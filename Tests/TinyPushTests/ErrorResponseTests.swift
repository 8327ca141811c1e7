import Testing

@testable import Simulation
@testable import TinyPush
@testable import TinyPushBinary

/// Reads a stream, and returns the responses and the unexpected byte that ended it.
private func read(_ stream: [UInt8]) -> (responses: [ErrorResponse], garbage: UInt8?) {
  var reader = ErrorResponseReader()
  var responses: [ErrorResponse] = []
  for byte in stream {
    do throws(ErrorResponseReader.Garbage) {
      if let response = try reader.take(byte) { responses.append(response) }
    } catch {
      switch error {
      case .command(let byte): return (responses, byte)
      }
    }
  }
  return (responses, nil)
}

@Test(arguments: [
  ("08 08 00000007", Status.invalidToken, UInt32(7)),
  ("08 0a ffffffff", .shutdown, .max),
  ("08 00 00000000", .none, 0),
  ("08 ff 01020304", .unknown, 0x0102_0304),
  ("08 80 00010000", .protocolError, 65_536),
])
func `an error response is written and read as six bytes`(
  hex: String, status: Status, identifier: UInt32
) {
  let response = ErrorResponse(status: status, identifier: identifier)
  #expect([UInt8](response.bytes.span).hex == [UInt8](hex: hex).hex)
  #expect(read([UInt8](hex: hex)).responses == [response])
}

@Test func `an error response is complete at its sixth byte`() throws {
  let bytes = [UInt8](hex: "08 05 08080808")
  var reader = ErrorResponseReader()
  for (index, byte) in bytes.enumerated() {
    #expect(reader.count == index)
    let response = try reader.take(byte)
    #expect((response != nil) == (index == 5))
  }
  #expect(reader.count == 0)
}

@Test func `every byte is read as a status`() {
  for value in UInt8.min...UInt8.max {
    let response = ErrorResponse(status: Status(rawValue: value), identifier: 9)
    #expect(read([UInt8](response.bytes.span)).responses == [response])
    let isDocumented = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 128, 255].contains(value)
    #expect(response.status.isDocumented == isDocumented)
    let rejection = response.status.rejection
    #expect(rejection.code == UInt16(value))
    let words = text { rejection.appendText(to: &$0) }
    #expect((words == "undocumented") == !response.status.isDocumented)
    #expect(rejection.advice.utf8CodeUnitCount > 0)
  }
}

@Test func `another first byte is garbage, and earlier responses count`() {
  for byte in UInt8.min...UInt8.max where byte != 8 {
    #expect(read([byte]).garbage == byte)
  }
  let mixed = read([UInt8](hex: "08 08 00000001  48545450"))
  #expect(mixed.responses == [ErrorResponse(status: .invalidToken, identifier: 1)])
  #expect(mixed.garbage == 0x48)
}
