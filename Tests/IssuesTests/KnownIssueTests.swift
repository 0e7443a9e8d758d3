import Issues
import Testing

private struct Known: Error {}

@Suite("Known issues")
struct KnownIssueTests {
    @Test("In withExpectedIssue, a reported issue, a recorded issue and a thrown error do not fail the test")
    func known() async {
        withExpectedIssue { reportIssue("known") }
        withExpectedIssue { Issue.record("known") }
        withExpectedIssue("for a reason") { throw Known() }
        withExpectedIssue(isIntermittent: true) {}
        await withExpectedIssue {
            await Task.yield()
            reportIssue("known")
        }
        await withExpectedIssue {
            await Task.yield()
            throw Known()
        }
        await withExpectedIssue(isIntermittent: true) { await Task.yield() }
    }

    @Test("A known issue that does not occur fails the test with the given reason")
    func missing() async {
        let matcher: KnownIssueMatcher = { $0.description == "Known issue was not recorded (error): slow disk" }
        withKnownIssue {
            withExpectedIssue("slow disk") {}
        } matching: {
            matcher($0)
        }
        await withKnownIssue {
            await withExpectedIssue("slow disk") { await Task.yield() }
        } matching: {
            matcher($0)
        }
    }

    @MainActor
    @Test("withExpectedIssue with an asynchronous body can be called on the main actor")
    func mainActor() async {
        await withExpectedIssue {
            await Task.yield()
            reportIssue("known")
        }
    }
}
