import FakeLogz
import IssueBrowsing
import IssueProtocol
import IssueTestSupport
import Issues
import Testing

@Suite("Issue states", .daemonLog)
struct GroupStateTests {
    @Test("The next record reopens a resolved issue, and the regression is announced once despite kills")
    func regression() async throws {
        try await DaemonFixture.with { daemon in
            _ = try RawClient(path: daemon.socket).report("Broken")
            let browser = IssueBrowser(socket: daemon.socket)
            let id = try #require(try await browser.list().elements.first).id
            #expect(try await browser.resolve(id).state == .resolved)
            try daemon.kill()
            try daemon.start()
            #expect(try await browser.list(.init(groups: [id])).elements.map(\.state) == [.resolved])
            _ = try RawClient(path: daemon.socket).report("Broken", "Broken")
            try await eventually("the regression is announced") { daemon.log.ranges(of: "Issue regressed").count == 1 }
            try daemon.kill()
            try daemon.start()
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Broken")
            let group = try await browser.show(id).group
            #expect(group.state == .open)
            #expect(group.hasRegressed)
            #expect(group.records == 4)
            // A later announcement shows that the first one is not repeated.
            _ = try client.report("Another one")
            try await daemon.logs("Another one")
            #expect(daemon.log.ranges(of: "Issue regressed").count == 1)
        }
    }

