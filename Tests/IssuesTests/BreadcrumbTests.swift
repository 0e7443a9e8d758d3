import IssueProtocol
import Issues
import Testing

@Suite("Breadcrumbs")
struct BreadcrumbTests {
    @Test("Reports of level error and above include breadcrumbs, oldest first")
    func attached() {
        let collector = Collector()
        withIssueReporters([collector]) {
            withBreadcrumbs {
                withIssueMetadata(["request": 7]) { leaveBreadcrumb("asked", metadata: ["key": "a"]) }
                leaveBreadcrumb("missed")
                reportIssue("slow", level: .warning)
                reportIssue("failed")
                reportIssue("died", level: .critical)
            }
        }
        let crumbs = collector.reports.map { $0.breadcrumbs.map(\.message).suffix(2) }
        #expect(crumbs == [[], ["asked", "missed"], ["asked", "missed"]])
        #expect(collector.reports.last?.breadcrumbs.dropLast().last?.metadata == ["request": 7, "key": "a"])
    }

    @Test("The last thirty breadcrumbs are kept, and large ones are truncated")
    func bounds() throws {
        withBreadcrumbs {
            for number in 0..<100 { leaveBreadcrumb("crumb \(number)") }
            leaveBreadcrumb(
                String(repeating: "x", count: 10_000), metadata: ["text": .init(String(repeating: "y", count: 10_000))])
            let crumbs = IssueReport("m").breadcrumbs
            #expect(crumbs.count == 30)
            #expect(crumbs.first?.message == "crumb 71")
            #expect(crumbs.last?.message == String(repeating: "x", count: 512) + "…")
            #expect(crumbs.last?.metadata.description.utf8.count ?? .max < 100)
        }
    }

    @Test("withBreadcrumbs starts with a copy of the current breadcrumbs, and adds none to the outer scope")
    func ownTrail() async {
        await withBreadcrumbs {
            leaveBreadcrumb("outer")
            await withTaskGroup(of: [String].self) { group in
                for name in ["a", "b"] {
                    group.addTask {
                        await withBreadcrumbs {
                            leaveBreadcrumb(name)
                            await Task.yield()
                            return Array(IssueReport("m").breadcrumbs.map(\.message).suffix(2))
                        }
                    }
                }
                var trails: [[String]] = []
                for await trail in group { trails.append(trail) }
                #expect(Set(trails) == [["outer", "a"], ["outer", "b"]])
            }
            #expect(IssueReport("m").breadcrumbs.last?.message == "outer")
        }
    }

    @Test("The daemon receives breadcrumbs as metadata")
    func wire() async throws {
        try await CollectorFixture.with { fixture in
            withBreadcrumbs {
                leaveBreadcrumb("asked", metadata: ["key": "a"])
                fixture.reporter.receive(IssueReport("failed", metadata: ["till": 2]))
            }
            #expect(try await fixture.delivery.flushed(within: .seconds(60)))
            let metadata = try #require(fixture.collector?.stored.first?.record.metadata)
            let crumb = try #require(metadata["breadcrumbs"]?.asArray?.last)
            #expect(crumb["message"]?.asString == "asked")
            #expect(crumb["metadata"]?["key"]?.asString == "a")
            #expect(crumb["at"]?.asString?.hasSuffix("Z") == true)
            #expect(metadata["till"]?.asInteger == 2)
        }
    }
}
