import IssueProtocol
import Issues
import Testing

private struct OutOfStock: Error {
    var article: Int
}

@Suite("Records on the wire")
struct RecordTests {
    @Test("The message, level, domain, metadata, location, application and time of a report arrive")
    func whole() async throws {
        try await CollectorFixture.with { fixture in
            withIssueReporters([fixture.reporter]) {
                withIssueMetadata(["request": "r1"]) {
                    reportIssue(OutOfStock(article: 7), "Ordering", level: .critical, metadata: ["attempt": 3])
                }
                reportIssue(CancellationError())
            }
            #expect(try await fixture.delivery.flushed(within: .seconds(60)))

            let records = fixture.collector?.stored.map(\.record) ?? []
            let record = try #require(records.first)
            #expect(record.message == "Ordering: OutOfStock(article: 7)")
            #expect(record.severity == .critical)
            #expect(record.domain?.hasSuffix("OutOfStock") == true)
            #expect(record.metadata?["request"]?.asString == "r1")
            #expect(record.metadata?["attempt"]?.asInteger == 3)
            #expect(record.source?.fileID == "IssuesTests/RecordTests.swift")
            #expect(record.source?.module == "IssuesTests")
            #expect(record.source?.line == 16)
            #expect(record.source?.function == "whole()")
            #expect(record.app?.name == IssueReporters.application.name)
            #expect(record.app?.platform == "linux")
            #expect(record.occurredAt != nil)
            #expect(records.map(\.reportable) == [nil, false])
        }
    }

    @Test("A report without a text is sent with its location as the fingerprint, unless another one was given")
    func withoutText() async throws {
        try await CollectorFixture.with { fixture in
            let reporter = fixture.reporter
            withIssueReporters([reporter]) {
                reportIssue(fileID: "M/a.swift", line: 3)
                reportIssue("", fileID: "M/a.swift", line: 4)
                reportIssue(metadata: ["a": 1], fingerprint: "own")
                withIssueFingerprint("scope") { reportIssue() }
                reportIssue("a")
                reportIssue(OutOfStock(article: 1))
                withErrorResponders(.transform { _ in OutOfStock(article: 2) }) { reportIssue() }
                let send = ErrorResponder { report in
                    reporter.receive(report)
                    return .notHandled
                }
                withErrorResponders(send, .discard) {
                    Reported.assert(false, fileID: "M/a.swift", line: 5)
                    Reported.assert(false, "a", fileID: "M/a.swift", line: 6)
                }
            }
            let isFlushed = try await fixture.delivery.flushed(within: .seconds(60))
            #expect(isFlushed)
            let fingerprints = fixture.collector?.stored.map(\.record.fingerprint)
            #expect(
                fingerprints == ["M/a.swift:3", "M/a.swift:4", "own", "scope", nil, nil, nil, "M/a.swift:5", nil])
        }
    }

    @Test("A record above the daemon's size limit is truncated, not lost", arguments: ["x", "\u{1}", "ä"])
    func oversize(letter: String) async throws {
        try await CollectorFixture.with { fixture in
            let text = String(repeating: letter, count: 300_000)
            let message = fixture.reporter.submit(IssueReport(text))
            let metadata = fixture.reporter.submit(IssueReport("short", metadata: ["text": .init(text), "ok": 1]))
            var long = IssueReport("of a long domain")
            long.domain = text
            let domain = fixture.reporter.submit(long)
            let beside = fixture.reporter.submit(IssueReport("beside"))
            _ = try await message.stored()
            _ = try await metadata.stored()
            _ = try await domain.stored()
            _ = try await beside.stored()

            let records = fixture.collector?.stored.map(\.record) ?? []
            #expect(records.count == 4)
            #expect(records.allSatisfy { $0.json.count <= 256 << 10 })
            #expect(records[0].message.count > 10_000)
            #expect(records[0].message.last == "…")
            #expect(text.hasPrefix(records[0].message.dropLast()))
            #expect(records[1].message == "short")
            #expect(records[1].metadata?["omitted_bytes"]?.asInteger ?? 0 > 300_000)
            #expect(records[1].metadata?["ok"]?.asInteger == 1)
            #expect(records[1].metadata?["text"] == nil)
            #expect(records[2].domain?.last == "…")
        }
    }
}
