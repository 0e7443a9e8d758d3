import Issues
import Testing

private struct Refused: Error {}

@Suite("Error reporting around operations")
struct ErrorReportingTests {
    @Test("A thrown error is reported with the message, and nil is returned")
    func thrown() async {
        let collector = Collector()
        await withIssueReporters([collector]) {
            let first: Int? = withErrorReporting("Paying") { throw Refused() }
            let second: Int? = withErrorReporting { () -> Int? in throw Refused() }
            let third: Int? = await withErrorReporting("Waiting") {
                await Task.yield()
                throw Refused()
            }
            let fourth: Int? = await withErrorReporting { () -> Int? in
                await Task.yield()
                throw Refused()
            }
            #expect([first, second, third, fourth] == [nil, nil, nil, nil])
        }
        #expect(collector.messages == ["Paying: Refused()", "Refused()", "Waiting: Refused()", "Refused()"])
    }

    @Test("The operation's result is returned without a nested optional")
    func returned() async {
        #expect(withErrorReporting { 7 } == 7)
        let flat: Int? = withErrorReporting { () -> Int? in 7 }
        #expect(flat == 7)
        #expect(
            await withErrorReporting {
                await Task.yield(); return 7
            } == 7)
    }

    @Test("A cancellation ends the operation and is not reported")
    func cancelled() async {
        let collector = Collector()
        await withIssueReporters([collector]) {
            withErrorReporting { throw CancellationError() }
            await withErrorReporting {
                await Task.yield()
                throw CancellationError()
            }
        }
        #expect(collector.messages.isEmpty)
    }

    @Test("The given reporters receive the error and all issues during the operation")
    func named() async {
        let outer = Collector()
        let inner = Collector()
        await withIssueReporters([outer]) {
            withErrorReporting(to: [inner]) {
                reportIssue("on the way")
                throw Refused()
            }
            await withErrorReporting(to: [inner]) {
                await Task.yield()
                throw Refused()
            }
        }
        #expect(outer.messages.isEmpty)
        #expect(inner.messages == ["on the way", "Refused()", "Refused()"])
    }
}
