import FakeLogz
import IssueProtocol
import IssueTestSupport
import Issues
import Testing

@Suite("Explaining records that are not stored", .daemonLog)
struct ExplainTests {
    private func explain(
        _ record: IssueRecord, _ client: RawClient, user: UInt32? = nil, unit: String? = nil
    ) throws -> RecordForecast {
        try client.call(
            .explainRecord,
            ExplainRecordParameters(record: try JSONValue(json: record.json), user: user, unit: unit),
            returning: RecordForecast.self)
    }

    private func record(_ message: String, severity: IssueLevel = .error) -> IssueRecord {
        IssueRecord(message: message, severity: severity, app: Application(name: "shop", environment: "production"))
    }

    @Test("The forecast for a record stores nothing, and matches what happens when the record is reported")
    func forecast() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let settings = """
            GroupBurst=2
            GroupRefill=1/1d
            [Redaction]
            Email=mask
            [Notify oncall]
            URL=http://127.0.0.1:9/
            Severity=critical
            [Notify chat]
            URL=http://127.0.0.1:9/
            Units=shop*
            """
        try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
            let client = try RawClient(path: daemon.socket)
            var secret = record("Login of ann@example.net failed, password=hunter2")
            secret.metadata = try JSONValue(json: #"{"token":"hunter3-77","step":1}"#)
            let before = try explain(secret, client, unit: "shop.service")
            #expect(before.isNew && before.group == nil && before.events == ["new"])
            #expect(before.message == "Login of [@email] failed, password=[@password]")
            #expect(before.metadata?["token"]?.asString == "[@token]")
            #expect(before.redactions.map(\.rule) == ["password", "token", "email"])
            #expect(before.limits.map(\.limit) == ["new_groups"])
            #expect(before.limits[0].available == before.limits[0].burst)
            #expect(before.destinations.map(\.outcome) == ["forwarded"])
            // The daemon may still be starting its notifiers, but the answer follows the configuration.
            #expect(before.notifiers.map(\.reason) == ["Severity", nil])
            #expect(before.notifiers.map(\.isNotified) == [false, true])
            #expect(try explain(secret, client).notifiers.map(\.reason) == ["Severity", "Units"])
            try await eventually("the status has the records") { try client.status().store.records == 0 }
            #expect(try client.status().redactions.isEmpty)
            #expect(try client.groups().isEmpty)

            let ids = try client.report([secret, secret, secret, secret]).map { try $0.storedID }
            #expect(try client.awaitFates(of: ids[3]).map(\.outcome) == [.summarised])
            let shown = try client.show(ids[0])
            #expect(shown.group.id == before.groupID)
            #expect(shown.record?.message == before.message)
            #expect(shown.record?.record.metadata == before.metadata)
            let after = try explain(secret, client)
            #expect(!after.isNew && after.group?.records == 4 && after.events.isEmpty)
            #expect(after.destinations.map(\.outcome) == ["summarised"])
            #expect(after.destinations.map(\.reason) == ["group_rate"])
            #expect(after.destinations[0].limits.first { $0.limit == "group_rate" }?.available == 0)
            #expect(after.notifiers.map(\.reason) == ["no_event", "no_event"])
            #expect(after.limits.isEmpty)

            let group = shown.group.id
            let critical = try explain(
                record("Login of bob@example.net failed, password=x9", severity: .critical), client)
            #expect(critical.groupID == group && critical.events == ["critical"])
            #expect(critical.notifiers.map(\.isNotified) == [true, false])
            let end = IssueTimestamp.fromNow(.seconds(3600))
            let silence = IssueSilence(apps: ["shop"], until: end, reason: "test")
            let added = try client.call(
                .addSilence, AddSilenceMessage(silence: silence), returning: AddSilenceMessage.self)
            let silenced = try explain(record("Another", severity: .critical), client)
            #expect(silenced.notifiers[0].reason == "silenced" && silenced.notifiers[0].silence == added.silence.id)

            let muted = SetStateParameters(group: group, state: .muted)
            _ = try client.call(.setState, muted, returning: SetStateReply.self)
            let ofMuted = try explain(
                record("Login of bob@example.net failed, password=x9", severity: .critical), client)
            #expect(ofMuted.destinations.map(\.reason) == ["muted"])
            #expect(ofMuted.notifiers.map(\.reason) == ["muted", "muted"])
            var own = record("Own")
            own.reportable = false
            #expect(try explain(own, client).destinations.map(\.reason) == ["not_reportable"])
        }
    }

    @Test("An invalid record is refused with the reason instead of a forecast, and a reload changes the forecasts")
    func refusals() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            func refusal(_ json: String) throws -> CollectorError? {
                try client.refusal(of: .explainRecord, ExplainRecordParameters(record: try JSONValue(json: json)))
            }
            guard case .invalidRecord(nil, "message", _) = try refusal("{}") else {
                Issue.record("a record without a message was explained")
                return
            }
            guard case .invalidRecord = try refusal(#"{"message":1}"#) else {
                Issue.record("a record with a number as its message was explained")
                return
            }
            guard case .invalidRecord = try refusal("[1]") else {
                Issue.record("an array was explained")
                return
            }
            #expect(try explain(record("mail ann@example.net"), client).redactions.isEmpty)
            try daemon.configure("[Redaction]\nEmail=remove")
            try daemon.reload()
            try await eventually("the reload takes effect") {
                try explain(record("mail ann@example.net"), client).redactions
                    == [ForecastRedaction(rule: "email", action: "remove", count: 1)]
            }
        }
    }

    @Test(
        "Users learn nothing about the groups, limits and notifiers of others",
        .enabled(if: OtherUser.obstacle == nil, "\(OtherUser.obstacle ?? "")"))
    func users() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        let settings = "ApplicationRefill=1/1m\nGlobalRefill=1/1m\n[Notify oncall]\nURL=http://127.0.0.1:9/"
        try await DaemonFixture.with(.forwarding(to: listener, settings)) { daemon in
            let first = try OtherUser.client(4242, of: daemon)
            let second = try OtherUser.client(4243, of: daemon)
            let root = try RawClient(path: daemon.socket)
            let id = try first.report([record("Disk full")])[0].storedID
            let group = try first.show(id).group.id
            #expect(try explain(record("Disk full"), first).group?.id == group)
            let seen = try explain(record("Disk full"), second)
            #expect(seen.isNew && seen.group == nil && seen.user == 4243 && seen.otherUsers.isEmpty)
            #expect(seen.groupID != group)
            #expect(seen.notifiers.isEmpty)
            let limits = Set(seen.destinations.flatMap(\.limits).map(\.limit))
            #expect(limits == ["application_rate"])
            let foreign = ExplainRecordParameters(record: try JSONValue(json: record("Disk full").json), user: 4242)
            #expect(try second.refusal(of: .explainRecord, foreign) == .denied)
            // If root names no user, the forecast is for the only user with an application of this name. Root may name
            // any user.
            #expect(try explain(record("Disk full"), root).group?.id == group)
            #expect(try explain(record("Disk full"), root, user: 4243).isNew)
            #expect(try explain(record("Disk full"), root).notifiers.map(\.notifier) == ["oncall"])
            let nobody = try OtherUser.client(65_534, of: daemon)
            #expect(try explain(record("Disk full"), nobody).isNew)
        }
    }
}
