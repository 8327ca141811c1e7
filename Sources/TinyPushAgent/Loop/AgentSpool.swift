import CLinux
import TinyPush

/// The events of the spool's directories.
extension Agent {
  /// Starts to watch the spool, scans it for earlier files, and logs when watching begins or ceases
  /// to fail.
  mutating func watchSpool() {
    let wasBroken = watch.error != 0
    watch.start(config.spool.pointer, epoll: events.epoll)
    noticeSuppression()
    courier.missedEvents()
    guard (watch.error != 0) != wasBroken else { return }
    var text = Text()
    text.append("new/ ")
    if wasBroken {
      text.append("can be watched again")
    } else {
      text.append("cannot be watched (", cString: clinux_error_text(watch.error))
      text.append("), so it is scanned every 30 seconds")
      if watch.error == ENOSPC || watch.error == EMFILE {
        text.append(": raise fs.inotify.max_user_watches or max_user_instances")
      }
    }
    output.log(wasBroken ? .notice : .warning, text, about: .spool)
  }

  /// Takes the wall clock's history from the previous agent, or estimates when the machine started.
  mutating func knowStart(_ arrivals: ArrivalClock?) {
    if let arrivals {
      courier.arrivals = arrivals
    } else if let earliest = Clock.earliestSeconds(scratch.room()) {
      courier.machineStarted(at: earliest, Clock.time())
    }
    // A file from before the clock was set would show a wrong latency.
    if courier.arrivals.wasSet { clockSetAt = max(clockSetAt, Clock.wallNs()) }
  }

  /// Takes some of the events in the spool, so that no flood of them stops all else.
  mutating func takeSpoolEvents() {
    let room = scratch.room()
    let count = watch.read(into: room)
    var place = 0
    while place < count {
      switch watch.event(in: room, at: &place) {
      case .missed: courier.missedEvents()
      case .replaced: watchSpool()
      case .created(let name):
        switch spool.writer(of: name) {
        case .nobody: courier.appeared(CString.span(name))
        // An event follows when the writer closes the file.
        case .somebody: break
        case .unknown: courier.writingBegan(CString.span(name))
        }
      case .laterMade:
        watch.watchLater(config.spool.pointer)
        courier.laterChanged()
      case .laterRemoved: courier.laterChanged()
      case .suppressed: noticeSuppression()
      case .closed(let name):
        filesFound &+= 1
        courier.writingEnds(CString.span(name), at: Clock.now())
      case .renamed(let name):
        filesFound &+= 1
        courier.appeared(CString.span(name), isWhole: true)
      case .takenChanged(let name): courier.changed(CString.span(name))
      case .dropped: spool.dropRemoved(&courier)
      case .other: break
      }
    }
  }
}
