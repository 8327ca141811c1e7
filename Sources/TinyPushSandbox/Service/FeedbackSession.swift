import TinyPush
import TinyPushBinary

/// The feedback service's side of a connection: it sends its list, and closes.
final class FeedbackSession {
  /// The most bytes in a record.
  private static let recordBytesMax = 9728

  private let journal: Journal
  private let number: Int64
  private let home: Home
  private let post: StoreAndForward
  /// The list of the topic in the client's certificate.
  private var list: FeedbackList?
  private var topic: Topic?
  private let record = FixedBuffer<UInt8>(capacity: recordBytesMax)
  private var recordBytes = 0
  private var tuples: Int64 = 0
  private var isSent = false

  init(number: Int64, home: Home, post: StoreAndForward, journal: Journal) {
    self.number = number
    self.home = home
    self.post = post
    self.journal = journal
  }

  /// Sends more of the list.
  func serve(_ stream: borrowing TLSStream) -> Turn {
    if list == nil {
      let topic = Topic(of: stream)
      list = FeedbackList(topic: topic.text, in: home)
      self.topic = topic
    }
    while true {
      if recordBytes == 0 { fill() }
      guard recordBytes > 0 else {
        isSent = true
        return .finish
      }
      if let turn = stream.write(record, count: recordBytes).turn { return turn }
      recordBytes = 0
    }
  }

  /// Handles the end of the connection.
  ///
  /// The list is cleared only if the peer has received all of it: otherwise tuples would be lost
  /// when a connection breaks.
  func closed(isReceived: Bool) {
    let isCleared = isSent && isReceived && (tuples == 0 || list?.clear() ?? true)
    if isCleared, let topic { post.feedbackWasRead(topic: topic.text) }
    let malformedLines = list?.malformedLines ?? 0
    if malformedLines > 0 {
      var text = Text()
      text.append("feedback, line ", list?.firstMalformed ?? 0)
      text.append(": skipped, since it is not UNIXSECONDS HEXTOKEN")
      if malformedLines > 1 {
        text.append("; so are ", malformedLines - 1, " more")
      }
      journal.record(text)
    }
    journal.sentFeedback(
      number, tuples: tuples, isReceived: isSent && isReceived, isCleared: isCleared)
  }

  private func fill() {
    var index = 0
    while index + FeedbackTuple.byteCountMax <= record.capacity, let tuple = list?.next() {
      index = tuple.write(to: record, at: index)
      tuples += 1
    }
    recordBytes = index
  }
}
