import IssueProtocol

/// The difference between the accepted and the expected values of `event_id`. A line without `event_id` counts as one
/// with an empty value.
package struct Expectation: Hashable, Sendable {
    package let missing: [String]
    package let unexpected: [String]
    /// The ids of lines that were accepted more than once, and how often. Delivery is at least once, so this is not a
    /// failure.
    package let duplicated: [String: Int]
    /// The ids of lines with tags; in strict mode this is a failure.
    package let tagged: [String]
    package let isMet: Bool

    init(expected: [String], accepted: [AcceptedLine], isStrict: Bool) {
        var counts: [String: Int] = [:]
        for line in accepted { counts[line.eventID ?? "", default: 0] += 1 }
        let expected = Set(expected)
        missing = expected.filter { counts[$0] == nil }.sorted()
        unexpected = counts.keys.filter { !expected.contains($0) }.sorted()
        duplicated = counts.filter { $0.value > 1 }
        tagged = accepted.filter { !$0.tags.isEmpty }.map { $0.eventID ?? "" }
        isMet = missing.isEmpty && unexpected.isEmpty && (!isStrict || tagged.isEmpty)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            for (name, ids) in [("missing", missing), ("unexpected", unexpected), ("tagged", tagged)] {
                writer.key(name)
                writer.array { writer in
                    for id in ids { writer.string(id) }
                }
            }
            writer.key("duplicated")
            writer.object { writer in
                for (id, count) in duplicated.sorted(by: { $0.key < $1.key }) { writer.member(id, Int64(count)) }
            }
        }
    }
}
