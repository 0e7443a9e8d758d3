import Foundation
import IssueCommands
import IssueProtocol
import IssueTestSupport
import Issues
import Testing
import UnixIO

@Suite("issuectl health and metrics")
struct HealthTests {
    private static let fine = Fixtures.status(Fixtures.flushed(pending: 0, delivered: 8))

    @Test("If the daemon is healthy, health prints one word and exits with 0")
    func healthy() {
        let outcome = issuectl(["health"], .reply(Self.fine))
        #expect(outcome.output == "healthy\n" && outcome.errors.isEmpty)
        #expect(outcome.code == .success)
        #expect(outcome.calls == ["Status {}"])
    }

    @Test("If the daemon is degraded, health prints the reasons and exits with 1")
    func degraded() {
        let outcome = issuectl(
            ["health"], .reply(Fixtures.status(Fixtures.logzio, faults: "\"issues.db-1 was set aside\"")))
        #expect(
            outcome.output == """
                degraded: issues.db-1 was set aside
                  degraded: destination logzio is paused (the token was refused (401)); the oldest of 17 pending \
                records has waited 2 h

                """)
        #expect(outcome.code == .refused)
    }

    @Test("Options set the time after which a pending record makes the daemon degraded or failing")
    func thresholds() {
        func code(_ arguments: String...) -> Int32 {
            let late = Fixtures.flushed(pending: 2, delivered: 6, oldest: "2026-11-21T11:00:00.000Z")
            return issuectl(["health"] + arguments, .reply(Fixtures.status(late))).code.rawValue
        }
        #expect(code() == 1)
        #expect(code("--degraded-after", "2h") == 0)
        #expect(code("--failing-after", "30min") == 2)
        #expect(code("--failing-after", "soon") == 64)
        let help = issuectl(["health", "--help"]).output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(help.contains("(default 15min, or the time of --failing-after if that is shorter)"))
        #expect(code("--degraded-after", "2h", "--failing-after", "2h") == 0)
        #expect(code("--degraded-after", "2h", "--failing-after", "1h") == 64)
        #expect(code("--degraded-after", "7h") == 64)
        #expect(code("--failing-after", "10min") == 2)
    }

    @Test("If a destination has accepted nothing since its last dead letter, the daemon is degraded")
    func deadLetters() {
        let rejecting = Fixtures.flushed(pending: 0, delivered: 8)
            .replacing(#""requests""#, with: #""last_dead_letter":"2026-11-21T11:58:00.000Z","requests""#)
        let outcome = issuectl(["health"], .reply(Fixtures.status(rejecting)))
        #expect(
            outcome.output == """
                degraded: destination logzio has dead letters, the last 2 min ago, and has accepted nothing since: \
                see issuectl dead-letters

                """)
        #expect(outcome.code == .refused)
    }

    @Test("If the daemon is not reachable or does not reply, health prints failing and exits with 2")
    func unreachable() throws {
        let absent = issuectl(["health", "--socket", "/absent/socket"])
        #expect(absent.output.hasPrefix("failing: cannot reach the daemon at /absent/socket"))
        #expect(absent.code == .failing && absent.errors.isEmpty)
        let silent = issuectl(["health", "--json"], .failure(.timedOut))
        let report = try HealthReport(json: silent.output)
        #expect(report.verdict == .failing && report.findings.map(\.kind) == [.unreachable])
        #expect(silent.code == .failing)
        #expect(issuectl(["health"], .failure(.refused(.busy(retryAfter: .seconds(1))))).code.rawValue == 2)
    }

    @Test("With --json, the verdict and each reason have members of their own")
    func json() {
        #expect(
            issuectl(["health", "--json"], .reply(Self.fine)).output == #"{"verdict":"healthy","findings":[]}"# + "\n")
        let outcome = issuectl(["health", "--json"], .reply(Fixtures.status(faults: "\"a \\u001b[31mfault\"")))
        #expect(!outcome.output.contains("\u{1B}"))
        #expect(outcome.output.hasPrefix(#"{"verdict":"degraded","findings":[{"kind":"fault","verdict":"degraded","#))
    }

    @Test("Metrics are printed in the format that is asked for")
    func metrics() {
        let open = issuectl(["metrics"], .reply(Self.fine))
        #expect(open.output.contains("\nissued_records_received_total 1234567\n") && open.output.hasSuffix("# EOF\n"))
        #expect(open.code == .success)
        let classic = issuectl(["metrics", "--format", "prometheus"], .reply(Self.fine))
        #expect(classic.output.contains("# TYPE issued_records_received_total counter\n"))
        #expect(issuectl(["metrics", "--format", "xml"]).code == .usage)
        let json = issuectl(["metrics", "--json"], .reply(Self.fine)).output
        #expect(json.hasPrefix(#"{"metrics":[{"name":"issued_up","type":"gauge","samples":[{"value":1}]},"#))
        let lines = issuectl(["metrics", "--ndjson"], .reply(Self.fine)).output.split(separator: "\n")
        #expect(lines.first == #"{"name":"issued_up","type":"gauge","samples":[{"value":1}]}"#)
    }

    @Test("If the daemon is not reachable, the metrics say so, and the exit code is 69")
    func metricsWithoutDaemon() {
        let outcome = issuectl(["metrics", "--socket", "/absent/socket"])
        #expect(outcome.output.hasSuffix("\nissued_up 0\n# EOF\n"))
        #expect(outcome.code == .unavailable && outcome.errors.contains("cannot reach the daemon"))
        let family = #"{"name":"issued_up","type":"gauge","samples":[{"value":0}]}"#
        let json = issuectl(["metrics", "--json", "--socket", "/absent/socket"])
        #expect(json.output == #"{"metrics":[\#(family)]}"# + "\n" && json.code == .unavailable)
        #expect(issuectl(["metrics", "--ndjson", "--socket", "/absent/socket"]).output == family + "\n")
    }

    @Test("With --output, a file is replaced and nothing is printed")
    func file() throws {
        let folder = try ScratchFolder()
        let path = folder["issued.prom"]
        for content in ["old", "older"] {
            try content.write(toFile: path, atomically: false, encoding: .utf8)
            let outcome = issuectl(["metrics", "--output", path], .reply(Self.fine))
            #expect(outcome.code == .success && outcome.output.isEmpty)
            #expect(try String(contentsOfFile: path, encoding: .utf8).contains("\nissued_health_status 0\n"))
        }
        #expect(folder.names == ["issued.prom"])
        for format in ["--json", "--ndjson"] {
            let printed = issuectl(["metrics", format], .reply(Self.fine)).output
            #expect(issuectl(["metrics", format, "--output", path], .reply(Self.fine)).output.isEmpty)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == printed)
        }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o644)
        let missing = issuectl(["metrics", "--output", folder["missing/x.prom"]], .reply(Self.fine))
        #expect(missing.code == .refused && missing.errors.contains("cannot write"))
    }
}
