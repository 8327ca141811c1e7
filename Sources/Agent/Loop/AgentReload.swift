import CLinux
import TinyPush

/// To take up another configuration, an agent stops as it does for good, and another goes on in its place.
extension Agent {
  /// Reads the configuration; on failure it says what is wrong.
  public typealias ReadConfig = (inout Config, inout Text) throws(ExitStatus) -> Void

  /// Delivers, by one agent after the other, until one ends for good.
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
    var page = MappedStatusPage()
    while true {
      message.clear()
      var isTaken = true
      var agent: Agent
      do throws(ExitStatus) {
        agent = try Agent(config, message: &message)
      } catch {
        guard let known = former.take() else { throw error }
        var text = Text()
        agent = try Agent(known, message: &text)
        isTaken = false
      }
      agent.courier.counters = counters
      agent.knowStart(arrivals)
      // Another gateway may know other tokens.
      if agent.gateway.span.equals(gateway.bytes) { swap(&agent.courier.accepted, &accepted) }
      swap(&agent.output.page, &page)
      swap(&agent.troubleCommand, &command)
      if !isTaken { agent.sayNotTaken(message) }
      let status = agent.run(readConfig)
      guard let next = agent.ending.next.take() else { return status }
      config = next
      former = agent.takeConfig()
      counters = agent.courier.counters
      arrivals = agent.courier.arrivals
      swap(&agent.courier.accepted, &accepted)
      swap(&agent.troubleCommand, &command)
      gateway.clear()
      gateway.append(bytes: agent.gateway.span)
      swap(&agent.output.page, &page)
    }
  }

  private mutating func takeConfig() -> Config {
    var taken = Config()
    swap(&taken, &config)
    return taken
  }

  /// Reads the configuration, and if nothing is wrong with it, stops; otherwise nothing changes.
  mutating func reload(_ readConfig: ReadConfig) {
    ending.isReloadWanted = false
    var fresh = Config()
    var message = Text()
    do throws(ExitStatus) {
      try readConfig(&fresh, &message)
      try Self.checkFiles(fresh, message: &message)
    } catch {
      sayNotTaken(message)
      courier.rescan()
      return
    }
    clinux_notify("RELOADING=1\nSTATUS=taking up the configuration")
    ending.next = consume fresh
    stop()
  }

  private mutating func sayNotTaken(_ message: borrowing Text) {
    var text = Text(capacity: 2048)
    text.append("the configuration stays as it was: ")
    text.append(message)
    output.page.note(.error, text.bytes)
    output.log.write(.error, text)
  }
}
