import IssueProtocol
import IssueTestSupport
import Issues
import Testing

@Suite("Redaction of notes and reasons", .daemonLog)
struct NoteRedactionTests {
    private static let secret = "hunter2"
    private static let text = "same cause, password=hunter2"
    private static let stored = "same cause, password=[@password]"

    @Test("Reasons of corrections and silences, and notes of states and deployments, are stored without secrets")
    func notes() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report(
                ["User ann is gone", "User bob is gone"].map {
                    IssueRecord(message: $0, app: Application(name: "shop"))
                })
            let groups = try client.groups().map(\.id)
            let merge = MergeGroupsParameters(into: groups[0], groups: [groups[1]], reason: Self.text)
            #expect(try client.call(.mergeGroups, merge, returning: MergeGroupsReply.self).count == 1)
            let corrections = try client.call(
                .corrections, CorrectionsParameters(), returning: CorrectionsReply.self
            ).corrections
            #expect(corrections.map(\.reason) == [Self.stored])

            let muted = SetStateParameters(group: groups[0], state: .muted, note: Self.text)
            let group = try client.call(.setState, muted, returning: SetStateReply.self).group
            #expect(group.stateChange?.note == Self.stored)

            let deploy = DeployParameters(app: "shop", version: "1.0", note: Self.text)
            #expect(try client.call(.deploy, deploy, returning: DeployReply.self).deployment.note == Self.stored)

            let silence = IssueSilence(
                apps: ["shop"], until: .now.advanced(by: .seconds(3600)), reason: Self.text)
            let added = try client.call(
                .addSilence, AddSilenceMessage(silence: silence), returning: AddSilenceMessage.self)
            #expect(added.silence.reason == Self.stored)
            #expect(!daemon.log.contains(Self.secret))
        }
    }
}
