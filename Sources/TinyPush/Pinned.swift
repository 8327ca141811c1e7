/// A member that keeps a large struct in one place in memory.
///
/// With it, the compiler passes the address of the struct; otherwise it copies the whole struct for
/// each call.
@_rawLayout(size: 1, alignment: 1)
package struct Pinned: ~Copyable {
  package init() {}
}
