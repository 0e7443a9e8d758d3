import Foundation
import IssueProtocol
import Testing

@Suite("Metrics")
struct MetricsTests {
    private static let now = IssueTimestamp("2026-11-21T12:00:00Z") ?? .epoch
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private func source(_ change: (inout DaemonStatus) -> Void = { _ in }) -> MetricSource {
        MetricSource(HealthReportTests.status(change), now: Self.now)
    }

    private func complete() -> MetricSource {
        source { status in
            status.destinations[0].oldestPending = Self.now
            status.destinations[0].lastSuccess = Self.now
            status.store.oldest = Self.now
            status.notifiers = [
                NotifierStatus(
                    name: "oncall", format: "json", state: .waiting, received: 6, pending: 1, delivered: 3, givenUp: 2,
                    oldestPending: Self.now)
            ]
        }
    }

    @Test("A family has comments, and one line for each sample")
    func openMetrics() {
        let text = MetricText.text(complete(), .openMetrics)
        #expect(
            text.contains(
                """
                # HELP issued_records_received Records received since the database was created, excluding those that a purge has erased.
                # TYPE issued_records_received counter
                issued_records_received_total 5

                """))
        #expect(
            text.contains(
                """
                # HELP issued_store_size_bytes The size of the database.
                # TYPE issued_store_size_bytes gauge
                # UNIT issued_store_size_bytes bytes
                issued_store_size_bytes 4096

                """))
        #expect(text.contains("\nissued_destination_records{destination=\"logzio\",fate=\"delivered\"} 5\n"))
        #expect(text.contains("\nissued_notifier_events_delivered_total{notifier=\"oncall\"} 3\n"))
        #expect(text.contains("\nissued_notifier_state{notifier=\"oncall\",state=\"waiting\"} 1\n"))
        #expect(text.hasSuffix("\n# EOF\n"))
    }

    @Test("In the format of Prometheus, a counter has its suffix in the comments, too, and there is no end marker")
    func prometheus() {
        let text = MetricText.text(complete(), .prometheus)
        #expect(
            text.contains(
                """
                # HELP issued_records_received_total Records received since the database was created, excluding those that a purge has erased.
                # TYPE issued_records_received_total counter
                issued_records_received_total 5

                """))
        #expect(!text.contains("# EOF") && !text.contains("# UNIT"))
    }

    @Test("Labels are escaped")
    func escaping() {
        let text = MetricText.text(source { $0.destinations[0].name = "a\"b\\c\nd" }, .openMetrics)
        #expect(text.contains(#"issued_destination_ledger_balanced{destination="a\"b\\c\nd"} 1"#))
        let active = MetricText.text(source { $0.destinations[0].name = "a\u{1B}[2J\r\u{202E}\u{2028}b" }, .prometheus)
        #expect(active.contains(#"issued_destination_ledger_balanced{destination="a?[2J???b"} 1"#))
    }

    @Test("A user who may not see all records gets the three public families only")
    func rights() {
        let values = MetricFamily.values(source { $0.store.bytes = nil })
        #expect(values.map(\.family.name) == ["up", "build_info", "start_time"])
        #expect(MetricFamily.values(complete()).count == MetricFamily.all.count)
    }

    @Test("While the database cannot be opened, there are no figures of the store")
    func closed() {
        let closed = source { status in
            status.store = StoreStatus(
                id: "", records: 0, groups: 0, bytes: nil, oldest: nil, freeBytes: nil, faults: ["the disk is gone"])
            status.notifiers = [NotifierStatus(name: "oncall", format: "json", state: .waiting)]
        }
        let text = MetricText.text(closed, .openMetrics)
        #expect(text.contains("\nissued_store_open 0\n") && text.contains("\nissued_health_status 2\n"))
        #expect(!text.contains("issued_store_records"))
        // The counts of notifiers are not known, and 0 would look like a reset of the counters.
        #expect(!text.contains("issued_notifier_events") && text.contains("issued_notifier_state"))
    }

    @Test("A daemon that is not reachable has one metric")
    func unreachable() {
        let lines = MetricText.unreachable(.openMetrics).split(separator: "\n")
        #expect(lines.filter { !$0.hasPrefix("#") } == ["issued_up 0"])
    }

    @Test("The number of samples depends only on the number of destinations and notifiers")
    func cardinality() {
        func count(_ change: (inout DaemonStatus) -> Void) -> Int {
            MetricFamily.values(source(change)).reduce(0) { $0 + $1.samples.count }
        }
        let one = count { _ in }
        let two = count { $0.destinations.append($0.destinations[0]) }
        let busy = count { status in
            status.suppressions = (0..<50).map {
                Suppression(
                    destination: "logzio", app: "app-\($0)", group: nil, reason: .groupRate, count: 1, since: Self.now)
            }
            status.store.groups = 1_000_000
        }
        func notifiers(_ number: Int) -> Int {
            count {
                $0.notifiers = [NotifierStatus](repeating: NotifierStatus(name: "a", format: "json"), count: number)
            }
        }
        #expect(busy == one)
        #expect(two > one && two - one < 20)
        #expect(notifiers(1) > one && notifiers(3) - notifiers(2) == notifiers(2) - notifiers(1))
    }

    @Test("Names follow the rules of Prometheus, and differ")
    func names() {
        for family in MetricFamily.all {
            #expect(family.sampleName.allSatisfy { $0 == "_" || ($0.isASCII && $0.isLowercase) }, "\(family.name)")
            #expect(family.help.hasSuffix("."), "\(family.name)")
            for suffix in ["_total", "_count", "_sum", "_bucket", "_created"] {
                #expect(!family.name.hasSuffix(suffix), "\(family.name)")
            }
        }
        #expect(Set(MetricFamily.all.map(\.name)).count == MetricFamily.all.count)
    }

    @Test("Documentation/Metrics.md has one row for each family, in order")
    func page() throws {
        let page = try String(contentsOf: Self.root.appending(path: "Documentation/Metrics.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `issued_") }.map(String.init)
        let expected = MetricFamily.values(complete()).map { family, samples in
            let labels = samples.first?.labels.map { "`\($0.name)`" }.joined(separator: ", ") ?? ""
            return "| `\(family.sampleName)` | \(family.kind.rawValue) | \(labels) | \(family.help) |"
        }
        #expect(rows == expected, "Replace the rows with:\n\(expected.joined(separator: "\n"))")
    }

    @Test("The alerts use only metrics and labels that exist")
    func alerts() throws {
        let file = Self.root.appending(path: "config/prometheus/alerts.yml")
        let rules = try String(contentsOf: file, encoding: .utf8)
        let known = Set(MetricFamily.all.map(\.sampleName))
        let used = rules.split(separator: "\n").filter { $0.contains("expr:") }.flatMap { line in
            line.split { !($0 == "_" || ($0.isASCII && $0.isLetter)) }.filter { $0.hasPrefix("issued_") }
        }
        #expect(used.count >= 10)
        for name in used { #expect(known.contains(String(name)), "\(name)") }
        let text = MetricText.text(complete(), .openMetrics)
        for label in ["fate=\"dead_lettered\"", "fate=\"expired\"", "state=\"paused\""] {
            #expect(rules.contains(label) && text.contains(label))
        }
    }

    @Test(
        "promtool accepts the metrics and the alerts",
        .enabled(if: Promtool.path != nil, "promtool is missing (Debian's package: prometheus)"))
    func checked() throws {
        let rules = Self.root.appending(path: "config/prometheus/alerts.yml").path
        #expect(try Promtool.output(["check", "rules", rules], input: "").contains("SUCCESS: 14 rules found"))
        for source in [complete(), source(), source { $0.store.bytes = nil }] {
            #expect(try Promtool.output(["check", "metrics"], input: MetricText.text(source, .prometheus)) == "")
        }
        #expect(try Promtool.output(["check", "metrics"], input: MetricText.unreachable(.prometheus)) == "")
        // promtool notices a mistake.
        #expect(try Promtool.output(["check", "metrics"], input: "issued_up 1\n").contains("no help text"))
    }
}

/// The program promtool of Debian's package prometheus.
private enum Promtool {
    /// The path of the program; nil if it is not installed.
    static let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .map { "\($0)/promtool" }.first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Runs the program, and returns what it prints.
    static func output(_ arguments: [String], input: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: try #require(path))
        process.arguments = arguments
        let (stdin, stdout) = (Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = stdout
        process.standardError = stdout
        try process.run()
        try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try stdin.fileHandleForWriting.close()
        let output = try stdout.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }
}
