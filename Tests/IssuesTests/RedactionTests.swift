import IssueProtocol
import IssueTestSupport
import Issues
import Synchronization
import Testing

// Serialized because the rules are a setting of the process. Other suites run at the same time, so the rules affect
// only texts and keys that contain "xq".
@Suite("Redaction in the client", .serialized)
struct RedactionTests {
    private struct Refused: ReportableError {
        var message: String { "card xq4711 refused" }
        var userInfo: IssueMetadata { ["holder": "ann xq12"] }
    }

    /// Replaces words that begin with "xq".
    private static let marking = IssueRedaction.texts { text in
        guard text.contains("xq") else { return nil }
        return text.split(separator: " ", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("xq") ? "[@secret]" : String($0) }.joined(separator: " ")
    }

    private func with<Value>(
        _ rules: [IssueRedaction] = [marking, .keys("till-pin_xq", "badgeXQ")], _ body: () async throws -> Value
    ) async rethrows -> Value {
        IssueReporters.redaction = rules
        defer { IssueReporters.redaction = [] }
        return try await body()
    }

    private func reports(_ rules: [IssueRedaction]? = nil, _ body: () -> Void) async -> [IssueReport] {
        let sink = Collector()
        await with(rules ?? [Self.marking, .keys("till-pin_xq", "badgeXQ")]) {
            withIssueReporters([sink], operation: body)
        }
        return sink.reports
    }

