import TinyPush

/// A value for each lane that has one.
struct PerLane<Value: ~Copyable>: ~Copyable {
  private let places = UnsafeMutablePointer<Value>.allocate(capacity: Lane.count)
  private var isMade: InlineArray<9, Bool> = .init(repeating: false)

  init() {}

  deinit {
    for number in 0..<Lane.count where isMade[number] {
      (places + number).deinitialize(count: 1)
    }
    places.deallocate()
  }

  func has(_ lane: Lane) -> Bool { isMade[lane.index] }

  /// Sets the value of a lane, in place of a former one.
  mutating func set(_ lane: Lane, _ value: consuming Value) {
    if isMade[lane.index] { (places + lane.index).deinitialize(count: 1) }
    isMade[lane.index] = true
    (places + lane.index).initialize(to: value)
  }

  subscript(lane: Lane) -> Value {
    _read {
      precondition(isMade[lane.index])
      yield places[lane.index]
    }
    nonmutating _modify {
      precondition(isMade[lane.index])
      yield &places[lane.index]
    }
  }
}
