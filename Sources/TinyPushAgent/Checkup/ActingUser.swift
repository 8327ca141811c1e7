import CLinux

/// The user whose rights decide whether the agent can use a file.
///
/// This is the current user. Root may do everything, so root tests with the rights of the spool's
/// owner, who is most likely the agent's user.
struct ActingUser {
  /// The owner of the spool; nil if the spool does not exist.
  private let owner: (user: uid_t, group: gid_t)?

  init(ownerOf spool: UnsafePointer<CChar>) {
    var file = stat()
    owner = stat(spool, &file) == 0 ? (file.st_uid, file.st_gid) : nil
  }

  /// Whether root tests with the rights of another user.
  var isAnother: Bool { geteuid() == 0 && owner.map { $0.user != 0 } ?? false }

  /// Whether the agent's user is probably another one, whose rights this user cannot test.
  var isStranger: Bool { geteuid() != 0 && owner.map { $0.user != geteuid() } ?? false }

  /// The agent's user, most likely: the spool's owner, if there is a spool.
  var id: uid_t { isAnother || isStranger ? owner!.user : geteuid() }

  /// Whether a group is that of the senders; root's own group is not.
  func isGroupOfSpool(_ group: gid_t) -> Bool {
    group != 0 && (owner.map { $0.group == group } ?? false)
  }

  /// Calls `body` with the rights of the agent's user if this user is root, otherwise with its own.
  ///
  /// - Returns: whether the rights could be taken, which may fail in a container.
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
