import IssueProtocol
import Issues
import Synchronization
import Testing

private struct Refused: Error, CustomStringConvertible {
    var description: String { "refused" }
}

/// A value that must not be converted to text.
private struct Secret: CustomStringConvertible {
    var description: String {
        Issue.record("a private value was read")
        return "secret"
    }
}

@Suite("The text of an issue")
struct IssueTextTests {
    /// Runs a body that reports issues. Returns the records that the daemon receives.
    private func records(of body: @Sendable () -> Void) async throws -> [IssueRecord] {
        var received: [IssueRecord] = []
        try await CollectorFixture.with { fixture in
            withIssueReporters([fixture.reporter]) { body() }
            let isFlushed = try await fixture.delivery.flushed(within: .seconds(60))
            #expect(isFlushed)
            received = fixture.collector?.stored.map(\.record) ?? []
        }
        return received
    }

    @Test("The constant part of a text is sent as the template, and its values are sent as parts with their types")
    func typed() async throws {
        let records = try await records {
            let (name, count, share, isOpen) = ("ann", -3, 0.25, true)
            reportIssue("{\(name)} has \(count) of \(share): \(isOpen)")
            reportIssue("\(Double.infinity) \(Int.max) \(1e-7) \(Float(1e20))")
            reportIssue("Closed")
            reportIssue("a \(name)" + "b")
        }
        #expect(
            records.map(\.message) == [
                "{ann} has -3 of 0.25: true", "inf 9223372036854775807 1e-07 1e+20", "Closed", "a annb",
            ])
        #expect(records.map(\.template) == ["{{{}}} has {} of {}: {}", "{} {} {} {}", "Closed", nil])
        let parts: [[JSONValue]] = [
            ["ann", -3, .number("0.25"), true], ["inf", .integer(.max), .number("1e-07"), .number("1e+20")], [], [],
        ]
        #expect(records.map(\.parts) == parts)
    }

    @Test("A private value is neither read nor sent, and the template is the same as for other values")
    func hidden() async throws {
        let sent = try await records {
            for isPrivate in [true, false] {
                reportIssue("No account for \("ann@a.example", private: isPrivate) (\(7))")
                reportIssue(Refused(), "Login of \("ann", private: isPrivate)")
            }
            reportIssue("\(Secret(), private: true)")
            let (optional, nothing): (Secret?, Secret?) = (Secret(), nil)
            reportIssue("\(optional, private: true) and \(nothing, private: true)")
        }
        #expect(
            sent.map(\.message) == [
                "No account for <private> (7)", "Login of <private>: refused", "No account for ann@a.example (7)",
                "Login of ann: refused", "<private>", "<private> and <private>",
            ])
        #expect(
            sent.map(\.template) == [
                "No account for {} ({})", "Login of {}", "No account for {} ({})", "Login of {}", "{}", "{} and {}",
            ])
        #expect(sent.first?.parts == ["<private>", 7])
        for record in sent[..<2] { #expect(!String(decoding: record.json, as: UTF8.self).contains("ann")) }
    }

    @Test("A private value reaches no reporter, responder, breadcrumb or assertion")
    func stays() {
        let (collector, old) = (Collector(), OldReporter())
        let lines = Mutex<[String]>([])
        withIssueReporters([collector, old]) {
            reportIssue("a \(Secret(), private: true)")
            withErrorReporting("b \(Secret(), private: true)") { throw Refused() }
            withBreadcrumbs {
                leaveBreadcrumb("c \(Secret(), private: true)")
                reportIssue("f")
            }
            let closure: () -> Int = unimplemented("d \(Secret(), private: true)", placeholder: 1)
            _ = closure()
            withErrorResponders(.log { line in lines.withLock { $0.append(line) } }, .discard) {
                Reported.assertionFailure("e \(Secret(), private: true)")
            }
        }
        #expect(collector.messages.prefix(3) == ["a <private>", "b <private>: refused", "f"])
        #expect(collector.messages.dropFirst(3).map { $0.hasPrefix("Unimplemented: d <private> ") } == [true])
        #expect(collector.reports.map { $0.breadcrumbs.map(\.message) } == [[], [], ["c <private>"], []])
        #expect(
            old.issues.map(\.message) == [
                "a <private>", "Caught error: refused: b <private>", "f", collector.messages.last,
            ])
        #expect(lines.withLock { $0.map { $0.contains(": Assertion failed: e <private> ") } } == [true])
    }

    @Test("A text with many and long values has a complete message and template", arguments: [1, 3, 4, 5, 20, 64])
    func many(count: Int) async throws {
        for long in [1, 9000, 40_000] {
            let values = (0..<count).map { String(repeating: "v", count: $0 == 1 ? long : 1) + "\($0)" }
            var text = IssueText.StringInterpolation(literalCapacity: 0, interpolationCount: count)
            for value in values {
                text.appendLiteral("é ")
                text.appendInterpolation(value)
            }
            let message = IssueText(stringInterpolation: text)
            let report = IssueReport(message)
            #expect(report.message == values.map { "é \($0)" }.joined())
            #expect(report.template == String(repeating: "é {}", count: count))
        }
    }

    @Test("A template is not sent if it is longer, or has more values, than the daemon allows")
    func limits() async throws {
        let sent = try await records {
            for (count, length) in [(64, 1), (65, 1), (1, 1022), (1, 1023)] {
                var text = IssueText.StringInterpolation(literalCapacity: 0, interpolationCount: 0)
                for _ in 0..<count {
                    text.appendLiteral(String(repeating: "x", count: length))
                    text.appendInterpolation(1)
                }
                reportIssue(IssueText(stringInterpolation: text))
            }
        }
        #expect(sent.map { $0.template?.utf8.count } == [192, nil, 1024, nil])
        #expect(sent.map(\.parts.count) == [64, 0, 1, 0])
    }

    @Test("If a report's message is replaced with a different one, the report no longer has a template")
    func changed() {
        var report = IssueReport("a \(1)")
        #expect(report.template == "a {}")
        report.message = "a 1"
        #expect(report.template == "a {}")
        report.message = "b 1"
        #expect(report.template == nil)
    }

    @Test("A text can be part of another one")
    func nested() {
        let (inner, number) = ("user \("ann")" as IssueText, 7)
        #expect(IssueReport("Load \(inner): \(number)").template == "Load user {}: {}")
        #expect(IssueReport("Load \(inner): \(number)").message == "Load user ann: 7")
    }

    @Test("Reports with equal messages but different values are not combined")
    func coalesced() async throws {
        let sent = try await records {
            for (first, second) in [(1, 23), (12, 3), (12, 3)] { reportIssue("\(first)\(second)") }
        }
        #expect(sent.reduce(0) { $0 + ($1.count ?? 1) } == 3)
        #expect(Set(sent.map(\.parts)) == [[1, 23], [12, 3]])
    }
}
