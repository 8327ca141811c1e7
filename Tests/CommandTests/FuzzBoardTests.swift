import Testing

/// What the fuzzer looks for, where an `Int` has 32 bits and another overflow ends the program.
@Test(.sideBySide) func `the fuzzer's properties hold on a board of 32 bits`() throws {
  let box = try Box()
  defer { box.end() }
  let tried = try box.run([Build.package + "/Tests/Fuzz/board", "100"])
  #expect(tried.status == 0, "\(tried.output)\(tried.errors)")
}
