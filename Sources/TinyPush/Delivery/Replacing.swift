/// Whether the notification with a `collapse-id` that is being read is replaced by a later one.
struct Replacing: ~Copyable {
  /// How far that is known.
  struct Search {
    enum Stage {
      /// A notification that was found before may replace it.
      case known
      /// The rest of its own file, and then the files that wait, are looked through, as far as the budget goes.
      case own, waiting
      /// A notification that was found may replace it.
      case found
      /// The file of the one that replaces it was looked at once more: whether it was there.
      case verified(Bool)
      /// Nothing that waits replaces it: what it replaces itself is removed from `later/`.
      case cancelling
      case settled
    }

    var place: FilePlace
    var stage = Stage.known
    /// All was looked through that is to be.
    var hasSearched = false
  }

  /// What waits with a `collapse-id`.
  var survey = Survey(isUsed: false)
  var search: Search?
  /// The key whose file is to be looked at once more.
  var key: UInt64 = 0

  init() {}

  /// The search for the notification at `place`.
  mutating func search(for place: FilePlace) -> Search {
    if let search, search.place == place { return search }
    if !survey.isUsed { survey = Survey() }
    survey.start()
    return Search(place: place)
  }

  /// Begins to look through the file that holds the notification, from `offset` on.
  mutating func beginOwn(_ claim: ClaimNumber, at offset: Int64, _ claims: borrowing Claims) {
    survey.begin(claims.name(claim), at: offset, .own)
  }

  /// Whether the file of the one that replaces it is there still.
  mutating func verified(_ isThere: Bool) { search?.stage = .verified(isThere) }
}
