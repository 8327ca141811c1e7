import CLinux
import TinyPush
import TinyPushAgent
import TinyPushWebhooks

/// The page on which browsers register, whose few files are read for each request.
struct WebPage: ~Copyable {
  private static var files: WordList {
    "index.html page.css page.js worker.js manifest.json icon.svg icon.png"
  }
  private static var bytesMax: Int { 65_536 }
  /// A script of somebody else's never runs in the page, nor does the page in one of somebody else's.
  private static let policy: StaticString =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; manifest-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

  private let directory: CString
  private var content = Text(capacity: WebPage.bytesMax)

  init(_ directory: consuming CString) { self.directory = directory }

  deinit {}

  /// Answers a request for a file of the page; returns whether there is such a file.
  mutating func answer(_ request: Request, file name: Span<UInt8>) -> Bool {
    let name = name.count > 0 ? name : ("index.html" as StaticString).span
    guard let index = Self.files.index(of: name) else { return false }
    content.clear()
    guard read(name) else { return false }
    let type: StaticString =
      switch index {
      case 0: "text/html; charset=utf-8"
      case 1: "text/css; charset=utf-8"
      case 2, 3: "text/javascript; charset=utf-8"
      case 4: "application/manifest+json"
      case 5: "image/svg+xml"
      default: "image/png"
      }
    request.answer(200, type, content)
    request.addHeader("Content-Security-Policy", Self.policy.cString)
    request.addHeader("X-Content-Type-Options", ("nosniff" as StaticString).cString)
    request.addHeader("Referrer-Policy", ("no-referrer" as StaticString).cString)
    request.addHeader("Cache-Control", ("no-cache" as StaticString).cString)
    return true
  }

  private mutating func read(_ name: Span<UInt8>) -> Bool {
    var path = Text(capacity: 4200)
    path.append(bytes: directory.span)
    path.append("/", bytes: name)
    let file = path.cString()
    defer { extendLifetime(file) }
    do throws(InputFile.Problem) {
      try InputFile.read(file.pointer, to: &content, bytesMax: Self.bytesMax)
    } catch { return false }
    return true
  }
}
