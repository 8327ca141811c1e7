import Testing

/// Runs the fuzzer's properties where `Int` has 32 bits and other overflows trap.
@Test(.sideBySide) func `the fuzzer's properties hold on a 32-bit board`() throws {
  let tried = try box.run([Build.package + "/Tests/Fuzz/board", "100"])
  #expect(tried.status == 0, "\(tried.output)\(tried.errors)")
}
