import IssueProtocol
import Testing

@testable import IssueCore

@Suite("Query limits")
struct QueryLimitsTests {
    private static let lists: [(String, @Sendable (inout IssueFilter, Int) -> Void)] = [
        ("apps", { $0.apps = Array(repeating: "a", count: $1) }),
        ("versions", { $0.versions = Array(repeating: "a", count: $1) }),
        ("environments", { $0.environments = Array(repeating: "a", count: $1) }),
        ("domains", { $0.domains = Array(repeating: "a", count: $1) }),
        ("codes", { $0.codes = Array(repeating: 1, count: $1) }),
        ("files", { $0.files = Array(repeating: "a", count: $1) }),
        ("groups", { $0.groups = Array(repeating: "g0000000000000000", count: $1) }),
        ("users", { $0.users = Array(repeating: 1, count: $1) }),
        ("units", { $0.units = Array(repeating: "a", count: $1) }),
        ("states", { $0.states = Array(repeating: .open, count: $1) }),
        ("metadata", { $0.metadata = Array(repeating: "a=b", count: $1) }),
        ("trace_ids", { $0.traceIDs = Array(repeating: "4bf92f3577b34da6a3ce929d0e0e4736", count: $1) }),
        ("request_ids", { $0.requestIDs = Array(repeating: "a", count: $1) }),
        ("end_users", { $0.endUsers = Array(repeating: "a", count: $1) }),
        ("fates", { $0.outcomes = Array(repeating: .pending, count: $1) }),
    ]

    @Test("Each list of a filter has at most 256 entries; a longer one is refused with its name and the limit")
    func lists() throws {
        for (name, fill) in Self.lists {
            var filter = IssueFilter()
            fill(&filter, 256)
            try QueryLimits.check(filter)
            fill(&filter, 257)
            let excess = QueryLimits.Excess(field: name, reason: "at most 256 entries are allowed, not 257")
            #expect(throws: excess) { try QueryLimits.check(filter) }
        }
    }

    @Test("A trace id that is not 32 hexadecimal digits is refused, since it would match nothing")
    func traces() throws {
        var filter = IssueFilter()
        filter.traceIDs = ["4BF92F3577B34DA6A3CE929D0E0E4736", "4bf92f35"]
        let excess = QueryLimits.Excess(
            field: "trace_ids", reason: "\"4bf92f35\" is not a trace id (32 hexadecimal digits, not all 0)")
        #expect(throws: excess) { try QueryLimits.check(filter) }
    }

    @Test(
        "A text without a word is refused, since it would match everything",
        arguments: ["", " \t\n", "\"\"", " \"\" "])
    func noWord(text: String) throws {
        var filter = IssueFilter()
        filter.text = text
        let excess = QueryLimits.Excess(field: "text", reason: "it contains no word")
        #expect(throws: excess) { try QueryLimits.check(filter) }
    }

    @Test("A destination without a fate is refused, since it would have no effect")
    func destinationAlone() throws {
        var filter = IssueFilter()
        filter.destination = "logzio"
        #expect(throws: QueryLimits.Excess.self) { try QueryLimits.check(filter) }
        filter.outcomes = [.delivered]
        try QueryLimits.check(filter)
    }

    @Test("A text has at most 16 words and 1 KiB")
    func text() throws {
        var filter = IssueFilter()
        filter.text = Array(repeating: "a", count: 16).joined(separator: " \t")
        try QueryLimits.check(filter)
        filter.text = "a\u{0}" + (filter.text ?? "")
        let excess = QueryLimits.Excess(field: "text", reason: "at most 16 words or quoted phrases are allowed, not 17")
        #expect(throws: excess) { try QueryLimits.check(filter) }
        // A phrase counts as one word.
        filter.text = Array(repeating: "\"a b\"", count: 16).joined(separator: " ")
        try QueryLimits.check(filter)
        filter.text = (filter.text ?? "") + " c"
        #expect(throws: excess) { try QueryLimits.check(filter) }
        filter.text = String(repeating: "é", count: 512)
        try QueryLimits.check(filter)
        filter.text = String(repeating: "é", count: 512) + "a"
        let bytes = QueryLimits.Excess(field: "text", reason: "at most 1024 bytes are allowed, not 1025")
        #expect(throws: bytes) { try QueryLimits.check(filter) }
    }

    @Test("A text has at most 64 words if it is also split at punctuation")
    func tokens() throws {
        var filter = IssueFilter()
        filter.text = Array(repeating: "a", count: 64).joined(separator: ".")
        try QueryLimits.check(filter)
        filter.text = Array(repeating: "a", count: 65).joined(separator: "/")
        #expect(throws: QueryLimits.Excess.self) { try QueryLimits.check(filter) }
    }

    @Test("A sparkline has at most 1,000 buckets, and all sparklines of a reply together have at most 100,000")
    func sparklines() throws {
        try QueryLimits.check(sparkline: 1000, groups: 100)
        try QueryLimits.check(sparkline: 100, groups: 1000)
        #expect(throws: QueryLimits.Excess.self) { try QueryLimits.check(sparkline: 1001, groups: 1) }
        #expect(throws: QueryLimits.Excess.self) { try QueryLimits.check(sparkline: 1000, groups: 101) }
        #expect(throws: QueryLimits.Excess.self) { try QueryLimits.check(sparkline: .max, groups: 1000) }
    }
}
