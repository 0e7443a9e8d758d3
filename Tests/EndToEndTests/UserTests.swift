import FakeLogz
import IssueProtocol
import IssueTestSupport
import Testing

@Suite("Isolation of users", .daemonLog, .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
struct UserTests {
    private static let first: UInt32 = 4242
    private static let second: UInt32 = 4243
    private static let nobody: UInt32 = 65_534

    @Test("Users see only their own records, groups and counts with any query; root sees all")
    func apart() async throws {
        try await DaemonFixture.with { daemon in
            let first = try OtherUser.client(Self.first, of: daemon)
            let second = try OtherUser.client(Self.second, of: daemon)
            let own = try first.report("The same message", "Another one")
            let others = try second.report("The same message")

            #expect(Set(try first.allRecords().map(\.id)) == Set(own))
            #expect(try second.allRecords().map(\.id) == others)
            #expect(try first.groups().allSatisfy { $0.user == Self.first && $0.records == 1 })
            #expect(try second.groups().map(\.user) == [Self.second])
            // The same issue of two users is two groups with one fingerprint.
            let root = try RawClient(path: daemon.socket)
            #expect(try root.groups().count == 3)
            #expect(Set(try root.groups().filter { $0.title == "The same message" }.map(\.fingerprint)).count == 1)

            try await eventually("the status has the records") { try first.status().received == 2 }
            try await eventually("the status has the records") { try second.status().received == 1 }
            try await eventually("the status has the records") { try second.status().store.records == 1 }
            #expect(try second.status().connections == nil)
            try await eventually("the status has the records") { try root.status().received == 3 }

            var filter = IssueFilter()
            filter.users = [Self.first]
            #expect(try second.allRecords(filter).isEmpty)
            #expect(try second.groups(filter).isEmpty)
            filter = IssueFilter()
            filter.groups = [try #require(try first.groups().first).id]
            #expect(try second.allRecords(filter).isEmpty)
            #expect(try second.groups(filter).isEmpty)
        }
    }

    @Test("The owner and operators can set an issue's state; the issue does not exist to users who can't read it")
    func states() async throws {
        try await DaemonFixture.with { daemon in
            let first = try OtherUser.client(Self.first, of: daemon)
            let second = try OtherUser.client(Self.second, of: daemon)
            _ = try first.report("Mine")
            let group = try #require(try first.groups().first).id
            let muted = SetStateParameters(group: group, state: .muted)
            #expect(try second.refusal(of: .setState, muted) == .notFound(id: group))
            #expect(try first.groups().map(\.state) == [.open])
            #expect(try first.call(.setState, muted, returning: SetStateReply.self).group.state == .muted)
            let root = try RawClient(path: daemon.socket)
            let opened = SetStateParameters(group: group, state: .open)
            #expect(try root.call(.setState, opened, returning: SetStateReply.self).group.user == Self.first)
            #expect(try first.groups().map(\.state) == [.open])
        }
    }

    @Test("Users declare deployments of their own applications, operators those of any, and the user nobody none")
    func deployments() async throws {
        try await DaemonFixture.with { daemon in
            let first = try OtherUser.client(Self.first, of: daemon)
            let second = try OtherUser.client(Self.second, of: daemon)
            let root = try RawClient(path: daemon.socket)
            func deployed(_ client: RawClient) throws -> [String] {
                try client.call(.deployments, DeploymentsParameters(), returning: DeploymentsReply.self).deployments
                    .map { "\($0.user.map { "\($0)" } ?? "all") \($0.version)" }
            }
            func declare(_ client: RawClient, _ version: String, of user: UInt32? = nil) throws -> IssueDeployment {
                try client.call(
                    .deploy, DeployParameters(app: "shop", version: version, note: "n", user: user),
                    returning: DeployReply.self
                ).deployment
            }
            #expect(try declare(first, "1").author == Self.first)
            #expect(try declare(root, "2", of: Self.second).author == 0)
            #expect(try declare(root, "3").user == nil)
            let foreign = DeployParameters(app: "shop", version: "9", user: Self.first)
            #expect(try second.refusal(of: .deploy, foreign) == .denied)
            let nobody = try OtherUser.client(Self.nobody, of: daemon)
            #expect(try nobody.refusal(of: .deploy, DeployParameters(app: "shop", version: "9")) == .denied)
            let future = DeployParameters(app: "shop", version: "9", at: IssueTimestamp(millisecondsSince1970: .max))
            #expect(try root.refusal(of: .deploy, future) == .invalidParameter("at"))
            #expect(try deployed(first) == ["\(Self.first) 1"])
            #expect(try deployed(second) == ["\(Self.second) 2"])
            #expect(try deployed(root) == ["all 3", "\(Self.second) 2", "\(Self.first) 1"])
            // After a report of the application, its sender sees the deployments that were declared for all users.
            _ = try second.report([IssueRecord(message: "m", app: Application(name: "shop", version: "3"))])
            #expect(try deployed(second) == ["all 3", "\(Self.second) 2"])
        }
    }

    @Test("The owner and operators can correct the grouping; the issues do not exist to users who can't read them")
    func corrections() async throws {
        try await DaemonFixture.with { daemon in
            let first = try OtherUser.client(Self.first, of: daemon)
            let second = try OtherUser.client(Self.second, of: daemon)
            let root = try RawClient(path: daemon.socket)
            _ = try first.report("User ann is gone")
            _ = try first.report("User bob is gone")
            let groups = try first.groups().map(\.id)
            let merge = MergeGroupsParameters(into: groups[0], groups: [groups[1]])
            #expect(try second.refusal(of: .mergeGroups, merge) == .notFound(id: groups[0]))
            #expect(try first.call(.mergeGroups, merge, returning: MergeGroupsReply.self).count == 1)
            #expect(try first.groups().map(\.records) == [2])
            let listed = try root.call(.corrections, CorrectionsParameters(), returning: CorrectionsReply.self)
            let correction = try #require(listed.corrections.first)
            #expect(correction.author == Self.first)
            let undo = UndoCorrectionParameters(id: correction.id)
            #expect(try second.refusal(of: .undoCorrection, undo) == .notFound(id: "\(correction.id)"))
            #expect(try root.call(.undoCorrection, undo, returning: SplitGroupReply.self).groups.count == 2)
            // Groups of different users are not merged, not even by operators.
            _ = try root.report("User carl is gone")
            let own = try #require(try root.groups().first { $0.user != Self.first }).id
            let mixed = MergeGroupsParameters(into: own, groups: [groups[0]])
            guard case .invalidFilter? = try root.refusal(of: .mergeGroups, mixed) else {
                Issue.record("groups of two users were merged")
                return
            }
            let explained = try first.call(.explain, IDParameters(id: groups[0]), returning: GroupExplanation.self)
            #expect(explained.group.id == groups[0])
            #expect(try second.refusal(of: .explain, IDParameters(id: groups[0])) == .notFound(id: groups[0]))
        }
    }

    @Test("A reader sees other users' issues but can set the state only of their own")
    func readers() async throws {
        // The user bin, whose group on Debian has the same name and id.
        let reader: UInt32 = 2
        try await DaemonFixture.with("[Access]\nReaders=bin") { daemon in
            let client = try OtherUser.client(reader, of: daemon)
            _ = try RawClient(path: daemon.socket).report("Root's")
            _ = try client.report("Mine")
            for group in try client.groups() {
                let parameters = SetStateParameters(group: group.id, state: .muted)
                #expect(
                    try client.refusal(of: .setState, parameters) == (group.user == reader ? nil : .denied))
            }
            #expect(try client.groups().count == 2)
        }
    }

    @Test("Show and Await answer another user's id exactly like an unknown id")
    func foreignIDs() async throws {
        try await DaemonFixture.with { daemon in
            let first = try OtherUser.client(Self.first, of: daemon)
            let second = try OtherUser.client(Self.second, of: daemon)
            let record = try #require(try first.report("Mine").first)
            let group = try #require(try first.groups().first).id
            // A valid id that no record has.
            let absent = String(record.dropLast(4)) + (record.hasSuffix("7777") ? "7778" : "7777")
            for method in ["Show", "Await"] {
                func answer(_ id: String) throws -> VarlinkReply {
                    try second.call("org.issued.Collector.\(method)", #"{"id":"\#(id)","timeout":100}"#)
                }
                let missing = try answer(absent)
                let foreign = try answer(record)
                #expect(missing.error == "org.issued.Collector.NotFound")
                #expect(foreign.error == missing.error)
                #expect(
                    String(decoding: foreign.parameters, as: UTF8.self).replacing(record, with: absent)
                        == String(decoding: missing.parameters, as: UTF8.self))
            }
            #expect(
                try second.call("org.issued.Collector.Show", #"{"id":"\#(group)"}"#).error
                    == "org.issued.Collector.NotFound")
        }
    }

    @Test("A report with another user's fingerprint and application goes into a group of the reporting user")
    func groups() async throws {
        try await DaemonFixture.with { daemon in
            let first = try OtherUser.client(Self.first, of: daemon)
            let second = try OtherUser.client(Self.second, of: daemon)
            let record = IssueRecord(message: "x", app: Application(name: "shop"), fingerprint: "chosen")
            _ = try first.report([record])
            for _ in 1...5 { _ = try second.report([record]) }
            #expect(try first.groups().map(\.records) == [1])
            #expect(try second.groups().map(\.records) == [5])
        }
    }

    @Test("If another user uses a producer's id and numbers, their records are not duplicates")
    func producers() async throws {
        try await DaemonFixture.with { daemon in
            let producer = "019aa3c5-0000-7000-8000-000000000003"
            let first = try OtherUser.client(Self.first, of: daemon)
            let second = try OtherUser.client(Self.second, of: daemon)
            let record = IssueRecord(message: "Numbered")
            let own = try first.report([record], producer: producer, sequence: 1)
            let others = try second.report([record], producer: producer, sequence: 1)
            guard case .stored = try #require(others.first) else {
                Issue.record("\(others)")
                return
            }
            #expect(own != others)
        }
    }

    @Test("Only operators may flush")
    func flush() async throws {
        try await DaemonFixture.with { daemon in
            let first = try OtherUser.client(Self.first, of: daemon)
            #expect(try first.refusal(of: .flush, FlushParameters()) == .denied)
            #expect(try RawClient(path: daemon.socket).refusal(of: .flush, FlushParameters()) == nil)
        }
    }

    @Test("The user nobody can't read its records, but the reporting process learns their fates")
    func nobody() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let reporter = try OtherUser.client(Self.nobody, of: daemon)
            let stranger = try OtherUser.client(Self.nobody, of: daemon)
            let id = try #require(try reporter.report("Whose is this?").first)
            for client in [reporter, stranger] {
                #expect(try client.allRecords().isEmpty)
                #expect(try client.groups().isEmpty)
                #expect(try client.refusal(of: .show, ShowParameters(id: id)) == .notFound(id: id))
            }
            #expect(try reporter.awaitFates(of: id).map(\.outcome) == [.delivered])
            #expect(
                try stranger.refusal(of: .await, AwaitParameters(id: id, timeout: .milliseconds(100)))
                    == .notFound(id: id))
        }
    }

    @Test("Each user has a connection limit of their own")
    func connections() async throws {
        try await DaemonFixture.with("[Socket]\nMaxConnectionsPerUser=1") { daemon in
            let first = try OtherUser.client(Self.first, of: daemon)
            _ = try first.status()
            let again = try OtherUser.client(Self.first, of: daemon)
            guard case .busy = CollectorError(try again.reply()) else {
                Issue.record("The second connection of a user was not refused")
                return
            }
            _ = try OtherUser.client(Self.second, of: daemon).status()
            // Root may use all connections.
            let roots = try (1...3).map { _ in try RawClient(path: daemon.socket) }
            for root in roots { _ = try root.status() }
        }
    }
}
