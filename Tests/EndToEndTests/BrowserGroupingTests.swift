import Foundation
import IssueBrowsing
import IssueTestSupport
import Issues
import Testing

@Suite("IssueBrowser, corrections and deployments", .daemonLog)
struct BrowserGroupingTests {
    @Test("IssueBrowser suggests merges, explains issues, and adds and undoes merges, rules and splits")
    func corrections() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            for message in ["User ann is gone", "User bob is gone", "Disk full"] {
                _ = try client.report(message, app: "shop")
            }
            let browser = IssueBrowser(socket: daemon.socket)
            let ids = try await browser.list(order: .oldest).elements.map(\.id)
            #expect(ids.count == 3)
            let suggestion = try #require(try await browser.suggestMerges(app: "shop").first)
            #expect(suggestion.groups == Array(ids.prefix(2)))
            #expect(suggestion.words == ["ann", "bob"])

            let merged = try await browser.merge([ids[1]], into: ids[0], reason: "same person")
            #expect(merged.count == 1)
            #expect(merged.group.records == 2)
            let correction = try #require(try await browser.corrections().first)
            #expect(correction.kind == .merge && correction.group == ids[0] && correction.other == ids[1])
            #expect(correction.reason == "same person" && correction.app == "shop")
            #expect(try await browser.corrections(of: ids[2]) == [])
            #expect(try await browser.explain(ids[1]).corrections == [correction])
            #expect(Set(try await browser.undo(correction.id).map(\.id)) == Set(ids.prefix(2)))
            try await browser.merge([ids[1]], into: ids[0])
            #expect(try await browser.undoMerges(of: ids[0]).count == 2)

            #expect(try await browser.addRule("User * is gone", mergingInto: ids[2], dryRun: true).count == 2)
            #expect(try await browser.addRule("User * is gone", mergingInto: ids[2]).group.records == 3)
            let values = try await browser.split(ids[2], by: .title, dryRun: true)
            #expect(values.groups.isEmpty)
            #expect(values.values == ["User ann is gone", "User bob is gone", "Disk full"])
            #expect(try await browser.split(ids[2], template: "Disk*").map(\.records) == [1, 2])
            for correction in try await browser.corrections() { try await browser.undo(correction.id) }
            #expect(try await browser.list(order: .oldest).elements.map(\.id) == ids)
            #expect(try await browser.corrections() == [])
        }
    }

    @Test("IssueBrowser throws an error for corrections and deployments that are unknown, invalid or without effect")
    func refusals() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("Disk full", app: "shop")
            let browser = IssueBrowser(socket: daemon.socket)
            let id = try #require(try await browser.list().elements.first).id
            func code(_ body: () async throws -> Void) async -> IssueDeliveryError.Code? {
                do {
                    try await body()
                    return nil
                } catch {
                    return (error as? IssueDeliveryError)?.code
                }
            }
            #expect(await code { try await browser.merge(["g0000000000000000"], into: id) } == .notFound)
            #expect(await code { try await browser.split(id, template: "Disk*") } == .refused)
            #expect(await code { _ = try await browser.split(id, by: .domain) } == .refused)
            #expect(await code { try await browser.undoMerges(of: id) } == .refused)
            #expect(await code { try await browser.addRule("*", mergingInto: id) } == .refused)
            #expect(await code { try await browser.undo(77) } == .notFound)
            #expect(await code { try await browser.removeDeployment("shop", version: "1.0") } == .notFound)
            #expect(await code { try await browser.deploy("shop", version: "") } == .refused)
        }
    }

    @Test("IssueBrowser declares, lists and removes deployments")
    func deployments() async throws {
        try await DaemonFixture.with { daemon in
            let browser = IssueBrowser(socket: daemon.socket)
            let past = IssueTimestamp(millisecondsSince1970: 1_700_000_000_000)
            let first = try await browser.deploy("shop", version: "1.0", at: past, commit: "3f1c9d2", note: "Faster")
            #expect(first.isNew)
            #expect(first.deployment.deployedAt == past && first.deployment.commit == "3f1c9d2")
            #expect(first.deployment.note == "Faster" && !first.deployment.isObserved)
            try await browser.deploy("shop", version: "2.0")
            #expect(try await browser.deploy("shop", version: "2.0").isNew == false)
            let page = try await browser.deployments(of: "shop", limit: 1)
            #expect(page.elements.map(\.version) == ["2.0"])
            let rest = try await browser.deployments(of: "shop", after: page.next)
            #expect(rest.elements.map(\.version) == ["1.0"])
            #expect(try await browser.removeDeployment("shop", version: "2.0").version == "2.0")
            #expect(try await browser.deployments().elements.map(\.version) == ["1.0"])
        }
    }
}