    @Test("Records of a muted issue are withheld and not announced, even if a destination reads them after the mute")
    func muted() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener, "ConnectTimeout=1s")) { daemon in
            let client = try RawClient(path: daemon.socket)
            var heard = try client.report("Broken")
            _ = try client.awaitFates(of: heard[0])
            let browser = IssueBrowser(socket: daemon.socket)
            let id = try #require(try await browser.list().elements.first).id
            #expect(try await browser.mute(id).state == .muted)
            try listener.down()
            let critical = IssueRecord(message: "Broken", severity: .critical, app: Application(name: "shop"))
            let silent = try client.report("Broken", "Broken") + (client.report([critical]).map { try $0.storedID })
            #expect(try await browser.reopen(id).state == .open)
            heard += try client.report("Broken")
            try daemon.kill()
            try listener.up()
            try daemon.start()
            let second = try RawClient(path: daemon.socket)
            for record in silent { #expect(try second.awaitFates(of: record).map(\.outcome) == [.withheld]) }
            for record in heard { #expect(try second.awaitFates(of: record).map(\.outcome) == [.delivered]) }
            #expect(listener.compare(with: heard).isMet)
            #expect(try second.destination().ledger.withheld == 3)
            #expect(daemon.log.ranges(of: "Critical issue reported").count == 0)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("The state of an issue when a record is stored decides whether the record is withheld, despite kills")
    func kills() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener)) { daemon in
            let producer = "019aa3c5-0000-7000-8000-000000000003"
            var fates: [String: IssueFate.Outcome] = [:]
            let states: [GroupState] = [.open, .muted, .open, .muted, .resolved, .muted, .muted, .open]
            let known = try RawClient(path: daemon.socket)
            _ = try known.report("Broken")
            let id = try #require(try known.groups().first).id
            for (round, state) in states.enumerated() {
                let client = try RawClient(path: daemon.socket)
                let parameters = SetStateParameters(group: id, state: state)
                #expect(try client.call(.setState, parameters, returning: SetStateReply.self).group.state == state)
                if round % 3 == 1 {
                    try daemon.kill()
                    try daemon.start()
                }
                let records = (0..<20).map { _ in IssueRecord(message: "Broken", app: Application(name: "shop")) }
                let sequence = Int64(round * 20)
                var second = try RawClient(path: daemon.socket)
                try second.begin(.report, ReportParameters(records: records, producer: producer, sequence: sequence))
                if round % 2 == 1 {
                    // It is unknown whether the call was stored, so it is sent again.
                    try daemon.kill()
                    try daemon.start()
                    second = try RawClient(path: daemon.socket)
                } else {
                    _ = try second.reply()
                }
                for receipt in try second.report(records, producer: producer, sequence: sequence) {
                    fates[try receipt.storedID] = state == .muted ? .withheld : .delivered
                }
            }
            let client = try RawClient(path: daemon.socket)
            #expect(fates.count == states.count * 20)
            for (record, fate) in fates { #expect(try client.awaitFates(of: record).map(\.outcome) == [fate]) }
            let ledger = try client.destination().ledger
            #expect(ledger.balances)
            #expect(ledger.withheld == 80)
            #expect(try client.groups().first?.records == fates.count + 1)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("After an outage, a regression is sent before most of the ordinary records that are pending")
    func priority() async throws {
        let listener = try FakeLogz(FakeLogzOptions(tokens: [DaemonConfiguration.token]))
        defer { listener.stop() }
        try await DaemonFixture.with(.forwarding(to: listener, "BatchRecords=50\nConnectTimeout=1s")) { daemon in
            let client = try RawClient(path: daemon.socket)
            func reportOrdinary(_ count: Int) throws -> [String] {
                try client.report(
                    (0..<count).map { _ in IssueRecord(message: "The usual", app: Application(name: "shop")) }
                ).map { try $0.storedID }
            }
            var ids = try client.report("Broken", "The usual")
            try await eventually("the issues are known") { try client.destination().ledger.delivered == 2 }
            var filter = IssueFilter()
            filter.text = "Broken"
            let id = try #require(try client.groups(filter).first).id
            _ = try client.call(
                .setState, SetStateParameters(group: id, state: .resolved), returning: SetStateReply.self)
            try listener.down()
            ids += try reportOrdinary(1000)
            try await eventually("the outage is detected") { try client.destination().state == .waiting }
            let back = try client.report("Broken")
            try listener.up()
            try await eventually("all records have arrived") {
                try client.destination().ledger.pending == 0
            }
            // One batch was stored during the outage, and is sent first.
            let index = listener.accepted.compactMap(\.eventID).firstIndex { back.contains($0) }
            #expect(try #require(index) < 150)
            #expect(listener.compare(with: ids + back).isMet)
            #expect(try daemon.file.ledgerFaults == [])
        }
    }

    @Test("A mute ends when its time is over, even if nothing is reported")
    func expiry() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Broken")
            let browser = IssueBrowser(socket: daemon.socket)
            let id = try #require(try await browser.list().elements.first).id
            let end = IssueTimestamp.fromNow(.milliseconds(1500))
            let group = try await browser.mute(id, until: end)
            #expect(group.state == .muted)
            #expect(group.mutedUntil == end)
            try await eventually("the mute has ended") { try client.show(id).group.state == .open }
            #expect(IssueTimestamp.now.millisecondsSince1970 >= end.millisecondsSince1970)
            var filter = IssueFilter()
            filter.states = [.muted]
            #expect(try await browser.list(filter).elements.isEmpty)
        }
    }

    @Test("If an issue is resolved until a newer version, only a version newer than all earlier ones reopens it")
    func newerVersion() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            func report(_ version: String) throws {
                _ = try client.report([
                    IssueRecord(message: "Broken", app: Application(name: "shop", version: version))
                ])
            }
            try report("1.9")
            try report("1.10")
            let browser = IssueBrowser(socket: daemon.socket)
            let id = try #require(try await browser.list().elements.first).id
            try await browser.resolve(id, untilNewerVersion: true)
            try daemon.kill()
            try daemon.start()
            let second = try RawClient(path: daemon.socket)
            for version in ["1.9", "1.10", "1.2"] {
                _ = try second.report([
                    IssueRecord(message: "Broken", app: Application(name: "shop", version: version))
                ])
            }
            #expect(try await browser.show(id).group.state == .resolved)
            _ = try second.report([IssueRecord(message: "Broken", app: Application(name: "shop", version: "1.11"))])
            #expect(try await browser.show(id).group.hasRegressed)
        }
    }

    @Test("Setting the same state again without a note keeps the note, and with an empty note removes it")
    func notes() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Broken")
            let id = try #require(try client.groups().first).id
            func resolved(note: String?) throws -> String? {
                let parameters = SetStateParameters(group: id, state: .resolved, note: note)
                return try client.call(.setState, parameters, returning: SetStateReply.self).group.stateChange?.note
            }
            #expect(try resolved(note: "Vendor") == "Vendor")
            #expect(try resolved(note: nil) == "Vendor")
            #expect(try resolved(note: "") == nil)
            #expect(try resolved(note: nil) == nil)
        }
    }

    @Test("An invalid change of state is refused with the name of the parameter, and changes nothing")
    func refused() async throws {
        try await DaemonFixture.with { daemon in
            let client = try RawClient(path: daemon.socket)
            _ = try client.report("Broken")
            let id = try #require(try client.groups().first).id
            func refusal(_ parameters: SetStateParameters) throws -> CollectorError? {
                try client.refusal(of: .setState, parameters)
            }
            let past = IssueTimestamp(millisecondsSince1970: 1_000_000_000_000)
            #expect(try refusal(.init(group: id, state: .muted, until: past)) == .invalidParameter("until"))
            #expect(
                try refusal(.init(group: id, state: .open, untilNewerVersion: true))
                    == .invalidParameter("until_newer_version"))
            #expect(try refusal(.init(group: "g0000000000000000", state: .open)) == .notFound(id: "g0000000000000000"))
            let reply = try client.call("org.issued.Collector.SetState", #"{"group":"\#(id)","state":"closed"}"#)
            #expect(reply.error == "org.varlink.service.InvalidParameter")
            #expect(try client.groups().map(\.state) == [.open])
        }
    }
}
