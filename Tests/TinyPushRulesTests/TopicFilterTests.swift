import Testing
import TinyPush
import TinyPushRules

@Test(arguments: [
  ("a/b", true), ("+", true), ("#", true), ("a/+/c", true), ("a/#", true), ("+/+", true),
  ("/", true), ("$SYS/#", true),
  ("", false), ("a+", false), ("a/b#", false), ("#/a", false), ("a/+b", false), ("a\u{0}b", false),
])
func `a topic filter has wildcards only as whole levels`(filter: String, isValid: Bool) {
  #expect(TopicFilter.isValid(Array(filter.utf8).span) == isValid)
}

@Test(arguments: [
  ("a/b", "a/b", true), ("a/b", "a/c", false), ("a/b", "a/b/c", false), ("a/b", "a", false),
  ("a/+", "a/b", true), ("a/+", "a", false), ("a/+", "a/", true), ("a/+", "a/b/c", false),
  ("+/+", "a/b", true), ("+", "a", true), ("+", "", true), ("+/b", "/b", true),
  ("#", "a/b/c", true), ("a/#", "a", true), ("a/#", "a/b/c", true), ("a/#", "ab", false),
  ("a/+/#", "a/b", true),
  ("+/a/#", "x/a", true), ("a/+/c", "a/b/c", true), ("a/+/c", "a/b/d", false),
  ("#", "$SYS/a", false), ("+/a", "$SYS/a", false), ("$SYS/#", "$SYS/a", true),
])
func `a topic filter matches the topics of the standard`(
  filter: String, topic: String, matches: Bool
) {
  #expect(TopicFilter.matches(Array(filter.utf8).span, Array(topic.utf8).span) == matches)
}

@Test(arguments: [
  ("$share/g/a/#", "a/#"), ("$share/g/#", "#"), ("a/b", "a/b"), ("$share/g", nil),
  ("$share/g/", nil), ("$share//a", nil),
  ("$share/+/a", nil),
])
func `a shared subscription names a group and a filter`(filter: String, inner: String?) {
  let bytes = Array(filter.utf8)
  #expect(TopicFilter.shared(bytes.span).map { bytes.span.extracting($0).string } == inner)
}

@Test(arguments: [(1, "zigbee"), (2, "kitchen"), (3, ""), (4, "leak"), (5, nil)])
func `levels of a topic are counted from 1`(number: Int, level: String?) {
  let topic = Array("zigbee/kitchen//leak".utf8)
  #expect(
    TopicFilter.level(number, of: topic.span).map { topic.span.extracting($0).string } == level)
}

@Test(arguments: [
  ("a/b", "a/b", true), ("a/b", "a/c", false), ("a/+", "a/b", true), ("a/+", "+/b", true),
  ("a/+", "a/b/c", false), ("a/#", "a", true), ("a/#", "a/b/c", true), ("#", "a/b", true),
  ("a/b", "a", false), ("a", "a/#", true), ("+", "a/b", false), ("#", "$SYS/a", false),
  ("+/a", "$SYS/a", false), ("$SYS/#", "$SYS/a", true), ("a/+/c", "a/b/#", true), ("#", "+", true),
])
func `two filters overlap if a topic can match both`(one: String, other: String, wanted: Bool) {
  let (one, other) = (Array(one.utf8), Array(other.utf8))
  #expect(TopicFilter.overlaps(one.span, other.span) == wanted)
  #expect(TopicFilter.overlaps(other.span, one.span) == wanted)
}
