import IssueProtocol
import IssueTestSupport
import Issues
import Synchronization
import Testing

/// The context of the current task, as a tracing library keeps it.
private enum Request {
    @TaskLocal static var context = IssueContext()
}

private struct Refused: Error {}

// Serialized because the closure is a setting of the process. In other suites, which run at the same time, the closure
// returns an empty context.
@Suite("The context of a report", .serialized)
struct ContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    private func withHook<Value>(
        _ hook: @escaping @Sendable () -> IssueContext = { Request.context }, _ body: () async throws -> Value
    ) async rethrows -> Value {
        IssueReporters.context = hook
        defer { IssueReporters.context = nil }
        return try await body()
    }

    @Test("The context closure is called in the reporting task, and its ids are sent with the record")
    func hook() async throws {
        try await CollectorFixture.with { fixture in
            await withHook {
                await withIssueReporters([fixture.reporter]) { () async -> Void in
                    await withTaskGroup { group in
                        for number in 0..<10 {
                            group.addTask {
                                Request.$context.withValue(
                                    IssueContext(traceID: Self.trace, spanID: Self.span, user: "user \(number)")
                                ) {
                                    if number % 2 == 0 { reportIssue("\(number)") } else { reportIssue(Refused()) }
                                }
                            }
                        }
                    }
                    reportIssue("outside")
                }
            }
            let isFlushed = try await fixture.delivery.flushed(within: .seconds(60))
            #expect(isFlushed)
            let contexts = fixture.collector?.stored.map(\.record.context) ?? []
            #expect(contexts.count == 11)
            #expect(Set(contexts.map(\.user)) == Set((0..<10).map { "user \($0)" } + [nil]))
            #expect(contexts.count { $0.traceID == Self.trace && $0.spanID == Self.span } == 10)
        }
    }

    @Test("The context closure is called for a report that is created directly, but not for a call without reporters")
    func none() async {
        let calls = Atomic(0)
        #expect(IssueReport("m").context.isEmpty)
        await withHook({
            // Other suites may report at the same time.
            if Request.context.user == "u" { calls.add(1, ordering: .relaxed) }
            return Request.context
        }) {
            Request.$context.withValue(IssueContext(user: "u")) {
                withIssueReporters([]) { reportIssue("m") }
                #expect(calls.load(ordering: .relaxed) == 0)
                #expect(IssueReport("m").context == IssueContext(user: "u"))
            }
        }
        #expect(calls.load(ordering: .relaxed) == 1)
        #expect(IssueReporters.context == nil)
    }

    @Test("An issue that the context closure reports reaches no reporter, and the closure is not called for it")
    func recursion() async {
        let sink = Collector()
        await withHook({
            if Request.context.user == "u" { reportIssue("While looking for the user (this line is expected)") }
            return Request.context
        }) {
            withIssueReporters([sink]) {
                Request.$context.withValue(IssueContext(user: "u")) { reportIssue("m") }
            }
        }
        #expect(sink.reports.map(\.message) == ["m"])
        #expect(sink.reports.map(\.context.user) == ["u"])
    }

    @Test("Ids of a report take precedence over those of the closure; the closure's span is used only with its trace")
    func precedence() async {
        await withHook {
            Request.$context.withValue(
                IssueContext(traceID: Self.trace, spanID: Self.span, requestID: "r", user: "u")
            ) {
                let site = IssueSite()
                #expect(IssueReport("m", site: site).context == Request.context)
                let other = String(Self.trace.reversed())
                #expect(
                    IssueReport("m", context: IssueContext(traceID: other, user: "v"), site: site).context
                        == IssueContext(traceID: other, requestID: "r", user: "v"))
                #expect(IssueReport(Refused(), context: IssueContext(user: "v"), site: site).context.requestID == "r")
                var report = IssueReport("m")
                report.context = IssueContext(requestID: "mine")
                #expect(report.context == IssueContext(requestID: "mine"))
            }
        }
    }

    @Test("A scope sets ids for its reports, also in child tasks; outer scopes and the closure set the other ids")
    func scopes() async {
        let sink = Collector()
        await withHook {
            await Request.$context.withValue(IssueContext(traceID: Self.trace, spanID: Self.span, user: "u")) {
                await withIssueReporters([sink]) {
                    await withIssueContext(IssueContext(requestID: "r", user: "v")) {
                        await withTaskGroup { group in group.addTask { reportIssue("outer") } }
                        withIssueContext(IssueContext(requestID: "s")) {
                            reportIssue(Refused(), "inner")
                            reportIssue(IssueReport("own", context: IssueContext(user: "w"), site: IssueSite()))
                        }
                        withIssueContext(IssueContext(traceID: String(Self.trace.reversed()))) { reportIssue("trace") }
                    }
                    reportIssue("outside")
                }
            }
        }
        func context(_ requestID: String?, _ user: String) -> IssueContext {
            IssueContext(traceID: Self.trace, spanID: Self.span, requestID: requestID, user: user)
        }
        #expect(
            sink.reports.map(\.context) == [
                context("r", "v"), context("s", "v"), context("s", "w"),
                IssueContext(traceID: String(Self.trace.reversed()), requestID: "r", user: "v"), context(nil, "u"),
            ])
    }

    @Test("Every id that a scope lacks comes from the scope around it, except the span if the traces differ")
    func everyField() {
        var outer = IssueContext()
        for field in IssueContext.Field.allCases { outer[field] = "\(field.key)" }
        for field in IssueContext.Field.allCases {
            let sink = Collector()
            var inner = IssueContext()
            inner[field] = "inner"
            #expect(!inner.isEmpty && inner.values.map(\.field) == [field])
            withIssueReporters([sink]) {
                withIssueContext(outer) { withIssueContext(inner) { reportIssue("m") } }
            }
            var expected = outer
            expected[field] = "inner"
            if field == .traceID { expected.spanID = nil }
            #expect(sink.reports.map(\.context) == [expected], "\(field)")
        }
    }

    @Test("Responders that are passed on as a value keep the ids of their scope")
    func passedOn() {
        let sink = Collector()
        let responders = withIssueReporters([sink]) {
            withIssueContext(IssueContext(requestID: "r")) { ErrorResponders.current }
        }
        responders.report(Refused())
        #expect(sink.reports.map(\.context) == [IssueContext(requestID: "r")])
    }

    @Test("Reports with different ids are not combined into one")
    func coalescing() async throws {
        try await CollectorFixture.with(faults: nil) { fixture in
            func send(_ user: String) {
                fixture.reporter.receive(
                    IssueReport("m", context: IssueContext(user: user), site: IssueSite(fileID: "M/a.swift", line: 1)))
            }
            for user in ["a", "a", "b", "b", "a"] { send(user) }
            let collector = try FakeCollector(path: fixture.path, faults: [])
            #expect(try await fixture.delivery.flushed(within: .seconds(60)))
            let records = collector.stored.map(\.record)
            try await onThread { collector.stop() }
            let counts = Dictionary(grouping: records, by: \.context.user).mapValues {
                $0.reduce(0) { $0 + ($1.count ?? 1) }
            }
            #expect(counts == ["a": 3, "b": 2])
        }
    }

    // MARK: Source locations

    @Test("A source location can be given at run time, and is sent like one from the compiler")
    func site() async throws {
        let file = ["Shop", "Till.swift"].joined(separator: "/")
        let site = IssueSite(fileID: file, line: 12, function: "open()".lowercased())
        #expect("\(site)" == "Shop/Till.swift:12")
        #expect(site.name == "12_Till.swift")
        #expect(site.file == "Shop/Till.swift" && site.functionName == "open()")
        #expect(IssueSite(fileID: "M/a.swift", line: 3, column: 4, function: "f()").file == "M/a.swift")
        try await CollectorFixture.with { fixture in
            withIssueReporters([fixture.reporter]) {
                reportIssue(IssueReport("The till is stuck", site: site))
                reportIssue(IssueReport(Refused(), "Opening", level: .critical, site: site))
                reportIssue(
                    IssueReport("no module", site: IssueSite(fileID: "main.swift".lowercased(), line: 1, column: 2)))
            }
            #expect(try await fixture.delivery.flushed(within: .seconds(60)))
            let records = fixture.collector?.stored.map(\.record) ?? []
            try #require(records.count == 3)
            #expect(
                records[0].source
                    == SourceLocation(fileID: "Shop/Till.swift", line: 12, function: "open()", module: "Shop"))
            #expect(records[1].source == records[0].source)
            #expect(records[1].message == "Opening: Refused()")
            #expect(records[1].template == "Opening")
            #expect(records[1].severity == .critical)
            #expect(records[2].source == SourceLocation(fileID: "main.swift", line: 1, column: 2))
        }
    }

    @Test("Changing the file or the function of a location that was given at run time leaves the other unchanged")
    func changedSite() {
        var site = IssueSite(fileID: "a/b.swift".lowercased(), line: 1, function: "f()".lowercased())
        #expect("\(site.fileID)" == "unknown/unknown" && "\(site.filePath)" == "unknown")
        site.fileID = "M/c.swift"
        #expect(site.file == "M/c.swift" && site.functionName == "f()")
        site = IssueSite(fileID: "a/b.swift".lowercased(), line: 1, function: "f()".lowercased())
        site.function = "g()"
        #expect(site.file == "a/b.swift" && site.functionName == "g()")
        site.function = nil
        #expect(site.file == "a/b.swift" && site.functionName == nil)
    }

    @Test("A report that was created beforehand goes to responders and reporters like any other")
    func finished() {
        let sink = Collector()
        let old = OldReporter()
        let report = IssueReport("m", site: IssueSite(fileID: "Shop/Till.swift".lowercased(), line: 12))
        withIssueReporters([sink, old]) {
            reportIssue(report)
            withErrorResponders(ErrorResponder { _ in .handled }) { reportIssue(report) }
        }
        withIssueReporters([]) { reportIssue(report) }
        #expect(sink.reports.map(\.site.file) == ["shop/till.swift"])
        #expect(old.issues.map(\.line) == [12])
    }

    @Test(
        "An issue fails the test at a location that was given at run time, even without a module or line",
        arguments: ["Shop/Till.swift", "main.swift", ""])
    func failing(file: String) {
        withKnownIssue {
            reportIssue(IssueReport("m", site: IssueSite(fileID: file, line: 0)))
        } matching: { issue in
            issue.sourceLocation?.fileID == (file.contains("/") ? file : "unknown/\(file)")
                && issue.sourceLocation?.line == 1
        }
    }
}
