import TinyPush

/// The feedback service's side of one connection: it tells its list, and closes.
final class FeedbackSession {
  /// Tuples a record.
  private static let batch = 256

  private let journal: Journal
  private let number: Int64
  private let home: Home
  private let post: StoreAndForward
  /// Which list it is says the client's certificate.
  private var list: FeedbackList?
  private var topic: Topic?
  private let record = FixedBuffer<UInt8>(capacity: batch * FeedbackTuple.byteCount)
  private var recordBytes = 0
  private var tuples: Int64 = 0
  private var isTold = false

  init(number: Int64, home: Home, post: StoreAndForward, journal: Journal) {
    self.number = number
    self.home = home
    self.post = post
    self.journal = journal
  }

  /// Goes on with telling.
  func serve(_ stream: borrowing TLSStream) -> Turn {
    if list == nil {
      let topic = Topic(of: stream)
      list = FeedbackList(topic: topic.text, in: home)
      self.topic = topic
    }
    while true {
      if recordBytes == 0 { fill() }
      guard recordBytes > 0 else {
        isTold = true
        return .finish
      }
      if let turn = stream.write(record, count: recordBytes).turn { return turn }
      recordBytes = 0
    }
  }

  /// The list is cleared only once the peer has all of it: a service that clears it sooner loses what a broken
  /// connection swallows.
  func closed(isReceived: Bool) {
    let isCleared = isTold && isReceived && (tuples == 0 || list?.clear() ?? true)
    if isCleared, let topic { post.feedbackIsRead(topic: topic.text) }
    let malformedLines = list?.malformedLines ?? 0
    if malformedLines > 0 {
      var text = Text()
      text.append("feedback, line ", list?.firstMalformed ?? 0)
      text.append(": not UNIXSECONDS HEXTOKEN, so it is left out")
      if malformedLines > 1 {
        text.append(", and so are ", malformedLines - 1, " more")
      }
      journal.record(text)
    }
    journal.fedBack(
      number, tuples: tuples, isReceived: isTold && isReceived, isCleared: isCleared)
  }

  private func fill() {
    var index = 0
    while index + FeedbackTuple.byteCount <= record.capacity, let tuple = list?.next() {
      index = tuple.write(to: record, at: index)
      tuples += 1
    }
    recordBytes = index
  }
}
