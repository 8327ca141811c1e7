/// The files that wait in `new/` and `taken/` to be read, in the order of their names, and when to
/// scan for more.
struct WaitingFiles: ~Copyable {
  /// The names in `new/`.
  var new = Backlog()
  /// The names in `taken/` that an earlier agent left, that came from `later/`, or that have grown.
  var taken = Backlog()
  /// Names in `new/` of files that a program writes.
  var beingWritten = BeingWritten()
  /// Whether to scan the whole of `new/` or `taken/`.
  var isNewWanted = true
  var isTakenWanted = true
  /// Whether `new/` could not be read at the last scan.
  private(set) var isBroken = false
  private(set) var rescanAt: Instant?
  /// When to scan again after a directory could not be read.
  private var scanAt: Instant?
  /// When to try again the files that could not be read or taken.
  private(set) var retryAt: Instant?
  private var pause = pauseMin
  /// When to look at the files in `taken/` that are settled and may still grow.
  private var lingerAt: Instant?
  /// The tries in a row without any file that could be read.
  private var fruitless = 0

  /// The wait before the next try, which doubles.
  private static let pauseMin = Duration.seconds(2)
  private static let pauseMax = Duration.seconds(900)
  /// After this number of tries, `--once` no longer waits for the files that cannot be read.
  private static let fruitlessMax = 4
  /// How long a settled file stays that may still grow, without a change.
  public static let lingerTime = Duration.seconds(600)

  init() {}

  /// Whether the names of all files are known.
  var areKnown: Bool { new.isComplete && taken.isComplete && !isNewWanted && !isTakenWanted }

  /// Whether every file that may be read was begun.
  var isExhausted: Bool {
    new.isEmpty && taken.isEmpty && areKnown
      && (retryAt == nil || fruitless > Self.fruitlessMax)
  }

  /// Schedules the first rescan.
  mutating func start(at now: Instant, rescan: Duration) {
    if rescanAt == nil { rescanAt = now + rescan }
  }

  /// Notes that a file could not be read or taken, and must be found again by a scan.
  mutating func putOff(at now: Instant) {
    guard retryAt == nil else { return }
    retryAt = now + pause
    pause = min(Duration(milliseconds: pause.milliseconds * 2), Self.pauseMax)
    fruitless += 1
  }

  /// Notes that a file is to be tried again in a moment.
  mutating func retrySoon(at now: Instant) { retryAt.include(now + Self.pauseMin) }

  /// Notes that a file was taken.
  mutating func succeeded() {
    pause = Self.pauseMin
    fruitless = 0
  }

  /// Notes that a settled file stays in `taken/`, since it may still grow.
  mutating func lingers(at now: Instant) { lingerAt = lingerAt ?? now + Self.lingerTime }

  /// Plans a scan of everything.
  mutating func requestScan() {
    isNewWanted = true
    isTakenWanted = true
  }

  /// Plans what is due: a rescan, another try, and the files that were closed a moment ago.
  ///
  /// Returns whether a rescan is due.
  mutating func update(at now: Instant, rescan: Duration) -> Bool {
    var isRescan = false
    if let at = rescanAt, now >= at {
      requestScan()
      rescanAt = now + rescan
      isRescan = true
    }
    if let at = retryAt, now >= at {
      retryAt = nil
      requestScan()
    }
    if let at = lingerAt, now >= at {
      lingerAt = nil
      isTakenWanted = true
    }
    beingWritten.takeOver(at: now) { new.offer($0, isFromScan: false) }
    return isRescan
  }

  /// Returns the directory to scan now, if any.
  mutating func nextScan(at now: Instant) -> Courier.Directory? {
    guard scanAt.map({ $0 <= now }) ?? true else { return nil }
    scanAt = nil
    if isTakenWanted || taken.isEmpty && !taken.isComplete {
      taken.startScan(isFromStart: isTakenWanted)
      isTakenWanted = false
      return .taken
    }
    guard isNewWanted || new.isEmpty && !new.isComplete else { return nil }
    new.startScan(isFromStart: isNewWanted)
    isNewWanted = false
    return .new
  }

  /// Notes that a directory could not be read: nothing is scanned for a while.
  mutating func couldNotScan(at now: Instant) { scanAt = now + DiskTroubles.pauseMin }

  /// Notes the result of a scan of `new/`; returns whether it differs from that of the one before.
  mutating func scanned(isComplete: Bool) -> Bool {
    defer { isBroken = !isComplete }
    if !isComplete { isNewWanted = true }
    return isBroken == isComplete
  }

  /// Adds a file in `taken/`.
  mutating func offerTaken(_ name: borrowing PathName) {
    taken.offer(name.bytes(), isFromScan: false)
  }

  /// Appends the name that the first file in `taken/` had in `new/`.
  func appendTakenSource(to text: inout Text) {
    text.append(bytes: TakenName.source(of: taken.smallest()))
  }

  /// Calls `body` with each time at which there is something to do.
  func forEachDeadline(_ body: (Instant?) -> Void) {
    body(retryAt)
    body(scanAt)
    body(lingerAt)
    body(beingWritten.retryAt)
  }
}
