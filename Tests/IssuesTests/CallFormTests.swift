import Issues
import Synchronization
import Testing

private struct Refused: Error, CustomStringConvertible {
    var description: String { "refused" }
}

private struct Article: CustomStringConvertible {
    var description: String { "lamp" }
}

private struct Plain {
    var number = 1
}

extension DefaultStringInterpolation {
    /// An interpolation that an application has defined for strings only.
    fileprivate mutating func appendInterpolation(hex number: Int) {
        appendLiteral(String(number, radix: 16))
    }
}

// IssuesSwift5Tests also compiles this file, in the language mode of Swift 5.
@Suite("The call forms of swift-issue-reporting 2.0")
struct CallFormTests {
    private func reports(of body: () -> Void) -> [IssueReport] {
        let collector = Collector()
        withIssueReporters([collector]) { body() }
        return collector.reports
    }

    private let name = "ann"
    private let optional: String? = "maybe"
    private let nothing: String? = nil
    private let isOpen = true

    @Test("A literal keeps its text, and its constant part is the template")
    func literals() {
        let found = reports {
            reportIssue("Closed")
            reportIssue("User \(name) not found")
            reportIssue("\(name)")
            reportIssue("{\(1)} of \(2.5), \(true) and \(Article()) {}", severity: .warning)
            reportIssue("a \(name)", level: .info)
            reportIssue("a \(name)", metadata: ["key": "value"])
            reportIssue("a \(name)", level: .critical, metadata: ["key": "value"])
            reportIssue(isOpen ? "open" : "closed")
            reportIssue(#function)
            reportIssue(
                """
                Lines of \(name)
                and \(2)
                """)
            reportIssue(#"raw \(name) \#(name)"#)
            reportIssue("")
        }
        #expect(
            found.map(\.message) == [
                "Closed", "User ann not found", "ann", "{1} of 2.5, true and lamp {}", "a ann", "a ann", "a ann",
                "open", "literals()", "Lines of ann\nand 2", #"raw \(name) ann"#, "Issue reported",
            ])
        #expect(
            found.map(\.template) == [
                "Closed", "User {} not found", "{}", "{{{}}} of {}, {} and {} {{}}", "a {}", "a {}", "a {}", "open",
                "literals()", "Lines of {}\nand {}", #"raw \(name) {}"#, nil,
            ])
        #expect(
            found.map(\.level) == [
                .error, .error, .error, .warning, .info, .error, .critical, .error, .error, .error, .error, .error,
            ])
    }

    @Test("A message that is not a literal is reported without a template")
    func others() {
        let found = reports {
            reportIssue()
            reportIssue(nil)
            reportIssue(name)
            reportIssue(optional)
            reportIssue(nothing)
            reportIssue("a" + name)
            reportIssue("a \(1)" + name)
            reportIssue(optional ?? "none")
            reportIssue(isOpen ? name : nil)
            reportIssue(isOpen ? "open" : nil)
            reportIssue(String(describing: 1))
            reportIssue(name.uppercased(), severity: .warning)
            reportIssue("number \(hex: 255)")
            reportIssue([name, "b"].joined(separator: " "), level: .info)
        }
        #expect(
            found.map(\.message) == [
                "Issue reported", "Issue reported", "ann", "maybe", "Issue reported", "aann", "a 1ann", "maybe", "ann",
                "open", "1", "ANN", "number ff", "ann b",
            ])
        #expect(found.filter { $0.template != nil }.map(\.message) == [])
    }

    @Test("An error is reported with and without a message")
    func errors() {
        let found = reports {
            reportIssue(Refused())
            reportIssue(Refused(), "Ordering")
            reportIssue(Refused(), "Ordering \(name)")
            reportIssue(Refused(), name)
            reportIssue(Refused(), nil)
            reportIssue(Refused(), optional)
            reportIssue(Refused(), "Ordering \(name)", level: .info)
            reportIssue(Refused(), metadata: ["key": "value"])
            reportIssue(Refused(), "", level: .info)
            let error: any Error = Refused()
            reportIssue(error)
            reportIssue("\(error)")
        }
        #expect(
            found.map(\.message) == [
                "refused", "Ordering: refused", "Ordering ann: refused", "ann: refused", "refused", "maybe: refused",
                "Ordering ann: refused", "refused", "refused", "refused", "refused",
            ])
        #expect(
            found.map(\.template) == [
                nil, "Ordering", "Ordering {}", nil, nil, nil, "Ordering {}", nil, nil, nil, "{}",
            ])
    }

    @Test("A value in a message has the same text as in a string")
    func values() {
        let tuple = (1, "a")
        let nested: Int?? = 3
        let found = reports {
            reportIssue("\(name) \(name.prefix(2)) \(Character("c")) \(name.first!)")
            reportIssue("\(Int8(-3)) \(UInt64.max) \(0.1) \(Float(1e20)) \(Double.infinity) \(-0.0)")
            reportIssue("\(Plain()) \([1, 2]) \(["k": 1]) \(tuple) \(Plain.self) \(Refused())")
            reportIssue("\(String(describing: optional)) \(String(describing: nested)) \(optional, default: "none")")
            reportIssue("\(nothing, default: "none") \(IssueLevel.info) \(1...2) \(StaticString("s"))")
            reportIssue("\(Article() as Any) \(Article() as any CustomStringConvertible) \(\Plain.number)")
        }
        let expected = [
            "\(name) \(name.prefix(2)) \(Character("c")) \(name.first!)",
            "\(Int8(-3)) \(UInt64.max) \(0.1) \(Float(1e20)) \(Double.infinity) \(-0.0)",
            "\(Plain()) \([1, 2]) \(["k": 1]) \(tuple) \(Plain.self) \(Refused())",
            "\(String(describing: optional)) \(String(describing: nested)) maybe",
            "none \(IssueLevel.info) \(1...2) \(StaticString("s"))",
            "\(Article() as Any) \(Article() as any CustomStringConvertible) \(\Plain.number)",
        ]
        #expect(found.map(\.message) == expected)
        for report in found { #expect(report.template?.allSatisfy { "{} ".contains($0) } == true) }
    }

    @Test("withErrorReporting takes every form of a message")
    func throwing() async {
        let collector = Collector()
        await withIssueReporters([collector]) {
            withErrorReporting { throw Refused() }
            withErrorReporting("Loading") { throw Refused() }
            let number: Int? = withErrorReporting("Loading \(name)") { throw Refused() }
            let other: Int? = withErrorReporting(name) { () throws -> Int? in throw Refused() }
            let given = withErrorReporting("Loading", to: [collector]) { 7 }
            let later: Int? = await withErrorReporting("Loading \(name)") {
                await Task.yield()
                throw Refused()
            }
            let latest: Int? = await withErrorReporting(optional) { () async throws -> Int? in
                await Task.yield()
                throw Refused()
            }
            #expect(number == nil && other == nil && given == 7 && later == nil && latest == nil)
        }
        #expect(
            collector.messages == [
                "refused", "Loading: refused", "Loading ann: refused", "ann: refused", "Loading ann: refused",
                "maybe: refused",
            ])
        #expect(collector.reports.map(\.template) == [nil, "Loading", "Loading {}", nil, "Loading {}", nil])
    }

    @Test("unimplemented takes every form of a description, and a call's arguments are values of the template")
    func unimplementedForms() throws {
        let literal: @Sendable (Int) -> Int = unimplemented("Till.open", placeholder: 1)
        let interpolated: @Sendable () throws -> Void = unimplemented("Till \(name)")
        let variable: @Sendable (Int) -> Int = unimplemented(name, placeholder: 2)
        let variableThrowing: @Sendable () throws -> Int = unimplemented(name)
        let without: @Sendable (Int, Int) -> Void = unimplemented()
        let typed: @Sendable () throws(Refused) -> Int = unimplemented(name, throwing: Refused())
        let async: @Sendable () async throws -> Int = unimplemented(name)
        _ = async
        let found = reports {
            _ = literal(3)
            try? interpolated()
            _ = variable(4)
            _ = try? variableThrowing()
            without(5, 6)
            _ = try? typed()
            let value: Int = unimplemented("a \(name)", placeholder: 7)
            let other: Int = unimplemented(name, placeholder: 8)
            let last: Int = unimplemented(placeholder: 9)
            #expect(value + other + last == 24)
        }
        let places = " …\n\n  Defined in '{}' at:\n    {}"
        let call = places + "\n\n  Invoked with:\n    {}"
        #expect(
            found.map(\.template) == [
                "Unimplemented: Till.open" + call, "Unimplemented: Till {}" + call, nil, nil, "Unimplemented" + call,
                nil, "Unimplemented: a {}" + places, nil, "Unimplemented" + places,
            ])
        #expect(
            found.map { $0.message.prefix { $0 != "…" } } == [
                "Unimplemented: Till.open ", "Unimplemented: Till ann ", "Unimplemented: ann ", "Unimplemented: ann ",
                "Unimplemented ", "Unimplemented: ann ", "Unimplemented: a ann ", "Unimplemented: ann ",
                "Unimplemented ",
            ])
    }

    @Test("A failed assertion has the template of its reason")
    func assertions() {
        let found = Mutex<[IssueReport]>([])
        // Prevents the reporters from running and the assertions from trapping.
        withErrorResponders(.discard) {
            withErrorResponders(
                .receive { error in
                    found.withLock { $0.append(IssueReport(error)) }
                    return .notHandled
                }
            ) {
                Reported.assert(false, "no \(name)")
                Reported.assert(false, name)
                Reported.assert(false)
                Reported.assert("no \(2)") { false }
                Reported.assert(name) { false }
                Reported.assert { false }
                Reported.assertionFailure("never")
                Reported.assertionFailure(name)
                Reported.assertionFailure()
                Reported.precondition(true, "not reported \(name)")
                Reported.precondition(true, name)
                Reported.precondition(true)
            }
        }
        let reports = found.withLock { $0 }
        #expect(
            reports.map(\.message)
                == [
                    "no ann", "ann", "no reason", "no 2", "ann", "no reason", "never", "ann", "no reason",
                ])
        #expect(
            reports.map(\.template)
                == [
                    "no {}", nil, "no reason", "no {}", nil, "no reason", "never", nil, "no reason",
                ])
    }

    @Test("A report can be created from every form of a message")
    func created() {
        let found = [
            IssueReport("a \(name)", level: .info), IssueReport(name), IssueReport(Refused(), "a \(name)"),
            IssueReport(Refused()),
            IssueReport(Refused(), optional),
        ]
        #expect(found.map(\.message) == ["a ann", "ann", "a ann: refused", "refused", "maybe: refused"])
        #expect(found.map(\.template) == ["a {}", nil, "a {}", nil, nil])
    }

    @Test("A breadcrumb takes every form of a message")
    func breadcrumbs() {
        let found = reports {
            withBreadcrumbs {
                leaveBreadcrumb("a \(name)")
                leaveBreadcrumb(name, metadata: ["key": "value"])
                leaveBreadcrumb("a \(name, private: true)")
                reportIssue("b")
            }
        }
        #expect(found.first?.breadcrumbs.suffix(3).map(\.message) == ["a ann", "ann", "a <private>"])
    }
}
