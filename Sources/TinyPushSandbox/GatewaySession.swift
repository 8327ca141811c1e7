import TinyPush

/// The gateway's side of one connection: silent, until it refuses a notification.
final class GatewaySession {
  /// Records read at a turn, so that one peer cannot keep the others waiting.
  private static let recordsMax = 8

  private let number: Int64
  private let gatekeeper: Gatekeeper
  private let journal: Journal
  private var reader = FrameReader()
  private var topicBytes = 0
  private(set) var accepted: Int64 = 0
  private var lastAccepted: UInt32?
  private let answer = FixedBuffer<UInt8>(capacity: ErrorResponse.byteCount)
  private var answerBytes = 0
  private var isOver = false
  private var discardedFrames: Int64 = 0
  private var discardedBytes: Int64 = 0

  init(number: Int64, gatekeeper: Gatekeeper, journal: Journal) {
    self.number = number
    self.gatekeeper = gatekeeper
    self.journal = journal
  }

  /// Goes on with reading and judging, or with an answer that is under way.
  func serve(_ link: borrowing Link) -> Turn {
    if isOver { return end(link) }
    topicBytes = link.topicBytes
    var records = 0
    repeat {
      switch link.read(into: reader.makeRoom()) {
      case .done(let count): reader.take(count)
      case .wantRead: return .wantRead
      case .wantWrite: return .wantWrite
      case .closed: return .over
      case .broken: return .broken
      }
      judge()
      if isOver { return end(link) }
      records += 1
    } while records < Self.recordsMax || link.hasPending
    return .wantRead
  }

  /// Goes out of service: names the last notification that it accepted, if it has its identifier.
  func goOutOfService(_ link: borrowing Link) -> Turn {
    if !isOver, let lastAccepted {
      answer(.shutdown, lastAccepted)
    }
    if !isOver { discardedBytes += Int64(reader.heldBytes) }
    isOver = true
    return end(link)
  }

  /// Reads what comes after the end, to throw it away.
  func discard(_ link: borrowing Link) -> Turn {
    countDiscarded()
    var records = 0
    repeat {
      switch link.read(into: reader.makeRoom()) {
      case .done(let count):
        reader.take(count)
        discardedBytes += Int64(count)
      case .wantRead: return .wantRead
      case .wantWrite: return .wantWrite
      case .closed: return .over
      case .broken: return .broken
      }
      countDiscarded()
      records += 1
    } while records < Self.recordsMax || link.hasPending
    return .wantRead
  }

  /// Bytes of a frame that was never finished.
  var heldBytes: Int { isOver ? 0 : reader.heldBytes }

  func closed() {
    guard discardedBytes > 0 else { return }
    journal.discarded(number, notifications: discardedFrames, bytes: discardedBytes)
  }

  // MARK: - Judging

  private func judge() {
    do throws(FrameProblem) {
      while let frame = try reader.next() {
        switch gatekeeper.judge(frame, topicBytes: topicBytes, by: reader) {
        case .accepted(let summary):
          accepted += 1
          lastAccepted = frame.identifier
          journal.accepted(number, frame, summary, reader)
        case .refused(let status, let fault):
          refuse(frame, status, fault)
          return
        }
      }
    } catch {
      isOver = true
      answer(.unknown, error.identifier)
      journal.refused(
        number, identifier: error.identifier, token: 0..<0, reader, .unknown, .frame(error))
    }
  }

  private func refuse(_ frame: ReceivedFrame, _ status: Status, _ fault: Fault) {
    isOver = true
    // The simple format has no identifiers: the close is all the answer that there is.
    if frame.format != .simple { answer(status, frame.identifier) }
    journal.refused(
      number, identifier: frame.identifier, token: frame.token ?? 0..<0, reader, status, fault)
    discardedBytes += Int64(reader.heldBytes)
  }

  private func answer(_ status: Status, _ identifier: UInt32?) {
    let response = ErrorResponse(status: status, identifier: identifier ?? 0)
    answer.store(response.bytes.span, at: 0)
    answerBytes = ErrorResponse.byteCount
  }

  /// Says the last word.
  private func end(_ link: borrowing Link) -> Turn {
    guard answerBytes > 0 else { return .finish }
    switch link.write(answer, count: answerBytes) {
    case .done:
      answerBytes = 0
      return .finish
    case .wantRead: return .wantRead
    case .wantWrite: return .wantWrite
    case .closed: return .over
    case .broken: return .broken
    }
  }

  private func countDiscarded() {
    do throws(FrameProblem) {
      while try reader.next() != nil { discardedFrames += 1 }
    } catch {
      // Out of step: its bytes still count, and must not fill the room.
      reader.drop()
    }
  }
}

/// What a session does next.
enum Turn {
  case wantRead, wantWrite
  /// Everything is said: goodbye.
  case finish
  /// The peer has closed.
  case over
  /// The connection broke.
  case broken
}
