import IssueProtocol
import Issues
import Testing

@Suite("Settings from the environment")
struct ProcessSettingsTests {
    private static func settings(_ variables: [String: String]) -> ProcessSettings {
        ProcessSettings { variables[$0] }
    }

    @Test("If the variables are missing or empty, the defaults apply")
    func defaults() {
        let settings = Self.settings(["ISSUED_LEVEL": "", "ISSUED_REPORTERS": ""])
        #expect(settings.level == .debug)
        #expect(settings.backtrace == .error)
        #expect(settings.reporters.map { "\(type(of: $0))" } == ["_DefaultReporter"])
        #expect(settings.warnings.isEmpty)
    }

    @Test("Variables set the level, the backtraces and, outside tests, the reporters")
    func chosen() {
        let settings = Self.settings([
            "ISSUED_LEVEL": "warning", "ISSUED_BACKTRACE": "all", "ISSUED_REPORTERS": "daemon, breakpoint",
        ])
        #expect(settings.level == .warning)
        #expect(settings.backtrace == .all)
        #expect(settings.reporters.map { "\(type(of: $0))" } == ["DaemonReporter", "_BreakpointReporter"])
        #expect(Self.settings(["ISSUED_REPORTERS": "none"]).reporters.isEmpty)
        // In tests, the list is ignored. Otherwise, the environment could make failing tests pass.
        let inTests = ProcessSettings(isTesting: true) { ["ISSUED_REPORTERS": "none", "ISSUED_LEVEL": "error"][$0] }
        #expect(inTests.reporters.count == 1)
        #expect(inTests.level == .error)
    }

    @Test("An invalid value produces a message and is ignored")
    func unknown() {
        let settings = Self.settings([
            "ISSUED_LEVEL": "loud", "ISSUED_BACKTRACE": "yes", "ISSUED_REPORTERS": "daemon,demon",
        ])
        #expect(settings.level == .debug)
        #expect(settings.reporters.map { "\(type(of: $0))" } == ["_DefaultReporter"])
        #expect(
            settings.warnings == [
                "ISSUED_LEVEL: invalid value 'loud'; expected one of: debug, info, warning, error, critical. The value is ignored.",
                "ISSUED_BACKTRACE: invalid value 'yes'; expected one of: none, error, all. The value is ignored.",
                "ISSUED_REPORTERS: invalid value 'demon'; expected one of: default, daemon, breakpoint, fatalError, none. The whole list is ignored.",
            ])
    }

    @Test("Reports below the level are withheld and counted, unless they have a receipt")
    func level() async throws {
        try await CollectorFixture.with { fixture in
            let delivery = Delivery(
                paths: [fixture.path], limits: CollectorFixture.quickLimits, gate: SendGate(level: .warning))
            defer { delivery.stop() }
            let reporter = DaemonReporter(delivery: delivery)
            for level in IssueLevel.allCases { reporter.receive(IssueReport("\(level)", level: level)) }
            _ = try await reporter.submit(IssueReport("waited for", level: .debug)).stored()
            let records = fixture.collector?.stored.map(\.record) ?? []
            #expect(Set(records.map(\.message)) == ["warning", "error", "critical", "waited for"])
            #expect(records.compactMap { $0.metadata?["withheld_before"]?.asInteger } == [2])
        }
    }
}
