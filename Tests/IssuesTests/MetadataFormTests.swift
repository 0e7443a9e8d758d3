import Issues
import Testing

private struct Order: Encodable {
    var number = 7
}

private struct Refused: Error, CustomStringConvertible {
    var description: String { "refused" }
}

extension IssueMetadata.Key {
    fileprivate static let requestID: Self = "request_id"
}

// IssuesSwift5Tests also compiles this file, in the language mode of Swift 5.
@Suite("The call forms of severity, metadata and fingerprint")
struct MetadataFormTests {
    private let order = Order()
    private let name = "ann"
    private let attempt = 3
    private let nothing: Int? = nil
    private let labels = ["shop": "Rome", "till": "2"]
    private let error: any Error = Refused()

    private func reports(of body: () -> Void) -> [IssueReport] {
        let collector = Collector()
        withIssueReporters([collector]) { body() }
        return collector.reports
    }

    @Test("A metadata literal takes variables of any Encodable type next to literals")
    func variables() {
        let expected: IssueMetadata = [
            "order": ["number": 7], "name": "ann", "attempt": 3, "ratio": 0.5, "list": [1, 2], "none": nil,
            "text": "a 3",
        ]
        let found = reports {
            reportIssue(
                "a \(name)",
                metadata: [
                    "order": order, "name": name, "attempt": attempt, "ratio": 0.5, "list": [1, 2], "none": nothing,
                    "text": "a \(attempt)",
                ])
            reportIssue("b \(name)", metadata: ["order": order])
            reportIssue("c \(name)", level: .warning, metadata: ["order": order])
            reportIssue(name, metadata: ["order": order])
            reportIssue(error, metadata: ["order": order])
            reportIssue(error, "d \(name)", level: .info, metadata: ["order": order])
            reportIssue(error, name, metadata: ["order": order])
            reportIssue("e", metadata: [.requestID: attempt, "order": order])
            reportIssue("f", metadata: ["order": order, "none": nil])
        }
        #expect(found.first?.metadata == expected)
        #expect(found[1...6].map(\.metadata) == Array(repeating: ["order": ["number": 7]], count: 6))
        #expect(found[7].metadata == ["request_id": 3, "order": ["number": 7]])
        #expect(found[8].metadata == ["order": ["number": 7], "none": nil])
        #expect(
            found.map(\.template) == ["a {}", "b {}", "c {}", nil, nil, "d {}", nil, "e", "f"])
        #expect(
            found.map(\.level) == [.error, .error, .warning, .error, .error, .info, .error, .error, .error])
    }

    @Test("A dictionary variable can be given as metadata")
    func dictionaries() {
        let numbers = ["a": 1]
        let found = reports {
            reportIssue("a \(name)", metadata: labels)
            reportIssue("b \(name)", level: .warning, metadata: numbers)
            reportIssue(error, metadata: labels)
            reportIssue(error, "c \(name)", metadata: labels)
            reportIssue(name, metadata: labels)
            reportIssue(error, name, metadata: labels)
        }
        let expected: IssueMetadata = ["shop": "Rome", "till": "2"]
        #expect(found.map(\.metadata) == [expected, ["a": 1], expected, expected, expected, expected])
        #expect(found.map(\.template) == ["a {}", "b {}", nil, "c {}", nil, nil])
        #expect(found.suffix(2).map(\.message) == ["ann", "ann: refused"])
    }

    @Test("Metadata takes literals with nested objects, lists, nil, initializers and typed keys")
    func literals() {
        let found = reports {
            reportIssue("a", metadata: ["object": ["n": 1, "t": "x"], "none": nil, "list": [1, "b"]])
            reportIssue("a", metadata: ["order": .init(order), "n": 1])
            reportIssue("a", metadata: [.requestID: "x", "n": 1])
            reportIssue("a", metadata: [:])
            reportIssue("a", level: .info, metadata: [:])
            reportIssue(error, level: .info, metadata: [:])
            reportIssue("a", metadata: ["\(name)": 1, "ann": 2])
            reportIssue("a", metadata: ["\(name)": order, "ann": attempt])
        }
        let objects: [IssueMetadata] = [
            ["object": ["n": 1, "t": "x"], "none": nil, "list": [1, "b"]], ["order": ["number": 7], "n": 1],
            ["request_id": "x", "n": 1], [:], [:], [:], ["ann": 2], ["ann": 3],
        ]
        #expect(found.map(\.metadata) == objects)
    }

    @Test("Metadata of a scope can be created from variables, and a breadcrumb takes a literal with variables")
    func created() {
        let found = reports {
            withIssueMetadata(IssueMetadata(["order": order, "name": name])) { reportIssue("a") }
            withIssueMetadata(IssueMetadata(labels)) { reportIssue("a") }
            withBreadcrumbs {
                leaveBreadcrumb("b \(name)", metadata: ["order": order])
                leaveBreadcrumb(name, metadata: ["order": order])
                leaveBreadcrumb("c", metadata: [:])
                reportIssue("a")
            }
        }
        #expect(found.first?.metadata == ["order": ["number": 7], "name": "ann"])
        #expect(found.dropFirst().first?.metadata == ["shop": "Rome", "till": "2"])
        #expect(
            found.last?.breadcrumbs.suffix(3).map(\.metadata) == [
                ["order": ["number": 7]], ["order": ["number": 7]], [:],
            ])
    }

    @Test("A scope takes a literal with variables; scopes and breadcrumbs take a dictionary variable")
    func scopes() async {
        let collector = Collector()
        await withIssueReporters([collector]) {
            withIssueMetadata(["order": order, "name": name]) { reportIssue("a") }
            withIssueMetadata(labels) { reportIssue("a") }
            await withIssueMetadata(["order": order]) {
                await Task.yield()
                reportIssue("a")
            }
            await withIssueMetadata(labels) {
                await Task.yield()
                reportIssue("a")
            }
            withIssueMetadata([:]) { reportIssue("a") }
            withBreadcrumbs {
                leaveBreadcrumb("b \(name)", metadata: labels)
                leaveBreadcrumb(name, metadata: labels)
                reportIssue("a")
            }
        }
        let expected: IssueMetadata = ["shop": "Rome", "till": "2"]
        #expect(
            collector.reports.map(\.metadata) == [
                ["order": ["number": 7], "name": "ann"], expected, ["order": ["number": 7]], expected, [:], [:],
            ])
        #expect(collector.reports.last?.breadcrumbs.suffix(2).map(\.metadata) == [expected, expected])
    }

    @Test("Metadata and single metadata values can be encoded, and can be nested in other values")
    func encoded() {
        let metadata: IssueMetadata = [
            "list": [1, nil, true, "x", 2.5, .init(UInt64.max)], "object": ["a": ["b": "c"]],
        ]
        let value: IssueMetadata.Value = ["n": 1]
        let found = reports {
            reportIssue("a", metadata: ["metadata": metadata, "value": value, "order": order])
        }
        #expect(
            found.first?.metadata == ["metadata": .init(metadata), "value": ["n": 1], "order": ["number": 7]])
        struct Wrapper: Encodable {
            var metadata: IssueMetadata
        }
        #expect(
            IssueMetadata.Value(Wrapper(metadata: metadata))
                == ["metadata": .init(metadata)])
    }

    @Test("A severity can be one of the five levels or an IssueSeverity, as a literal or a variable")
    func severities() {
        let level = IssueLevel.info
        let severity = IssueSeverity.warning
        let isGrave = true
        let found = reports {
            reportIssue("a \(name)", severity: .critical)
            reportIssue("a \(name)", severity: .warning)
            reportIssue("a \(name)", severity: level)
            reportIssue("a \(name)", severity: severity)
            reportIssue("a \(name)", severity: IssueSeverity.error)
            reportIssue("a \(name)", severity: isGrave ? .error : .warning)
            reportIssue("a \(name)", severity: .debug, metadata: ["order": order])
            reportIssue(severity: .info)
            reportIssue(name, severity: severity)
            reportIssue(name, severity: .error)
            reportIssue(error, severity: .critical)
            reportIssue(error, "a \(name)", severity: .warning)
            reportIssue(error, name, severity: .info)
        }
        #expect(
            found.map(\.level) == [
                .critical, .warning, .info, .warning, .error, .error, .debug, .info, .warning, .error, .critical,
                .warning, .info,
            ])
        #expect(found[..<7].map(\.template) == Array(repeating: "a {}", count: 7))
        #expect(found[11].template == "a {}")
    }

    @Test("A fingerprint can be given in a call, a scope or a report, and the innermost one is used")
    func fingerprints() async {
        let collector = Collector()
        await withIssueReporters([collector]) {
            reportIssue("a", fingerprint: "call")
            reportIssue(name, level: .info, metadata: ["order": order], fingerprint: "call \(attempt)")
            reportIssue(error, fingerprint: "call")
            reportIssue(error, "a", metadata: labels, fingerprint: name)
            withIssueFingerprint("outer") {
                reportIssue("a")
                reportIssue("a", fingerprint: "call")
                reportIssue("a", fingerprint: "")
                withIssueFingerprint("inner") { reportIssue(error) }
                withIssueFingerprint(nil) { reportIssue("a") }
            }
            await withIssueFingerprint("async") {
                await Task.yield()
                reportIssue("a")
            }
            reportIssue("a")
        }
        #expect(
            collector.reports.map(\.fingerprint) == [
                "call", "call 3", "call", "ann", "outer", "call", "outer", "inner", nil, "async", nil,
            ])
        var report = IssueReport("a")
        report.fingerprint = "set"
        #expect(report.fingerprint == "set")
        let created = withIssueFingerprint("scope") {
            [
                IssueReport("a", fingerprint: "own"), IssueReport(name, fingerprint: "own"), IssueReport("a"),
                IssueReport(error, "a", fingerprint: "own"), IssueReport(error, fingerprint: ""),
                IssueReport("a", fingerprint: "own", site: IssueSite()),
                IssueReport(error, "a", fingerprint: "own", site: IssueSite()),
            ]
        }
        #expect(created.map(\.fingerprint) == ["own", "own", "scope", "own", "scope", "own", "own"])
    }

    @Test("A value can have a format, which does not change the template")
    func formats() {
        let found = reports {
            reportIssue("took \(1.0 / 3, format: .decimals(2)) s at \(255, format: .hex)")
            reportIssue("took \(-0.004, format: .decimals(2)) s at \(Int8(-1), format: .hex)")
            reportIssue("\(2.5, format: .decimals(0)) \(9.995, format: .decimals(3)) \(0.05, format: .decimals(1))")
            reportIssue("\(Double.infinity, format: .decimals(2)) \(1e300, format: .decimals(2))")
            reportIssue("by \(name, format: IssueTextFormat { $0.uppercased() })")
        }
        #expect(
            found.map(\.message) == [
                "took 0.33 s at 0xff", "took 0.00 s at -0x1", "3 9.995 0.1", "inf 1e+300", "by ANN",
            ])
        #expect(
            found.map(\.template) == [
                "took {} s at {}", "took {} s at {}", "{} {} {}", "{} {}", "by {}",
            ])
    }

    @Test("Both versions of withIssueReporters, synchronous and asynchronous, can be used as function values")
    func functionValues() async throws {
        let collector = Collector()
        let reporters: ([any IssueReporter], () async throws -> Int) async throws -> Int = withIssueReporters
        let synchronous: ([any IssueReporter], () throws -> Int) throws -> Int = withIssueReporters
        let first = try await reporters([collector]) {
            await Task.yield()
            reportIssue("a")
            return 1
        }
        let second = try synchronous([collector]) {
            reportIssue("b")
            return 2
        }
        #expect(first + second == 3)
        #expect(collector.messages == ["a", "b"])
    }
}
