import CLinux
import TinyPush

/// To reload the configuration, an agent stops as usual and another one follows.
extension Agent {
  /// Reads the configuration; on failure fills in the message.
  public typealias ReadConfig = (inout Config, inout Text) throws(ExitStatus) -> Void

  /// Delivers with one agent after the other until one stops without a successor.
  ///
  /// - Parameter message: on failure, what is wrong, where, and what to do.
  public static func deliver(
    _ config: consuming Config, message: inout Text, readConfig: ReadConfig
  ) throws(ExitStatus) -> ExitStatus {
    var config = config
    var former: Config?
    var counters = Counters()
    var arrivals: ArrivalClock?
    var accepted = AcceptedTokens()
    var gateway = Text(capacity: 300)
    var command = ShellCommand()
    var page: MappedStatusPage?
    // An agent is large. On the stack, pages that are used only once would stay in memory.
    let agent = UnsafeMutablePointer<Agent>.allocate(capacity: 1)
    defer { agent.deallocate() }
    while true {
      message.clear()
      var isTaken = true
      do throws(ExitStatus) {
        try make(at: agent, config, message: &message)
      } catch {
        guard let known = former.take() else { throw error }
        var text = Text()
        try make(at: agent, known, message: &text)
        isTaken = false
      }
      defer { agent.deinitialize(count: 1) }
      agent.pointee.courier.counters = counters
      agent.pointee.knowStart(arrivals)
      // Tokens that another gateway accepted prove nothing for this one.
      if agent.pointee.gateway.equals(gateway.bytes) {
        swap(&agent.pointee.courier.accepted, &accepted)
      }
      if var known = page.take() { swap(&agent.pointee.output.page, &known) }
      swap(&agent.pointee.troubleCommand, &command)
      agent.pointee.troubleCommand.watch(epoll: agent.pointee.events.epoll)
      if !isTaken { agent.pointee.logReloadFailure(message) }
      let status = agent.pointee.run(readConfig)
      guard let next = agent.pointee.ending.next.take() else { return status }
      config = next
      former = agent.pointee.takeConfig()
      counters = agent.pointee.courier.counters
      arrivals = agent.pointee.courier.arrivals
      swap(&agent.pointee.courier.accepted, &accepted)
      swap(&agent.pointee.troubleCommand, &command)
      gateway.clear()
      gateway.append(bytes: agent.pointee.gateway)
      var kept = MappedStatusPage()
      swap(&agent.pointee.output.page, &kept)
      page = consume kept
    }
  }

  @inline(never)
  private static func make(
    at place: UnsafeMutablePointer<Agent>, _ config: consuming Config, message: inout Text
  ) throws(ExitStatus) {
    place.initialize(to: try Agent(config, message: &message))
  }

  private mutating func takeConfig() -> Config {
    var taken = Config()
    swap(&taken, &config)
    return taken
  }

  /// Reads the configuration and stops if it is valid; otherwise logs the error and goes on.
  mutating func reload(_ readConfig: ReadConfig) {
    ending.isReloadWanted = false
    var fresh = Config()
    var message = Text()
    do throws(ExitStatus) {
      try readConfig(&fresh, &message)
      try Self.checkFiles(fresh, message: &message)
    } catch {
      logReloadFailure(message)
      courier.rescan()
      return
    }
    clinux_notify("RELOADING=1\nSTATUS=reloading the configuration")
    ending.next = consume fresh
    stop()
  }

  private mutating func logReloadFailure(_ message: borrowing Text) {
    var text = Text(capacity: 2048)
    text.append("the old configuration stays in use: ", message)
    output.page.record(.error, text.bytes)
    output.log.write(.error, text)
    var status = Text(capacity: 2048)
    status.append("STATUS=", text)
    status.withCString { clinux_notify($0) }
  }
}
