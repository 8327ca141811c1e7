import CLinux

/// With whose rights the agent's files are tried: one's own; but nothing is closed to the superuser, so that he tries it with those
/// of whom the spool belongs to, who is the agent most likely.
struct ActingUser {
  /// Whom the spool belongs to; nil when it is not there.
  private let owner: (user: uid_t, group: gid_t)?

  init(ownerOf spool: UnsafePointer<CChar>) {
    var file = stat()
    owner = stat(spool, &file) == 0 ? (file.st_uid, file.st_gid) : nil
  }

  /// Whether this is the superuser, in the place of another.
  var isAnother: Bool { geteuid() == 0 && owner.map { $0.user != 0 } ?? false }

  /// Whether somebody else seems to be the agent, whose rights cannot be tried.
  var isStranger: Bool { geteuid() != 0 && owner.map { $0.user != geteuid() } ?? false }

  /// Whose rights they are.
  var id: uid_t { isAnother ? owner!.user : geteuid() }

  /// Calls `body` with these rights; whether they could be had, as in a container they may not.
  @discardableResult
  func act(_ body: () -> Void) -> Bool {
    let isOther = isAnother
    let isActing = begin()
    body()
    if isOther { clinux_stop_acting_as() }
    return isActing
  }

  @inline(never)
  private func begin() -> Bool {
    guard isAnother, let owner else { return true }
    return clinux_act_as(owner.user, owner.group) == 0
  }
}
