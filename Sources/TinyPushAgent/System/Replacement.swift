import CLinux
import TinyPush

/// Puts a new file in the place of another one: complete, or not at all.
public enum Replacement {
  /// Writes a text to a path; returns 0 or an errno.
  ///
  /// - Parameters:
  ///   - mode: the mode of the new file.
  ///   - isAlike: whether the new file gets the owner and the mode of the one that it replaces.
  ///   - isSynced: whether the new file survives a power cut.
  ///   - replaces: whether a file that is there is replaced; otherwise that is the error EEXIST.
  @inline(never)
  public static func write(
    _ text: Span<UInt8>, to path: UnsafePointer<CChar>, mode: mode_t, isAlike: Bool = false,
    isSynced: Bool = true, replaces: Bool = true
  ) -> Int32 {
    let whole = CString.span(path)
    var slash = whole.count
    while slash > 0, whole[slash - 1] != .slash { slash -= 1 }
    let parent = CString(slash > 0 ? whole.extracting(0..<slash) : ("." as StaticString).span)
    var error: Int32 = 0
    guard
      let directory = Descriptor(
        AT_FDCWD, parent.pointer, O_RDONLY | O_DIRECTORY, error: &error)
    else { return error }
    let base = path + slash
    let draft = draftName(of: CString.span(base))
    var old = stat()
    let hasOld = isAlike && stat(path, &old) == 0
    // Nobody else may open the file before it has its owner: it may hold a key.
    error = make(
      directory.number, base, draft.pointer, mode: 0o600, isOwned: false, isSynced: isSynced,
      replaces: replaces
    ) { file in
      if hasOld, fchown(file, old.st_uid, old.st_gid) != 0 { return clinux_errno() }
      if fchmod(file, hasOld ? old.st_mode & 0o7777 : mode) != 0 { return clinux_errno() }
      return Descriptor.writeAll(file, text)
    }
    extendLifetime(directory)
    return error
  }

  /// Returns the name for the draft of a file that several programs may write at the same time.
  static func draftName(of name: Span<UInt8>) -> CString {
    var draft = Text(capacity: 512)
    draft.append(".", bytes: name, ".")
    draft.append(getpid())
    draft.append(".new")
    return draft.cString()
  }

  /// Makes a file in a directory; returns 0 or an errno.
  ///
  /// - Parameters:
  ///   - isOwned: whether the file belongs to the directory's owner, even if root makes it.
  ///   - draft: the name of the file until it is complete.
  ///   - write: writes the file to a descriptor; returns 0 or an errno.
  @inline(never)
  static func make(
    _ directory: Int32, _ name: UnsafePointer<CChar>, _ draft: UnsafePointer<CChar>, mode: mode_t,
    isOwned: Bool = true, isSynced: Bool = true, replaces: Bool = true,
    _ write: (Int32) -> Int32
  ) -> Int32 {
    unlinkat(directory, draft, 0)
    var error: Int32 = 0
    do {
      guard
        let file = Descriptor.make(directory, draft, mode: mode, isOwned: isOwned, error: &error)
      else { return error }
      error = write(file.number)
      if error == 0, isSynced, fsync(file.number) != 0 { error = clinux_errno() }
      extendLifetime(file)
    }
    if error == 0, !replaces {
      error = -clinux_rename_new(directory, draft, directory, name)
    } else if error == 0, renameat(directory, draft, directory, name) != 0 {
      error = clinux_errno()
    }
    guard error == 0 else {
      unlinkat(directory, draft, 0)
      return error
    }
    return isSynced ? Descriptor.syncDirectory(directory) : 0
  }
}
