import Issues
import Testing

private struct Known: Error {}

@Suite("Known issues")
struct KnownIssueTests {
    @Test("What is reported, recorded or thrown is known, and fails nothing")
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

    @Test("What never comes fails the test, with the reason that was given")
    func missing() async {
        await withKnownIssue {
            withExpectedIssue("slow disk") {}
            await withExpectedIssue("slow disk") { await Task.yield() }
        } matching: {
            $0.description == "Known issue was not recorded (error): slow disk"
        }
    }

    @MainActor
    @Test("An asynchronous body runs from the main actor too")
    func mainActor() async {
        await withExpectedIssue {
            await Task.yield()
            reportIssue("known")
        }
    }
}
