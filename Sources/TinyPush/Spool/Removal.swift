/// Why a file could not be opened.
public enum OpenFailure: Error {
  /// It is not there any more.
  case vanished
  /// A directory, a link, a device, a pipe: not ours to read.
  case notRegular
  /// It is there and may not be read: errno.
  case unreadable(Int32)
  /// This machine is short of something; it may work later.
  case later
  /// Somebody has it open for writing: it is not finished.
  case beingWritten
}

/// What came of removing a settled file.
public enum Removal {
  case removed
  /// It must stay, and was not touched.
  case kept
  /// It is another file by now: it stays, and is delivered.
  case replaced
  /// It is not there under this name, or also under another one.
  case moved
  /// Somebody has written on: what is new is delivered.
  case grown
  /// Somebody has it open for writing: it stays until it is closed.
  case beingWritten
  /// It could not be removed.
  case failed
}
