extension Courier {
  public struct Settings {
    public var format = FrameFormat.items
    public var rules = Rules()
    /// Requests that may wait for their answer at a time.
    public var streams = 200
    /// After so much silence the connection is tried.
    public var ping = Duration.seconds(3600)
    /// How long a request waits for its answer.
    public var answerTimeout = Duration.seconds(30)
    public var repeats = Repeats.replace
    /// UNIX seconds: a file of an earlier time came by a clock that was not set.
    public var plausibleSince = Time.plausibleSince
    /// Seconds that a notification is good for which does not say itself.
    public var ttl: UInt32 = 86_400
    public var linger = Duration.milliseconds(20)
    public var settle = Duration.seconds(10)
    public var confirm = Confirm.drain
    public var barrierInterval = Duration.seconds(60)
    public var uncertain = Uncertain.resend
    public var rescan = Duration.seconds(900)
    /// Files, or stretches of large files, that may be under way.
    public var window = 8192
    /// Ends when the spool is empty.
    public var isOnce = false
    /// Tells of each notification how it was settled.
    public var reportsSettlements = false
    /// How many alerts may go to each device token, and from this box; nil: any number.
    public var limit: RateLimit?
    public var limitAll: RateLimit?
    public var summaryWords = SummaryWords()

    public init() {}

    /// How long a stop waits to learn what became of notifications that were sent. Service managers give half a minute.
    public var stopPatience: Duration {
      let longest = Duration.seconds(20)
      if rules.service == .binary { return settle }
      return answerTimeout < longest ? answerTimeout : longest
    }
  }

  /// When a barrier is sent: a frame that the gateway must refuse, so that its answer proves all before it.
  public enum Confirm: UInt8 {
    /// At a drain: the end of `--once`, and at a stop.
    case drain
    /// Also when the window fills or a burst ends.
    case barrier
    /// Never.
    case settle
  }

  /// What a device does with a notification that it gets a second time.
  public enum Repeats: UInt8 {
    /// It replaces the first one.
    case replace
    /// It is shown like the first one.
    case show
  }

  /// What happens to notifications of which nobody knows whether they arrived.
  public enum Uncertain: UInt8 {
    case resend
    case drop
  }

  /// How far a file is of which notifications are in flight.
  public enum FileProgress: UInt8, Sendable {
    /// Some of its notifications are still to be sent.
    case beingSent
    /// All of its notifications were sent or settled.
    case sent
    /// A notification of the file is to be sent again.
    case goesAgain
  }

  /// What the shell must do next.
  public enum Step {
    /// Offer each name in `new/`, with its inode, by ``offer(_:inode:)``; and if that fails, ``couldNotScan()``.
    case scan
    /// Open ``fileName`` and read from ``readOffset`` into ``inputRoom``; then ``opened(_:bytes:isWhole:)`` or
    /// ``couldNotOpen(_:)``.
    case open
    /// Read on from ``readOffset`` into ``inputRoom``; then ``filled(bytes:isWhole:)``.
    case read
    /// Open the recipients file ``recipientsName()`` and read from ``recipientsOffset`` into ``recipientsRoom``; then
    /// ``readRecipients(_:bytes:isWhole:)`` or ``couldNotReadRecipients(_:)``.
    case readRecipients
    /// Open ``surveyName()`` and read from ``surveyOffset`` into ``surveyRoom``; then ``surveyed(_:bytes:isWhole:)`` or
    /// ``couldNotSurvey()``.
    case survey
    /// Find out whether ``verifiedName()`` is still ``verifiedIdentity``; then ``verified(_:)``.
    case verify
    /// Close the file that was opened.
    case close
    /// Append ``failure`` to the file of the same name in `failed/`, or where it ``isPostponing`` put it into the file
    /// ``laterFileName()`` of `later/`, whole or not at all, unless there is none (``hasFailure``); tell of the
    /// ``settlement``; then ``recorded(_:)``.
    case record
    /// Put ``forEachLearned(_:)`` into the suppression list, or set it aside where it is damaged; then ``keptLearned(_:)``.
    case keepLearned
    /// See to it that all that was recorded outlives a power cut; then ``synced(_:)``.
    case sync
    /// Offer each name in `later/` by ``offerLater(_:)``; and if that fails, ``couldNotScanLater()``.
    case scanLater
    /// Move ``dueName()`` from `later/` to `new/`, under the name of ``appendReleasedName(to:)``; then ``released()`` or
    /// ``couldNotRelease(isGone:)``.
    case release
    /// Remove each file of `later/` that ``isReplaced(_:)``; then ``cancelled(_:)``.
    case cancel
    /// Find out whether failures can be recorded by now; then ``probed(_:)``.
    case probe
    /// Unlink ``settledName()`` if it is still ``settledIdentity``, or move it to `failed/` if it ``isSettledSetAside``;
    /// then ``removed(_:)``.
    case remove
    /// Put ``progressToKeep`` in the place of what was kept last, so that it outlives a power cut; nil: nothing need be
    /// kept. Then ``keptProgress(_:)``.
    case keepProgress
    /// Connect; then the link's `connected()` or `disconnected(at:byPeer:)`.
    case dial
    /// Write the link's `batchContents()`; then its `wrote(wireEnd:)` or `blocked()`.
    case write
    /// Read what there is to read, and then call the link's `heard(until:)`.
    case listen
    /// Make ready the token by which the service knows us; then the link's `authorized(_:issuedAt:)` or
    /// `notAuthorized(until:)`.
    case authorize
    /// Keep the connection for what comes on it, and connect no other in its place until the link asks for that.
    case setAside
    /// Close the connection that was set aside.
    case closeAside
    /// Find out what the peer has acknowledged; then the link's `sampled(unacknowledged:since:roundTrip:)`.
    case sample
    /// Close the connection.
    case disconnect
    /// Nothing, until something happens or the time has come.
    case wait(until: Instant?)
    /// All is done.
    case finish
  }
}
