import Issues
import Testing

private struct Secret: Error {
    private enum Kind { case inner }
    private let kind = Kind.inner
}

private struct Named: ReportableError {}

private struct Wrapped<Inner>: Error {}

@Suite("Names of private and local types")
struct TypeNameTests {
    @Test("A private or local type has the same name in every run, in the domain and in the message")
    func stable() {
        struct Local: Error {}
        let reports = [
            IssueReport(Secret()), IssueReport(Named()), IssueReport(Wrapped<Secret>()), IssueReport(Local()),
        ]
        #expect(
            reports.map(\.domain) == [
                "IssuesTests.Secret", "IssuesTests.Named", "IssuesTests.Wrapped<IssuesTests.Secret>",
                "IssuesTests.TypeNameTests.Local",
            ])
        #expect(reports[0].message == "Secret(kind: IssuesTests.Secret.Kind.inner)")
    }

    @Test(
        "Texts that only resemble the names of private types are unchanged",
        arguments: ["$", "(unknown context at $12", "a $5 (b)"])
    func others(text: String) {
        struct Saying: Error, CustomStringConvertible { var description: String }
        #expect(IssueReport(Saying(description: text)).message == text)
    }
}
