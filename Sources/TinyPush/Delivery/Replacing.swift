/// The search for a newer notification that replaces the one being read.
struct Replacing: ~Copyable {
  /// The state of the search for one notification.
  struct Search {
    enum Stage {
      /// An earlier search may have found a newer notification.
      case known
      /// The rest of its file is searched, and then the waiting files.
      case own, waiting
      /// This search may have found a newer notification.
      case found
      /// The file of the newer notification was checked once more: whether it is there.
      case verified(Bool)
      /// There is no newer notification, and the older ones in `later/` are removed.
      case cancelling
      case settled
    }

    var place: FilePlace
    var stage = Stage.known
    /// Whether everything was searched, as far as the budget goes.
    var hasSearched = false
  }

  /// The waiting notifications with a `collapse-id`.
  var survey = Survey(isUsed: false)
  var search: Search?
  /// The key of the newer notification whose file is to be checked.
  var key: UInt64 = 0

  init() {}

  /// Returns the search for the notification at `place`.
  mutating func search(for place: FilePlace) -> Search {
    if let search, search.place == place { return search }
    if !survey.isUsed { survey = Survey() }
    survey.start()
    return Search(place: place)
  }

  /// Begins to search the notification's own file, from `offset` on.
  mutating func beginOwn(_ claim: ClaimNumber, at offset: Int64, _ claims: borrowing Claims) {
    survey.begin(claims.name(claim), at: offset, .own)
  }

  /// Records whether the file of the newer notification is still there.
  mutating func verified(_ isThere: Bool) { search?.stage = .verified(isThere) }
}
