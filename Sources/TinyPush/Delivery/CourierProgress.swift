/// What a restart must not repeat: how far the oldest file is settled, if it is a large one.
extension Courier {
  /// What an agent before this one kept. To be called before anything else.
  public mutating func resume(_ progress: Progress) {
    keptProgress = progress
  }

  /// Whether the progress has been kept.
  public mutating func keptProgress(_ isKept: Bool) {
    if isKept {
      keptProgress = progress
      isProgressStale = false
    }
    isProgressRefused = !isKept
    keepProgressAt = isKept ? nil : time.now + Self.heldPauseMin
  }

  /// A file has left; what is kept of it is of no use any more.
  mutating func noteGone(_ identity: FileIdentity) {
    if keptProgress?.file == identity { isProgressStale = true }
  }

  /// Keeps the progress every few seconds while there is some, and at the end.
  mutating func keepStep() -> Step? {
    let now = presentProgress
    guard now != keptProgress, now != nil || isProgressStale else {
      keepProgressAt = nil
      return nil
    }
    if keepProgressAt == nil { keepProgressAt = time.now + Self.progressInterval }
    let isUrgent = now == nil || isStopping && sent.isEmpty
    guard keepProgressAt! <= time.now || isUrgent && !isProgressRefused else { return nil }
    guard !isRecordUnsynced else { return .sync }
    progress = now
    return .keepProgress
  }

  /// The oldest file and the first place in it that is not settled; nil where that is not worth keeping.
  private var presentProgress: Progress? {
    guard !claims.isEmpty, settledClaims == 0, trim.isEmpty, let place = firstUnsettled,
      place.claim == claims.first, place.offset > 0
    else { return nil }
    let claim = claims[claims.first]
    guard claim.identity.size >= Self.progressBytesMin, !claim.isKept else { return nil }
    return Progress(file: claim.identity, offset: place.offset, recipient: place.recipient)
  }

  private var firstUnsettled: FilePlace? {
    if let head = sent.first { return head.place }
    if let reading, !reading.isFresh { return nil }
    if let head = again.first { return head.place }
    return interrupted.map {
      FilePlace(
        claim: $0.claim, offset: max($0.inputOffset, $0.passUntil), recipient: $0.recipient)
    }
  }

  /// Whether a file that was just opened has been settled in part before, and how far.
  func settledBefore(_ identity: FileIdentity) -> Progress? {
    keptProgress.flatMap { $0.file == identity ? $0 : nil }
  }
}
