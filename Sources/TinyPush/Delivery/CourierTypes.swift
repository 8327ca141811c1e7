extension Courier {
  /// The settings of the courier and the links.
  public struct Settings {
    /// The rules for notifications.
    public var rules = Rules()
    /// Whether there is a service for device tokens.
    public var hasDevices = true
    /// Whether browsers' subscriptions are served.
    public var hasWebPush = false
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
    /// The most files, and the most notifications, that are under way.
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
    /// A notification was read, and the service does not take it yet.
    case waits
  }

  /// A directory of the spool.
  public enum Directory {
    /// Files that other programs put there.
    case new
    /// Files that the agent has taken.
    case taken
    /// Notifications that wait until they are due.
    case later
  }

  /// A step that the courier asks of the agent.
  ///
  /// The agent does the step, and then calls the named function with the result. ``stepName()`` is
  /// the name of the file.
  public enum Step {
    /// Scan a directory.
    ///
    /// Call ``offer(_:in:)`` for each name, and then ``scanned(_:isComplete:)``.
    case scan(Directory)
    /// Read a file on, from ``readOffset`` into ``readRoom``.
    ///
    /// A file in `new/` is moved to `taken/` first, unless it cannot be read. Then call
    /// ``read(_:)``.
    case read(Directory)
    /// Read the recipients file on, from ``recipientsOffset`` into ``recipientsRoom``.
    ///
    /// Then call ``readRecipients(_:)``.
    case readRecipients
    /// Write the ``record``, or report it.
    ///
    /// Then call ``recorded(_:)``.
    case record
    /// Merge what the ``Courier/suppression`` has learned into the list on disk.
    ///
    /// A damaged list is set aside. Then call ``Suppression/kept(_:)``.
    case keepLearned
    /// Sync all records, so that they survive a power cut.
    ///
    /// Then call ``synced(_:)``.
    case sync
    /// Move a file of `later/` to `taken/`, under the name ``stepTarget()``.
    ///
    /// Then call ``released(_:)``.
    case release
    /// Remove a settled file from `taken/`.
    ///
    /// With ``isSettledSetAside``, move it to `failed/` instead. Then call ``removed(_:)``.
    case remove
    /// Rename a file in `taken/` to ``stepTarget()``, which says how far it is settled.
    ///
    /// Then call ``renamed(_:)``.
    case rename
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
    /// Find out how much the peer has acknowledged.
    ///
    /// Then call the link's `sampled(unacknowledged:since:roundTrip:)`.
    case sample
    /// Close a connection.
    case disconnect(Connection)
    /// Wait for an event, or until the instant.
    case wait(until: Instant?)
    /// End: everything is done.
    case finish
  }

  /// One of a link's connections to one service.
  public enum Connection: UInt8, BitwiseCopyable {
    /// The connection that takes notifications.
    case current
    /// The connection that was set aside, and only waits for the answers that are still to come.
    case aside
  }

  /// The result of reading a file.
  public enum ReadResult {
    /// Bytes were put into the room; `isWhole`: they end the file.
    case text(bytes: Int, isWhole: Bool, FileFacts)
    case failed(OpenFailure)
  }

  /// The result of reading a recipients file.
  public enum RecipientsResult {
    /// Bytes were put into the room; `isWhole`: they end the file.
    case text(bytes: Int, isWhole: Bool, FileIdentity)
    case failed(OpenFailure)
  }

  /// What the agent knows of a file that it reads.
  public struct FileFacts {
    /// When the file came into `new/`, in UNIX nanoseconds, as its name in `taken/` says.
    public var arrivalNs: Int64
    /// When something was last written to the file, in UNIX nanoseconds.
    public var modifiedNs: Int64
    /// The size in bytes.
    public var size: Int64
    /// Whether a program may still have the file open for writing.
    public var mayGrow: Bool

    /// Makes facts.
    public init(arrivalNs: Int64, modifiedNs: Int64, size: Int64, mayGrow: Bool) {
      self.arrivalNs = arrivalNs
      self.modifiedNs = modifiedNs
      self.size = size
      self.mayGrow = mayGrow
    }
  }

  /// The result of removing a settled file.
  public enum RemovalResult {
    case removed
    /// The file is larger than what was read: it stays, and the rest is delivered.
    case grown
    case failed
  }

  /// The result of moving a file from `later/` to `taken/`.
  public enum ReleaseResult {
    case released
    /// The file was removed, or was damaged by a power cut and is in its source as well.
    case isGone
    case failed
  }
}

/// The reason why a file could not be read.
public enum OpenFailure: Error {
  /// The file no longer exists.
  case vanished
  /// The name belongs to a directory, link, device or pipe, which the agent does not read.
  case notRegular
  /// The file exists and cannot be read: the errno, and the last status change in UNIX nanoseconds.
  case unreadable(Int32, changeTimeNs: Int64 = 0)
  /// A program holds a lease on the file, or has it open for writing; a later attempt may succeed.
  case busy
  /// The machine is short of a resource, so that no file can be opened.
  case shortage
  /// The file cannot be moved to `taken/`: the errno.
  case notTaken(Int32)

  /// Appends what is wrong with the file, and what to do.
  @inline(never)
  func describe(in text: inout Text) {
    switch self {
    case .unreadable(let error, _):
      text.append(" cannot be read (errno ", error, "): make it readable for the agent's user")
    case .busy:
      text.append(" cannot be read, since a program holds a lease on the file: end that program")
    case .vanished, .notRegular, .shortage, .notTaken:
      text.append(" is not a regular file: replace it by one")
    }
  }
}
