/// A member that keeps a large struct in one place in memory: the compiler passes the struct's address, where it would
/// copy all of the struct for each call otherwise.
@_rawLayout(size: 1, alignment: 1)
package struct Pinned: ~Copyable {
  package init() {}
}
