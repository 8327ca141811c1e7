import TinyPush
import TinyPushBinary
import TinyPushSandbox

/// A decoded frame, with copies of its parts.
struct FrameRead: Equatable {
  var format: FrameFormat
  var byteCount: Int
  var token: [UInt8]?
  var payload: [UInt8]?
  var identifier: UInt32?
  var expiration: UInt32?
  var priority: UInt8?
}

/// Reads a stream in pieces with these ends.
///
/// Returns its frames and the problem that stops it.
private func read(_ stream: [UInt8], ends: [Int]) -> (frames: [FrameRead], problem: FrameProblem?) {
  var reader = FrameReader()
  var frames: [FrameRead] = []
  var given = 0
  for end in ends {
    while given < end {
      let piece = Array(stream[given..<end])
      given += reader.append(piece.span)
      do throws(FrameProblem) {
        while let frame = try reader.next() {
          frames.append(
            FrameRead(
              format: frame.format, byteCount: frame.byteCount,
              token: frame.token.map { bytes($0, of: reader) },
              payload: frame.payload.map { bytes($0, of: reader) }, identifier: frame.identifier,
              expiration: frame.expiration, priority: frame.priority))
        }
      } catch {
        return (frames, error)
      }
    }
  }
  return (frames, nil)
}

private func bytes(_ range: Range<Int>, of reader: borrowing FrameReader) -> [UInt8] {
  let span = reader.bytes(range)
  return span.indices.map { span[$0] }
}

/// Returns the frames of a stream that contains nothing else; nil otherwise.
func frames(_ stream: [UInt8]) -> [FrameRead]? {
  let (frames, problem) = read(stream, ends: [stream.count])
  return problem == nil && frames.reduce(0) { $0 + $1.byteCount } == stream.count ? frames : nil
}

/// Checks that the way a stream is cut into pieces does not change its frames.
func wireViolation(_ stream: [UInt8], cut: Int) -> String? {
  let whole = read(stream, ends: [stream.count])
  for ends in pieces(of: stream.count, cut: cut) {
    let part = read(stream, ends: ends)
    if part != whole { return "\(whole), but \(part) at \(ends)" }
  }
  let taken = whole.frames.reduce(0) { $0 + $1.byteCount }
  if taken > stream.count { return "\(taken) bytes of frames in \(stream.count)" }
  if let place = whole.problem?.offset, place < taken || place > stream.count {
    return "\(whole.problem!) behind \(taken) bytes"
  }
  return responseViolation(stream)
}

/// Checks that an error response has the six bytes that it was decoded from.
private func responseViolation(_ stream: [UInt8]) -> String? {
  var reader = ErrorResponseReader()
  var six: [UInt8] = []
  for byte in stream {
    let isFirst = reader.count == 0
    guard let response = try? reader.take(byte) else {
      if isFirst && byte != ErrorResponse.command { continue }
      six.append(byte)
      if reader.count != six.count {
        return "\(reader.count) bytes of a response, not \(six.count)"
      }
      continue
    }
    let bytes = response.bytes
    if (0..<ErrorResponse.byteCount).map({ bytes[$0] }) != six + [byte] {
      return "\(response) of \(six)"
    }
    six = []
  }
  return nil
}

/// Checks that any bytes become a valid JSON string, and printable ASCII.
func textViolation(_ bytes: [UInt8]) -> String? {
  var json = Text(capacity: bytes.count * 6 + 2)
  json.append(json: bytes.span)
  let quoted = copy(json)
  if json.isCut || Reference.validity(quoted, depthMax: 0) != .valid {
    return "\(quoted) is no valid JSON string"
  }
  var printable = Text(capacity: bytes.count * 4)
  printable.append(printable: bytes.span)
  let shown = copy(printable)
  if printable.isCut || !shown.allSatisfy({ (0x20..<0x7F).contains($0) }) {
    return "\(shown) is not printable"
  }
  return nil
}

private func copy(_ text: borrowing Text) -> [UInt8] {
  let span = text.bytes
  return span.indices.map { span[$0] }
}
