import IssueProtocol
import Testing

@testable import IssueCore

@Suite("The conditions on a record's content")
struct RecordMatcherTests {
    private static let record: IssueRecord = {
        var record = IssueRecord(message: "Payment 17 failed", domain: "com.example.shop")
        record.causes = [
            IssueCause(domain: "NSURLErrorDomain", code: -1001, message: "Timed out"),
            IssueCause(code: 5, message: ""),
        ]
        record.metadata = [
            "card": "Visa", "amount": 12.50, "retry": false, "order": 4711, "none": nil,
            "http": ["status": 503, "via": ["proxy-1", "proxy-2"]], "http.method": "POST", "a=b": "c",
        ]
        return record
    }()

    private func matches(_ change: (inout IssueFilter) -> Void) -> Bool {
        var filter = IssueFilter()
        change(&filter)
        return RecordMatcher(filter)?.matches(Self.record) ?? true
    }

    @Test(
        "Search terms are found in the message, the domain, values of the metadata, and causes",
        arguments: [
            ("payment", true), ("SHOP", true), ("nsurl", true), ("\"timed out\"", true), ("visa", true), ("12.5", true),
            ("false", true), ("4711", true), ("503", true), ("proxy-2", true), ("post", true),
            ("payment visa timed 503", true), ("payment visa missing", false), ("\"17 failed\"", true),
            ("\"failed com\"", false), ("card", false), ("status", false), ("null", false), ("1001", false),
            ("  ", true),
        ])
    func text(text: String, expected: Bool) {
        #expect(matches { $0.text = text } == expected)
    }

    @Test(
        "Conditions on the content compare whole metadata values; of several conditions on one key, one must match",
        arguments: [
            (["card=Visa"], true), (["card=visa"], false), (["card=Vis"], false), (["card="], false),
            (["amount=12.5"], true), (["retry=false"], true), (["order=4711"], true), (["none=null"], false),
            (["http.status=503"], true), (["http.via=proxy-2"], true), (["http.method=POST"], true),
            (["http=503"], false), (["status=503"], false), (["card.x=Visa"], false), (["a=b=c"], false), ([], false),
            (["card=Amex", "card=Visa"], true), (["card=Visa", "order=1"], false),
            (["card=Visa", "order=1", "order=4711"], true), (["missing=1"], false),
        ] as [([String], Bool)])
    func metadata(entries: [String], expected: Bool) {
        #expect(matches { $0.metadata = entries } == expected)
    }

    @Test("The conditions on a record's content match a record without metadata only if they do not ask for any")
    func without() {
        var filter = IssueFilter()
        #expect(RecordMatcher(filter) == nil)
        filter.text = "a"
        #expect(RecordMatcher(filter)?.matches(IssueRecord(message: "A")) == true)
        filter.metadata = ["a=b"]
        #expect(RecordMatcher(filter)?.matches(IssueRecord(message: "A")) == false)
    }

    @Test(
        "The conditions on a record's content are refused if an entry for the metadata has no key or no equals sign",
        arguments: ["", "card", "=Visa"])
    func form(entry: String) {
        var filter = IssueFilter()
        filter.metadata = ["a=b", entry]
        let excess = QueryLimits.Excess(field: "metadata", reason: "\"\(entry)\" is not of the form KEY=VALUE")
        #expect(throws: excess) { try QueryLimits.check(filter) }
    }
}