    @Test("Rules apply to all texts of a report before a reporter receives it")
    func texts() async throws {
        let reports = await reports {
            withBreadcrumbs {
                leaveBreadcrumb("opened xq1", metadata: ["door": "xq2 of 3"])
                reportIssue(
                    Refused(), "Paying for xq3", metadata: ["list": ["a", "xq4"], "deep": ["xq5": "b"], "count": 5],
                    fingerprint: "pay xq6")
            }
            reportIssue(
                IssueReport(
                    "m", context: IssueContext(requestID: "xq7", user: "xq8"),
                    site: IssueSite(fileID: "Shop/Cart.swift", line: 1)))
        }
        try #require(reports.count == 2)
        let first = reports[0]
        #expect(first.message == "Paying for [@secret]: card [@secret] refused")
        #expect(
            first.metadata == [
                "list": ["a", "[@secret]"], "deep": ["[@secret]": "b"], "count": 5, "holder": "ann [@secret]",
            ])
        #expect(first.fingerprint == "pay [@secret]")
        #expect(first.breadcrumbs.last?.message == "opened [@secret]")
        #expect(first.breadcrumbs.last?.metadata == ["door": "[@secret] of 3"])
        #expect(reports[1].context.requestID == "[@secret]")
        #expect(reports[1].context.user == "[@secret]")
    }

    @Test("Rules apply to every id of the context that is not hexadecimal")
    func ids() async throws {
        var context = IssueContext()
        for field in IssueContext.Field.allCases where !field.isHexadecimal { context[field] = "xq\(field.key)" }
        let report = try #require(
            await reports { reportIssue(IssueReport("m", context: context, site: IssueSite())) }.first)
        #expect(report.context.values.map(\.field) == context.values.map(\.field))
        #expect(report.context.values.allSatisfy { $0.value == "[@secret]" })
    }

    @Test("Causes are redacted")
    func causes() async throws {
        struct Outer: ReportableError {
            var message: String { "outer" }
            var underlyingErrors: [any Error] { [Refused()] }
        }
        let report = try #require(await reports { reportIssue(Outer()) }.first)
        #expect(report.causes.map(\.message) == ["card [@secret] refused"])
    }

    @Test("A rule for a key replaces all values but null, at any depth, whatever the key's case and separators")
    func keys() async throws {
        let report = try #require(
            await reports {
                reportIssue(
                    "m",
                    metadata: [
                        "tillPinXQ": 4711, "a": ["BADGE_XQ": ["secret", "list"], "badge.xq": nil], "badgeXQs": "b",
                    ])
            }.first)
        #expect(
            report.metadata == [
                "tillPinXQ": "[@secret]", "a": ["BADGE_XQ": "[@secret]", "badge.xq": nil], "badgeXQs": "b",
            ])
    }

    @Test("Values in the message are replaced, and the template does not change")
    func template() async throws {
        let (name, number, empty) = ("xq1", 7, "")
        let reports = await reports {
            reportIssue("User \(name) not in \(number) tables")
            reportIssue("\(name)\(empty)\(number)")
            reportIssue("\(empty) \(name) {x} \(name)")
            reportIssue(Refused(), "Table \(number) of \(name)")
            reportIssue("Table \(number)")
        }
        try #require(reports.count == 5)
        #expect(reports[0].message == "User [@secret] not in 7 tables")
        #expect(reports[0].template == "User {} not in {} tables")
        #expect(reports[1].template == "{}{}{}")
        #expect(reports[2].message == " [@secret] {x} [@secret]")
        #expect(reports[2].template == "{} {} {{x}} {}")
        #expect(reports[3].message == "Table 7 of [@secret]: card [@secret] refused")
        #expect(reports[3].template == "Table {} of {}")
        #expect(reports[4].template == "Table {}")
    }

    @Test("If a constant part of the message is replaced, the report has no template")
    func changedTemplate() async throws {
        let name = "ann"
        let report = try #require(await reports { reportIssue("key xq17 of \(name)") }.first)
        #expect(report.message == "key [@secret] of ann")
        #expect(report.template == nil)
    }

    @Test("Values that rules replace reach neither the daemon nor standard error, even if beforeSend adds them")
    func daemon() async throws {
        let gate = SendGate()
        gate.beforeSend = { report in
            var report = report
            report.metadata["added"] = "xq5"
            return report
        }
        try await CollectorFixture.with { fixture in
            let delivery = Delivery(paths: [fixture.path], limits: CollectorFixture.quickLimits, gate: gate)
            defer { delivery.stop() }
            try await with {
                let reporter = DaemonReporter(delivery: delivery)
                withIssueReporters([reporter]) { reportIssue("first xq1", metadata: ["badgeXQ": 1]) }
                reporter.submit(IssueReport("second xq2"))
                withIssueReporters([fixture.reporter]) { reportIssue("third xq3") }
                let isFlushed = try await delivery.flushed(within: .seconds(60))
                #expect(isFlushed)
                let isEmpty = try await fixture.delivery.flushed(within: .seconds(60))
                #expect(isEmpty)
                let line = StandardErrorLine.text(IssueReport("said xq1", metadata: ["a": "xq2"]))
                #expect(line.hasSuffix("said [@secret] {\"a\":\"[@secret]\"}"))
            }
            let records = fixture.collector?.stored.map(\.record) ?? []
            #expect(Set(records.map(\.message)) == ["first [@secret]", "second [@secret]", "third [@secret]"])
            for record in records { #expect(!String(decoding: record.json, as: UTF8.self).contains("xq")) }
        }
    }

    @Test("Values in the reason of a failed assertion are replaced in the line of a log responder")
    func assertion() async {
        let lines = Mutex<[String]>([])
        await with {
            withErrorResponders(.log { line in lines.withLock { $0.append(line) } }, .discard) {
                Reported.assertionFailure("no xq1 left")
            }
        }
        #expect(lines.withLock { $0 }.count == 1)
        #expect(lines.withLock { $0.first }?.contains("no [@secret] left") == true)
        #expect(lines.withLock { $0.first }?.contains("xq") == false)
    }

    @Test("A reporter written for swift-issue-reporting 2.0 receives the redacted message")
    func plainReporter() async {
        let reporter = OldReporter()
        await with { withIssueReporters([reporter]) { reportIssue("plain xq1") } }
        #expect(reporter.issues.map(\.message) == ["plain [@secret]"])
    }

    @Test("Rules are not called for an issue that a rule reports; the issue's line on standard error omits its texts")
    func recursion() async throws {
        let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let texts = Mutex<[String]>([])
            let rule = IssueRedaction.texts { text in
                guard text.contains("xq") else { return nil }
                texts.withLock { $0.append(text) }
                reportIssue("\(text) is hard to read", metadata: ["key": "xq2"])
                return "[@secret]"
            }
            IssueReporters.redaction = [rule]
            let collector = Collector()
            withIssueReporters([collector]) { reportIssue("xq1") }
            #expect(collector.messages == ["[@secret]"])
            #expect(Set(texts.withLock { $0 }) == ["xq1"])
        }
        let lines = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(lines.contains(": error: Issue reported by a redaction rule (text omitted)\n"))
        #expect(!lines.contains("xq") && !lines.contains("hard to read"))
    }

    @Test("Rules apply in order, and a report is redacted once for all reporters")
    func order() async throws {
        let calls = Atomic(0)
        let first = IssueRedaction.texts { text in
            guard ["xq1", "[@token]"].contains(text) else { return nil }
            calls.add(1, ordering: .relaxed)
            return "xq2"
        }
        let second = IssueRedaction.texts { $0 == "xq2" ? "[@token]" : nil }
        let (one, other) = (Collector(), Collector())
        await with([first, second]) { withIssueReporters([one, other]) { reportIssue("m", metadata: ["key": "xq1"]) } }
        #expect((one.reports + other.reports).map(\.metadata) == [["key": "[@token]"], ["key": "[@token]"]])
        #expect(calls.load(ordering: .relaxed) == 1)
    }
}
