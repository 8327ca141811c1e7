import CLinux
import TinyPush
import TinyPushAgent

/// The reason why a file is still in the spool, by the agent's status page.
struct AgentState: ~Copyable {
  /// The page of a connected agent whose configuration the service accepts; otherwise nil.
  private var reading: StatusReading?
  /// The state of every file, unless the page says more about a file.
  private var code: StaticString = "agent"
  private var words = Text(capacity: 512)

  @inline(never)
  init(_ queue: borrowing Queue, _ status: UnsafePointer<CChar>) {
    let isServed = queue.isServed()
    guard isServed != false else {
      code = "no-agent"
      words.append("no agent is running: systemctl start tinypush, or tinypush run")
      return
    }
    if status.pointee != 0 {
      do throws(StatusReading.Problem) {
        let reading = try StatusReading(status)
        if reading.page.isAlive {
          take(reading)
          return
        }
      } catch {
        // Without a readable page, only the lock is known.
      }
    }
    words.append(
      isServed == nil
        ? "this user cannot see whether an agent is running"
        : "an agent is running; to see what it does, set status in its configuration")
  }

  deinit {}

  private mutating func take(_ reading: StatusReading) {
    code = "gateway"
    if let reason = reading.page.main.refusedConfiguration {
      code = "held"
      words.append("held: the service refuses the configuration: ")
      Rejection(reason).appendText(to: &words)
    } else if reading.page.connectivity == .up {
      code = "held"
      self.reading = reading
    } else {
      words.append("waits for the service: ")
      if reading.page.connectivity == .connecting { words.append("connecting to ") }
      reading.page.appendWords(to: &words)
    }
    let held = reading.page.held
    if held & 1 != 0 {
      words.append("; or held: delivered files cannot be removed from taken/")
    }
    if held & 2 != 0 { words.append("; or held: failed/ cannot be written to") }
    if held & 4 != 0 { words.append("; or held: files cannot be moved to taken/") }
  }

  /// Appends why files are in the spool; nothing if the agent delivers them.
  borrowing func explain(in why: inout Text) { why.append(words) }

  /// Appends why a file is still in the spool, and returns the reason's code, which never changes.
  @inline(never)
  borrowing func explain(_ file: borrowing QueueFile, in why: inout Text) -> StaticString {
    var code = code
    if let reading {
      let files = reading.page.filesUnderWay
      if reading.page.held == 0 { code = "delivering" }
      switch file.arrivalNs.flatMap(files.progress(ofArrival:)) {
      case .sent:
        if reading.page.held == 0 { code = "sent" }
        why.append(
          reading.page.pushProtocol == .binary
            ? "sent, waiting for the answer or for settle" : "sent, waiting for the answer")
      case .beingSent: why.append("being sent")
      case .goesAgain: why.append("to be sent again")
      case .waits: why.append("waits until its push service takes it")
      case nil: why.append(files.isCut ? "sent, or next to be sent" : "next to be sent")
      }
    }
    why.append(words)
    return code
  }
}
