/// The two things that the sandbox offers.
enum ServiceName {
  case gateway, feedback

  var text: StaticString {
    switch self {
    case .gateway: "gateway"
    case .feedback: "feedback"
    }
  }
}
