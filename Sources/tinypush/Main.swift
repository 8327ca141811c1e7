import CLinux
import TinyPush
import TinyPushSandbox
@main struct Main {
  static func main() {
    var w = Words()
    do throws(Oops) { try w.add("hello") } catch { _ = puts("oops") }
    withVaList2(w.n)
    exit(Int32(CommandLineCount()))
  }
}
func CommandLineCount() -> Int { 0 }
func withVaList2(_ n: Int) { var b: [CChar] = [72,105,10,0]; b.withUnsafeMutableBufferPointer { p in _ = write(1, p.baseAddress!, 3) } }
