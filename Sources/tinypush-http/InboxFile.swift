import CLinux
import TinyPush
import TinyPushAgent

/// Writes the notifications of requests that come together into one file.
extension Inbox {
  /// Holds a request whose notifications wait for the sync of the file.
  mutating func write(
    _ text: Span<UInt8>, _ count: Int, _ request: Request, _ status: UInt32 = 202
  ) {
    request.hold()
    held[heldCount] = Held(request: request, count: count, status: status)
    heldCount += 1
    guard problem == nil else { return }
    do throws(DropBox.Problem) {
      if box == nil { box = try DropBox(spool.pointer) }
      // The notifications of the request before need not end with a line.
      if heldCount > 1 { try box!.write(("\n" as StaticString).span) }
      try box!.write(text)
    } catch {
      problem = error
    }
  }

  /// Puts the file of all held requests into the spool, and answers them once it is on disk.
  ///
  /// - Returns: whether there were any.
  mutating func writeHeld() -> Bool {
    guard heldCount > 0 else { return false }
    var name = CString("")
    if problem == nil {
      do throws(DropBox.Problem) {
        name = try box!.drop(isSynced: true)
        counts.files += 1
      } catch {
        problem = error
      }
    }
    box = nil
    let problem = self.problem
    self.problem = nil
    if let problem {
      log.write(.error, problem.text(spool.pointer), about: .spool)
    } else if isSpoolBroken {
      log.write(.notice, "the spool can be written to again", about: .spool)
    }
    isSpoolBroken = problem != nil
    for index in 0..<heldCount {
      guard let held = held[index] else { continue }
      if let problem {
        refuse(held.request, problem)
      } else {
        counts.notifications += UInt64(held.count)
        answer.clear()
        answer.beginObject()
        answer.member("file", string: name.span)
        answer.member("notifications", number: held.count)
        answer.endLine()
        held.request.answer(held.status, Self.json, answer)
      }
      held.request.release()
    }
    heldCount = 0
    return true
  }

  private mutating func refuse(_ request: Request, _ problem: DropBox.Problem) {
    switch problem {
    case .cannotWrite(ENOSPC), .cannotWrite(EDQUOT):
      refuse(
        request, 503, "disk-full", "the disk of the spool is full: send it again later",
        retryAfter: "60")
    case .cannotSync:
      refuse(
        request, 500, "not-synced", "the file is in the spool, but may not survive a power cut")
    default:
      refuse(
        request, 503, "spool", "the spool cannot be written; the log of tinypush-http says why",
        retryAfter: "60")
    }
  }
}
