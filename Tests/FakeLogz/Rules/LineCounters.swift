import IssueProtocol

/// The four counters of a 400 response.
package struct LineCounters: Hashable, Sendable {
    package var malformed = 0
    package var successful = 0
    package var oversized = 0
    package var empty = 0

    package init(malformed: Int = 0, successful: Int = 0, oversized: Int = 0, empty: Int = 0) {
        self.malformed = malformed
        self.successful = successful
        self.oversized = oversized
        self.empty = empty
    }

    var total: Int { malformed + successful + oversized + empty }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("malformedLines", Int64(malformed))
            writer.member("successfulLines", Int64(successful))
            writer.member("oversizedLines", Int64(oversized))
            writer.member("emptyLogLines", Int64(empty))
        }
    }
}
