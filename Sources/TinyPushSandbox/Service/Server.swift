import CMbed
import TinyPush
import TinyPushAgent

/// The certificates, keys and tickets that the TLS sessions of both services share.
struct Server: ~Copyable {
  let pointer: OpaquePointer

  init(_ home: Home) throws(SandboxFailure) {
    let words = FixedBuffer<CChar>(capacity: Int(CMBED_TEXT_MAX))
    var made: OpaquePointer?
    _ = home.withPath("/ca.pem") { authority in
      home.withPath("/gateway.pem") { certificate in
        home.withPath("/gateway-key.pem") { key in
          var options = cmbed_server_options()
          options.ca = authority
          options.certificate = certificate
          options.key = key
          options.alpn = ("h2" as StaticString).cString
          options.alpn_anonymous = 1
          return cmbed_server_new(&made, &options, words.room().baseAddress!)
        }
      }
    }
    guard let made else { throw SandboxFailure.refuse(words) }
    pointer = made
  }

  deinit { cmbed_server_free(pointer) }
}
