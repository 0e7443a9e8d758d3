import Issues
import Testing

private struct NotYet: Error, Equatable {}

@Suite("Unimplemented closures and values")
struct UnimplementedTests {
    @Test("Each kind of closure reports its call with location and arguments, then returns or throws")
    func closures() async {
        let line = #line + 1
        let plain: @Sendable (Int, String) -> Int = unimplemented("Till.open", placeholder: 3)
        let throwing: @Sendable () throws -> Void = unimplemented("Till.close")
        let typed: @Sendable (Int) throws(NotYet) -> Void = unimplemented(throwing: NotYet())
        let async: @Sendable () async -> Int = unimplemented(placeholder: 4)
        let asyncThrowing: @Sendable (Bool) async throws -> Int = unimplemented("Till.count")
        let asyncTyped: @Sendable () async throws(NotYet) -> Int = unimplemented(throwing: NotYet())
        let collector = Collector()

        await withIssueReporters([collector]) {
            #expect(plain(1, "a") == 3)
            let failure = #expect(throws: UnimplementedFailure.self) { try throwing() }
            #expect(failure?.description == "Till.close")
            #expect(throws: NotYet()) { try typed(9) }
            #expect(await async() == 4)
            await #expect(throws: UnimplementedFailure.self) { try await asyncThrowing(true) }
            await #expect(throws: NotYet()) { try await asyncTyped() }
        }

        #expect(collector.messages.count == 6)
        #expect(
            collector.messages.first == """
                Unimplemented: Till.open …

                  Defined in 'closures()' at:
                    IssuesTests/UnimplementedTests.swift:\(line)

                  Invoked with:
                    (1, "a")
                """)
        let ends = collector.messages.map { $0.split(separator: "\n").last ?? "" }
        #expect(ends == ["    (1, \"a\")", "    ()", "    9", "    ()", "    true", "    ()"])
    }

    @Test("A value reports an issue immediately and returns its placeholder")
    func value() {
        let collector = Collector()
        let line = #line + 1
        let number: Int = withIssueReporters([collector]) { unimplemented("a number", placeholder: 5) }
        #expect(number == 5)
        #expect(
            collector.messages == [
                """
                Unimplemented: a number …

                  Defined in 'value()' at:
                    IssuesTests/UnimplementedTests.swift:\(line)
                """
            ])
    }
}
