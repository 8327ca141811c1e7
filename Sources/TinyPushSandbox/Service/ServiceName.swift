/// The two services of the sandbox.
enum ServiceName {
  case gateway, feedback

  var text: StaticString {
    switch self {
    case .gateway: "gateway"
    case .feedback: "feedback"
    }
  }
}
