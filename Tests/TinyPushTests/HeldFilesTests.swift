import Testing

@testable import Simulation
@testable import TinyPush

private func identity(_ number: Int) -> FileIdentity {
  FileIdentity(inode: UInt64(number), changeTimeNs: 1, size: 10)
}

@Test func `held files are known up to the capacity`() {
  var held = HeldFiles()
  for number in 1...300 {
    held.insert(identity(number), .removal)
    held.insert(identity(number), .record)
  }
  for number in 1...310 {
    let want = held.want(of: identity(number))
    #expect(want == (number <= HeldFiles.capacity ? .removal : nil))
  }
  let isOtherKnown = held.want(of: FileIdentity(inode: 200, changeTimeNs: 1, size: 11)) != nil
  #expect(!isOtherKnown)
  #expect(held.isFull == true)
  held.remove(inode: 1)
  #expect(held.isFull == false)
  let isLastKnown = held.want(of: identity(HeldFiles.capacity)) != nil
  #expect(isLastKnown)
}

@Test func `removeAll forgets all files that wait for a record`() {
  var held = HeldFiles()
  for number in 1...20 { held.insert(identity(number), number % 2 == 0 ? .record : .removal) }
  held.removeAll(.record)
  let wantsRecord = held.contains(.record)
  let wantsRemoval = held.contains(.removal)
  #expect(!wantsRecord && wantsRemoval)
  for number in 1...20 {
    let isHeld = held.contains(inode: UInt64(number))
    #expect(isHeld == (number % 2 == 1))
  }
}

@Test func `held files that a scan does not find are forgotten`() {
  var held = HeldFiles()
  for number in 1...6 { held.insert(identity(number), .removal) }
  held.unmark()
  for number in [2, 5, 9] { held.mark(UInt64(number)) }
  held.removeUnmarked()
  for number in 1...9 {
    let isHeld = held.contains(inode: UInt64(number))
    #expect(isHeld == (number == 2 || number == 5))
  }
}
