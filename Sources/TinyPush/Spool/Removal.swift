/// The reason why a file could not be opened.
public enum OpenFailure: Error {
  /// The file no longer exists.
  case vanished
  /// The name belongs to a directory, link, device or pipe, which the agent does not read.
  case notRegular
  /// The file exists and cannot be read; the value is the errno.
  case unreadable(Int32)
  /// The machine is short of a resource; a later attempt may succeed.
  case later
  /// A process has the file open for writing, so it is not finished.
  case beingWritten
}

/// The result of removing a settled file.
public enum Removal {
  case removed
  /// The file must stay and was not touched.
  case kept
  /// Another file has taken its place; that one stays and is delivered.
  case replaced
  /// The file is no longer under this name, or also under another one.
  case moved
  /// The file was extended; the new part is delivered.
  case grown
  /// A process has the file open for writing; the file stays until it is closed.
  case beingWritten
  /// The removal failed.
  case failed
}
