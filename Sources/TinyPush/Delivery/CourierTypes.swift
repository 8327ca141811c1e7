extension Courier {
  /// The settings of the courier and the links.
  public struct Settings {
    /// The rules for notifications.
    public var rules = Rules()
    /// The most requests that wait for an answer at the same time.
    public var streams = 200
    /// How long a connection is silent before it is tested.
    public var ping = Duration.seconds(3600)
    /// How long a request waits for its answer.
    public var answerTimeout = Duration.seconds(30)
    /// What a device does with a notification that arrives twice.
    public var repeats = Repeats.replace
    /// The earliest time that a correct clock can show, in UNIX seconds.
    public var plausibleSince = Time.plausibleSince
    /// The lifetime, in seconds, of a notification that gives none.
    public var ttl: UInt32 = 86_400
    /// The longest that a batch waits for the acknowledgement of the bytes before it.
    public var linger = Duration.milliseconds(20)
    /// What happens to notifications that may or may not have arrived.
    public var uncertain = Uncertain.resend
    /// The time between two scans of `new/`.
    public var rescan = Duration.seconds(900)
    /// The most files, or stretches of large files, that are under way.
    public var window = 8192
    /// Whether the agent ends when the spool is empty.
    public var isOnce = false
    /// Whether the settlement of each notification is reported.
    public var reportsSettlements = false
    /// The limit on alerts to each device token; nil: none.
    public var limit: RateLimit?
    /// The limit on alerts from this machine; nil: none.
    public var limitAll: RateLimit?
    /// The text of summaries.
    public var summaryWords = SummaryWords()

    /// Creates the default settings.
    public init() {}
  }

  /// What a device does with a notification that arrives twice.
  public enum Repeats: UInt8 {
    /// The second one replaces the first.
    case replace
    /// Both are shown.
    case show
  }

  /// What happens to notifications that may or may not have arrived.
  public enum Uncertain: UInt8 {
    case resend
    case drop
  }

  /// How far the sending of a file is.
  public enum FileProgress: UInt8, Sendable {
    /// Some notifications are still to be sent.
    case beingSent
    /// All notifications were sent or settled.
    case sent
    /// A notification is to be sent again.
    case goesAgain
  }

  /// A step that the courier asks of the agent.
  ///
  /// The agent does the step, and then calls the named function with the result.
  public enum Step {
    /// Scan `new/`.
    ///
    /// Call ``offer(_:inode:cameWhole:)`` for each name; after an error, ``couldNotScan()``.
    case scan
    /// Open the file ``fileName()``, and read from ``readOffset`` into ``inputRoom``.
    ///
    /// Then call ``opened(_:bytes:isWhole:lastByte:delivered:birth:)`` or ``couldNotOpen(_:)``.
    case open
    /// Read on in the open file, from ``readOffset`` into ``inputRoom``.
    ///
    /// Then call ``filled(bytes:isWhole:)``.
    case read
    /// Open the recipients file ``recipientsName()`` and read a part of it.
    ///
    /// Read from ``recipientsOffset`` into ``recipientsRoom``. Then call
    /// ``readRecipients(_:bytes:isWhole:)`` or ``couldNotReadRecipients(_:)``.
    case readRecipients
    /// Open the file ``surveyName()`` to search it for collapse IDs, and read a part of it.
    ///
    /// Read from ``surveyOffset`` into ``surveyRoom``. Then call ``surveyed(_:bytes:isWhole:)`` or
    /// ``couldNotSurvey()``.
    case survey
    /// Find out whether ``verifiedName()`` is still the file ``verifiedIdentity``.
    ///
    /// Then call ``verified(_:)``.
    case verify
    /// Close the open file, and call ``closed()``.
    case close
    /// Write a record, or report a ``settlement``.
    ///
    /// If there is one (``hasFailure``), append the line ``failure()`` to the file of the same name
    /// in `failed/`. If the record ``isPostponing``, create the file ``laterFileName()`` in
    /// `later/` instead, whole or not at all. Then call ``recorded(_:)``.
    case record
    /// Merge ``forEachLearned(isKeepable:_:)`` into the suppression list.
    ///
    /// A damaged list is set aside. Then call ``keptLearned(_:)``.
    case keepLearned
    /// Sync all records, so that they survive a power cut.
    ///
    /// Then call ``synced(_:)``.
    case sync
    /// Scan `later/`.
    ///
    /// Call ``offerLater(_:)`` for each name; after an error, ``couldNotScanLater()``.
    case scanLater
    /// Move ``dueName()`` from `later/` to `new/`.
    ///
    /// The new name is that of ``appendReleasedName(to:)``. Then call ``released()`` or
    /// ``couldNotRelease(isGone:)``.
    case release
    /// Remove each file of `later/` that ``isReplaced(_:)``.
    ///
    /// Then call ``cancelled(_:)``.
    case cancel
    /// Find out whether failures can be recorded again.
    ///
    /// Then call ``probed(_:)``.
    case probe
    /// Remove the settled file ``settledName()``, if it is still ``settledIdentity``.
    ///
    /// If it ``isSettledSetAside``, move it to `failed/` instead. Then call ``removed(_:)``.
    case remove
    /// Replace the kept progress by ``progressToKeep``, and sync it; nil: remove it.
    ///
    /// Then call ``keptProgress(_:)``.
    case keepProgress
    /// Connect.
    ///
    /// Then call the link's `connected()` or `disconnected(at:byPeer:)`.
    case dial
    /// Write the link's `batchContents()`.
    ///
    /// Then call the link's `wrote(wireEnd:)` or `blocked()`.
    case write
    /// Read everything that has arrived on the connection.
    ///
    /// Then call the link's `heard(until:)`.
    case listen
    /// Make the provider token, which authenticates the requests.
    ///
    /// Then call the link's `authorized(_:issuedAt:)` or `notAuthorized(until:)`.
    case authorize
    /// Set the connection aside, for the answers that are still to come.
    ///
    /// Make no other connection until the link asks for it.
    case setAside
    /// Close the connection that was set aside.
    case closeAside
    /// Find out how much the peer has acknowledged.
    ///
    /// Then call the link's `sampled(unacknowledged:since:roundTrip:)`.
    case sample
    /// Close the connection.
    case disconnect
    /// Wait for an event, or until the instant.
    case wait(until: Instant?)
    /// End: everything is done.
    case finish
  }
}
