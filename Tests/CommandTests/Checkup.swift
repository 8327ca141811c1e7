import Foundation

/// The output of `tinypush check --json` about the set-up.
struct Checkup {
  struct Item {
    var state = "absent"
    var message = ""
    var advice = ""
  }

  let status: Int32?
  /// The items by their names, such as `gateway.handshake`.
  private let items: [String: [Item]]

  init(_ child: Child) throws {
    status = child.status
    var items: [String: [Item]] = [:]
    for line in try objects(child.output) {
      guard let name = line["name"] as? String, let state = line["state"] as? String,
        let message = line["message"] as? String
      else { throw Failure("no item: \(line)") }
      items[name, default: []].append(
        Item(state: state, message: message, advice: line["advice"] as? String ?? ""))
    }
    self.items = items
  }

  /// The last item of this name.
  subscript(name: String) -> Item { items[name]?.last ?? Item() }

  func all(_ name: String) -> [Item] { items[name] ?? [] }

  /// Returns the names that have an item in this state.
  func names(_ state: String) -> Set<String> {
    Set(items.filter { $0.value.contains { $0.state == state } }.keys)
  }
}

extension Box {
  /// Returns settings with which the check finds nothing wrong, as far as this machine allows.
  ///
  /// The feedback service is at the gateway's address: the check only connects to it.
  func wellSettings(
    _ port: Int, certificate: String = "client", key: String? = nil, _ more: [String] = []
  ) throws -> [String] {
    try? FileManager.default.createDirectory(
      atPath: path + "/recipients", withIntermediateDirectories: true)
    return try settings(
      port, certificate: certificate, key: key,
      [
        "feedback=localhost:\(port)", "status=\(path)/status", "recipients=\(path)/recipients",
      ] + more)
  }

  /// Runs `tinypush check --json` with the settings of `wellSettings`.
  ///
  /// - Parameter identity: the beginning of the command, which takes another identity.
  func checkup(
    _ port: Int, build: String = Build.host, certificate: String = "client", key: String? = nil,
    environment: [String: String] = [:], as identity: [String] = [], _ more: [String] = []
  ) throws -> Checkup {
    return try Checkup(
      run(
        identity + Build.command(build) + ["check", "--json"]
          + wellSettings(port, certificate: certificate, key: key, more), environment: environment))
  }
}
