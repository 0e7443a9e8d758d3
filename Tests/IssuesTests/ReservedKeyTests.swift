import IssueProtocol
import Issues
import Testing

@Suite("Reserved metadata keys")
struct ReservedKeyTests {
    @Test("An application's value for a reserved key is moved to another key; a sentence under the key repairs says so")
    func renamed() async throws {
        try await CollectorFixture.with { fixture in
            let report = withBreadcrumbs {
                leaveBreadcrumb("before")
                return IssueReport("m", metadata: ["breadcrumbs": "of bread", "repairs": ["by hand"], "name": "x"])
            }
            _ = try await fixture.reporter.submit(report).stored()
            let metadata = try #require(fixture.collector?.stored.first?.record.metadata)
            #expect(metadata["metadata_breadcrumbs"]?.asString == "of bread")
            #expect(metadata["breadcrumbs"]?.asArray?.last?["message"]?.asString == "before")
            #expect(metadata["name"]?.asString == "x")
            #expect(
                metadata["repairs"]?.asArray?.compactMap(\.asString) == [
                    "by hand",
                    "breadcrumbs is reserved by the library: the application's value was moved to metadata_breadcrumbs",
                ])
        }
    }

    @Test("With too many keys, surplus values arrive as one text, under a key that the application does not use")
    func rest() async throws {
        try await CollectorFixture.with { fixture in
            var values = Dictionary(
                uniqueKeysWithValues: (0..<300).map { (IssueMetadata.Key("z\($0)"), IssueMetadata.Value($0)) })
            values["more"] = "theirs"
            _ = try await fixture.reporter.submit(IssueReport("m", metadata: IssueMetadata(values))).stored()
            let metadata = try #require(fixture.collector?.stored.first?.record.metadata)
            #expect(metadata["more"]?.asString == "theirs")
            #expect(metadata["more_"]?.asString?.contains("\"z99\":99") == true)
        }
    }
}
