import CLinux
import TinyPush

extension Text {
  /// Appends the machine's host name; nothing if it is unknown.
  @inline(never)
  package mutating func appendHostName() {
    var name: InlineArray<65, CChar> = .init(repeating: 0)
    var span = name.mutableSpan
    span.withUnsafeMutableBufferPointer { room in
      if gethostname(room.baseAddress!, 64) == 0 {
        append(cString: UnsafePointer(room.baseAddress!))
      }
    }
  }
}
