import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("Backtraces of reports")
struct BacktraceTests {
    @Test("Reports of level error and above include a backtrace with images, build IDs and offsets; others do not")
    func levels() async throws {
        try await CollectorFixture.with { fixture in
            for level in IssueLevel.allCases {
                _ = try await fixture.reporter.submit(IssueReport("m", level: level)).stored()
            }
            let records = fixture.collector?.stored.map(\.record) ?? []
            #expect(records.map { $0.backtrace.isEmpty } == [true, true, true, false, false])
            let frames = try #require(records.last?.backtrace)
            #expect(frames.count <= 16)
            let images = LoadedImage.all
            for frame in frames {
                let image = try #require(images.first { $0.buildID == frame.buildID })
                let offset = UInt(try #require(frame.offset))
                #expect(image.code.contains(image.base + offset))
                #expect(frame.image?.isEmpty == false)
            }
        }
    }

    @Test("A backtrace starts at the caller of the reporting function, not inside the library")
    func beginning() async throws {
        try await CollectorFixture.with { fixture in
            withIssueReporters([fixture.reporter]) { Self.reportTwice() }
            let receipt = fixture.reporter.submit(IssueReport("last"))
            _ = try await receipt.stored()
            let traces = (fixture.collector?.stored ?? []).prefix(2).map { $0.record.backtrace.map(\.offset) }
            try #require(traces.count == 2 && traces[0].count == traces[1].count)
            // The backtraces differ only in the frame of `reportTwice`.
            let differing = traces[0].indices.filter { traces[0][$0] != traces[1][$0] }
            #expect(differing.count == 1)
            #expect(differing.allSatisfy { $0 <= 2 })
        }
    }

    @inline(never)
    private static func reportTwice() {
        reportIssue("first", level: .error, metadata: [:])
        reportIssue("second", level: .error, metadata: [:])
    }

    private static func keys(of value: JSONValue) -> Int {
        let inner = (value.asArray ?? []) + (value.asObject ?? []).map(\.value)
        return inner.reduce(value.asObject?.count ?? 0) { $0 + keys(of: $1) }
    }

    private struct Failed: ReportableError {
        var causes: Range<Int>
        var message: String { "Failed \(causes)" }
        var underlyingErrors: [any Error] { causes.map { Failed(causes: $0..<$0) } }
    }

    @Test("A record with many metadata keys and causes has fewer frames, so that it does not exceed the key limit")
    func onCardinalityOverflow() async throws {
        try await CollectorFixture.with { fixture in
            for count in [1, 100, 155, 1000] {
                let keys = Dictionary(uniqueKeysWithValues: (0..<count).map { (IssueMetadata.Key("key \($0)"), 1) })
                let metadata = IssueMetadata(keys.mapValues { IssueMetadata.Value($0) })
                let report = IssueReport(Failed(causes: 0..<16), metadata: metadata)
                _ = try await fixture.reporter.submit(report).stored()
            }
            let records = fixture.collector?.stored.map(\.record) ?? []
            let frames = records.map(\.backtrace.count)
            #expect(frames.count == 4 && frames[3] == 5 && frames[0] > 5, "\(frames)")
            for record in records {
                #expect(Self.keys(of: try JSONValue(json: record.json)) <= 256)
                #expect(record.causes.count == 16)
            }
        }
    }
}
