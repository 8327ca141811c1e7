import CHTTP2
import TinyPush

extension HTTP2Link {
  /// Ends the current connection and returns its requests; gives the number of uncertain ones.
  ///
  /// - Parameter byPeer: whether the service ended it, or violated HTTP/2.
  @discardableResult
  @inline(never)
  mutating func end(byPeer: Bool = false) -> Int {
    let uncertain = giveBackAll(on: .current, byPeer && requests.currentCount == 1)
    session?.free()
    session = nil
    batch.clear()
    stream = ByteStream()
    liveness.probe = nil
    liveness.pongDue = nil
    return uncertain
  }

  /// Ends the connection that is set aside and returns its requests, as ``end()`` does.
  @discardableResult
  @inline(never)
  mutating func endAside(byPeer: Bool = false) -> Int {
    let uncertain = giveBackAll(on: .aside, byPeer && aside?.isForOne ?? false)
    aside?.session.free()
    aside = nil
    return uncertain
  }

  /// Returns the connection's unanswered requests, the newest first.
  ///
  /// The courier offers the last returned notification first, so the oldest is sent first again.
  ///
  /// - Parameter endedByOne: whether only one request was unanswered when the service ended the
  ///   connection.
  private mutating func giveBackAll(
    on connection: Courier.Connection, _ endedByOne: Bool
  ) -> Int {
    var uncertain = 0
    var place = requests.newest
    while place != Requests.none {
      let older = requests[place].older
      let request = requests[place]
      if request.connection == connection {
        if request.sentAt == nil, !batch.isBlocked {
          goesAgain(place)
        } else if isAnswered(place) {
          handle(place)
        } else {
          if endedByOne {
            endsConnection(
              place, isShort: connection == .aside ? aside?.isShort ?? false : pace.isShort)
          } else {
            decideUncertain(place, .connectionLost)
          }
          uncertain += 1
        }
      }
      place = older
    }
    pace.ended(uncertain: uncertain)
    return uncertain
  }

  /// Stops sending on the current connection; its answers are awaited while the next one begins.
  mutating func leave(dialAt: Instant) {
    guard state == .up else { return }
    state = .leaving(dialAt: dialAt)
  }

  /// Returns the step that sets the connection aside, or closes it if no answer is awaited.
  mutating func setAside(_ dialAt: Instant) -> Courier.Step {
    // Requests that were not written go on the next connection.
    var place = requests.newest
    while place != Requests.none, requests[place].sentAt == nil, !batch.isBlocked {
      let older = requests[place].older
      if requests[place].connection == .current {
        session?.forget(place)
        goesAgain(place)
      }
      place = older
    }
    guard requests.currentCount > 0, !batch.isBlocked else {
      end()
      state = .down(dialAt: dialAt)
      return .disconnect(.current)
    }
    // Only one connection can be set aside: the earlier one's answers come too late.
    guard aside == nil, let session else { return closeAside() }
    aside = Aside(
      session: session, isForOne: requests.currentCount == 1, isShort: pace.isShort)
    requests.setAside()
    self.session = nil
    batch.clear()
    stream = ByteStream()
    state = .down(dialAt: dialAt)
    return .setAside
  }

  /// Leaves the connection, since the service announced its end (GOAWAY).
  mutating func handleGoaway() {
    let error = session!.goawayError
    if error != 0 { reports.add(.leaves(error: error)) }
    leave(dialAt: dialAt())
  }

  /// Closes the connection, since the service violates HTTP/2 or exceeds nghttp2's memory limit.
  mutating func isBroken() {
    guard state == .up else { return }
    reports.add(.brokenProtocol(uncertain: end(byPeer: true)))
    hasProgressed = false
    state = .closing(dialAt: dialAt())
  }
}
