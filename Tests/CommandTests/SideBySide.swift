import Foundation
import Testing

/// Runs the tests of a suite in parallel on a pool of threads, each with a box of its own.
///
/// Each test blocks a thread while it waits for a process, and Swift's own pool has only as many
/// threads as the machine has cores.
struct SideBySide: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await TestBox.$current.withValue(TestBox()) {
      try await withTaskExecutorPreference(Threads.shared) {
        defer { TestBox.current?.end() }
        try await function()
      }
    }
  }
}

extension Trait where Self == SideBySide {
  static var sideBySide: Self { Self() }
}

/// A task executor that runs jobs first in, first out on a fixed number of threads.
private final class Threads: TaskExecutor, @unchecked Sendable {
  static let shared = Threads(12)

  private let condition = NSCondition()
  private var jobs: [UnownedJob] = []

  private init(_ count: Int) {
    for _ in 1...count {
      let thread = Thread { [unowned self] in while true { run() } }
      thread.stackSize = 8 << 20
      thread.start()
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    condition.withLock {
      jobs.append(job)
      condition.signal()
    }
  }

  private func run() {
    condition.lock()
    while jobs.isEmpty { condition.wait() }
    let job = jobs.removeFirst()
    condition.unlock()
    job.runSynchronously(on: asUnownedTaskExecutor())
  }
}
