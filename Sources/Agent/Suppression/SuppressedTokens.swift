import CLinux
import TinyPush

/// The suppression list as somebody sees it who changes nothing there: as it is on disk.
struct SuppressedTokens: ~Copyable {
  private let listFile: MappedFile
  private let recentFile: MappedFile
  private var list: SuppressionList
  private var recent: SuppressionList

  /// Where it cannot be read, nothing is known of any token.
  ///
  /// - Parameter state: the directory of the list.
  @inline(never)
  init(_ state: UnsafePointer<CChar>) {
    var error: Int32 = 0
    if let directory = Descriptor(AT_FDCWD, state, O_RDONLY | O_DIRECTORY, error: &error) {
      // What changed lately comes first: a merge that comes between takes nothing away.
      recentFile =
        MappedFile.open(directory.number, SuppressionDirectory.recentName, error: &error)
        ?? MappedFile()
      listFile =
        MappedFile.open(directory.number, SuppressionDirectory.listName, error: &error)
        ?? MappedFile()
    } else {
      recentFile = MappedFile()
      listFile = MappedFile()
    }
    list = SuppressionList(listFile.bytes)
    recent = SuppressionList(recentFile.bytes)
  }

  @inline(never)
  deinit {}

  /// Whether nothing is known of any token.
  var isEmpty: Bool { list.isEmpty && recent.isEmpty }

  /// Whether a token is not sent to.
  ///
  /// - Parameter registered: UNIX seconds at which the app last registered it, if somebody says so.
  mutating func forbids(_ token: DeviceToken, registered: UInt32) -> Bool {
    find(token)?.forbids(registered: registered) ?? false
  }

  /// What is known of a token.
  @inline(never)
  mutating func find(_ token: DeviceToken) -> SuppressionRecord? {
    var known = list.find(token)
    if let other = recent.find(token), known.map({ other.outweighs($0) }) ?? true { known = other }
    return known
  }
}
