import IssueProtocol
import Testing

@Suite("JSON codecs")
struct CodecTests {
    @Test("A value survives writing and reading, with all members or only the required ones")
    func roundTrips() throws {
        try check(IssueRecord.full)
        try check(IssueRecord(message: ""))
        try check(Samples.storedRecord)
        try check(Samples.minimalStoredRecord)
        try check(Samples.group)
        try check(Samples.minimalGroup)
        try check(Samples.storedRecord.sender)
        try check(IssueRecord.full.source ?? SourceLocation())
        try check(SourceLocation())
        try check(IssueRecord.full.app ?? Application())
        try check(Application())
        try check(Samples.filter, isClosed: true)
        try check(IssueFilter(), isClosed: true)
        try check(RecordReceipt.stored(id: "r-1"))
        try check(RecordReceipt.duplicate(id: "r-1"))
        try check(RecordReceipt.rejected(field: "source.line", reason: "must be an integer"))
        try check(RecordReceipt.rejected(field: nil, reason: "is larger than allowed"))
        try check(Samples.fate)
        try check(Samples.minimalFate)
        try check(Samples.ledger)
        try check(Samples.destination)
        try check(DestinationStatus(name: "", kind: ""))
        try check(Samples.suppression)
        try check(Samples.minimalSuppression)
        try check(Samples.store)
        try check(Samples.minimalStore)
        try check(Samples.status)
        try check(Samples.minimalStatus)
    }

    @Test("Parameters and replies survive writing and reading, with all members or only the required ones")
    func methods() throws {
        try check(ReportParameters(records: [.full, IssueRecord(message: "m")], producer: "p", sequence: 4711))
        try check(ReportParameters(records: []))
        try check(ReportReply(receipts: [.stored(id: "1"), .rejected(field: nil, reason: "r")]))
        try check(ListParameters(filter: Samples.filter, order: .worst, limit: 10, after: "c", sparkline: 24))
        try check(ListParameters())
        try check(ListReply(groups: [Samples.group, Samples.minimalGroup], next: "c"))
        try check(RecordsParameters(filter: Samples.filter, order: .oldest, limit: 1, after: "c", follow: true))
        try check(RecordsParameters())
        try check(RecordsReply(records: [Samples.storedRecord, Samples.minimalStoredRecord], next: nil))
        try check(IDParameters(id: "r-1"))
        try check(ShowParameters(id: "g-1", countsFates: true))
        try check(IssueDetails(record: Samples.storedRecord, group: Samples.group, fates: [Samples.fate]))
        try check(IssueDetails(record: nil, group: Samples.minimalGroup, fates: []))
        try check(
            IssueDetails(
                group: Samples.group, fates: [Samples.fate],
                groupFates: [GroupFates(destination: "d", counts: Ledger())]))
        try check(
            SetStateParameters(group: "g1", state: .muted, until: Samples.group.lastSeen, untilNewerVersion: true))
        try check(
            SetStateParameters(
                group: "g1", state: .resolved, resolvedIn: "2.4", isResolvedInNext: true, untilCount: 5, note: "n"))
        try check(HistogramParameters(filter: Samples.filter, bucket: .seconds(60), by: .group))
        try check(HistogramParameters(bucket: .seconds(60)))
        try check(
            HistogramReply(
                start: Samples.group.lastSeen, bucket: .seconds(60),
                series: [HistogramSeries(key: "shop", counts: [0, 1])],
                deploys: [Samples.deployment]))
        try check(SetStateParameters(group: "g1", state: .open))
        try check(SetStateReply(group: Samples.group))
        try check(
            DeployParameters(
                app: "shop", version: "1", at: Samples.group.lastSeen, commit: "c", note: "n", user: 1000))
        try check(DeployParameters(app: "shop", version: "1"))
        try check(DeployReply(deployment: Samples.deployment, isKnown: true))
        try check(DeploymentsParameters(app: "shop", limit: 1, after: "c"))
        try check(DeploymentsReply(deployments: [Samples.deployment, .initial], next: "c"))
        try check(MergeGroupsParameters(into: "g1", groups: ["g2"], reason: "r"))
        try check(MergeGroupsReply(group: Samples.group, count: 3, corrections: [7, 8]))
        try check(SplitGroupParameters(group: "g1", template: "a*", reason: "r"))
        try check(SplitGroupReply(groups: [Samples.group], corrections: [7]))
        try check(SplitByFieldParameters(group: "g1", field: .level, reason: "r", isDryRun: true))
        try check(SplitByFieldReply(groups: [Samples.group], values: ["a", ""], corrections: [7]))
        try check(AddGroupRuleParameters(group: "g1", template: "a*", reason: "r", isDryRun: true))
        let correction = GroupCorrection(
            id: 7, kind: .split, group: "g1", other: "g2", app: "shop", user: 1000, template: "a*", field: .domain,
            author: 1001, timestamp: Samples.group.lastSeen, reason: "r", hits: 3)
        try check(RemoveDeploymentParameters(app: "shop", version: "1", user: 7))
        try check(CorrectionsParameters(group: "g1"))
        try check(CorrectionsReply(corrections: [correction, GroupCorrection(id: 8, kind: .rule, group: "g1")]))
        try check(UndoCorrectionParameters(id: 7))
        try check(UndoCorrectionReply(groups: [Samples.group]))
        try check(
            GroupExplanation(
                group: Samples.group, fingerprint: "f", isChosen: true, rule: 2, template: "t", ids: ["g1"],
                corrections: [correction]))
        try check(SuggestMergesParameters(app: "shop", limit: 7))
        try check(
            SuggestMergesReply(suggestions: [
                MergeSuggestion(groups: ["g1", "g2"], titles: ["a", "b"], words: ["a", "b"], app: "shop")
            ]))
        try check(FlushParameters(destination: "logz", timeout: .milliseconds(1500)))
        try check(FlushParameters())
        try check(FlushReply(destinations: [Samples.destination]))
        try check(AwaitParameters(id: "r-1", destination: "logz", timeout: .zero))
        try check(AwaitReply(fates: [Samples.fate, Samples.minimalFate]))
        try check(
            ServiceInfo(vendor: "v", product: "p", version: "1", url: "u", interfaces: [CollectorInterface.name]))
        try check(InterfaceDescriptionParameters(interface: CollectorInterface.name))
        try check(InterfaceDescriptionReply(description: CollectorInterface.description))
    }

    @Test("Any record survives writing and reading", arguments: 0..<10)
    func records(seed: UInt64) throws {
        for index: UInt64 in 0..<100 { try check(IssueRecord.sample(seed * 100 + index)) }
    }

    @Test("For records and their parts, write(to:) writes the same JSON as writeObject(to:)")
    func handwritten() {
        checkWriting(IssueRecord(message: "m"))
        checkWriting(IssueRecord.full)
        for seed: UInt64 in 0..<200 { checkWriting(IssueRecord.sample(seed)) }
        for part in IssueRecord.full.backtrace { checkWriting(part) }
        for part in IssueRecord.full.causes { checkWriting(part) }
        checkWriting(IssueRecord.full.source ?? SourceLocation())
        checkWriting(IssueRecord.full.app ?? Application())
    }

    @Test("Every truncated record is an error")
    func truncated() {
        for seed: UInt64 in 0..<20 {
            let json = IssueRecord.sample(seed).json
            for end in json.indices {
                #expect(throws: FieldError.self) { try IssueRecord(json: Array(json[..<end])) }
            }
        }
        let json = Samples.storedRecord.json
        for end in json.indices {
            #expect(throws: FieldError.self) { try StoredRecord(json: Array(json[..<end])) }
        }
    }

    @Test("Damaged bytes are rejected or read as a value that can be written again")
    func damaged() throws {
        var chance = SeededGenerator(seed: 5)
        let record = Samples.storedRecord.json
        let call = Array(VarlinkCall(method: "a.B", parameters: record, more: true).message.dropLast())
        for _ in 0..<3000 {
            var damagedRecord = record
            var damagedCall = call
            for _ in 0..<Int.random(in: 1...3, using: &chance) {
                damagedRecord[Int.random(in: record.indices, using: &chance)] = .random(in: 0...255, using: &chance)
                damagedCall[Int.random(in: call.indices, using: &chance)] = .random(in: 0...255, using: &chance)
            }
            if let read = try? StoredRecord(json: damagedRecord) {
                #expect(try StoredRecord(json: read.json) == read)
            }
            if let read = try? VarlinkCall(decoding: damagedCall) {
                #expect(try VarlinkCall(decoding: Array(read.message.dropLast())) == read)
            }
        }
    }

    @Test("Absent values are not written")
    func absence() {
        #expect(text(IssueRecord(message: "m")) == #"{"message":"m"}"#)
        #expect(text(IssueFilter()) == "{}")
        #expect(text(Application()) == "{}")
        #expect(text(RecordReceipt.stored(id: "1")) == #"{"id":"1"}"#)
        #expect(text(RecordReceipt.duplicate(id: "1")) == #"{"id":"1","duplicate":true}"#)
        #expect(text(RecordReceipt.rejected(field: nil, reason: "r")) == #"{"rejected":{"reason":"r"}}"#)
        #expect(text(FlushParameters(timeout: .seconds(30))) == #"{"timeout":30000}"#)
    }

    private func check<Value: JSONCodable & Equatable>(
        _ value: Value, isClosed: Bool = false, sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) throws {
        #expect(try Value(json: value.json) == value, sourceLocation: sourceLocation)
        // This version ignores members of later versions, except in closed objects, and treats null as absent.
        var later = try JSONValue(json: value.json).with("also_later", nil)
        if !isClosed { later = later.with("later", ["a": [1, nil]]) }
        #expect(try Value(json: later) == value, sourceLocation: sourceLocation)
    }

    private func checkWriting<Value: JSONObjectCodable>(
        _ value: Value, sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) {
        var writer = JSONWriter()
        value.writeObject(to: &writer)
        #expect(text(value) == writer.text, sourceLocation: sourceLocation)
    }

    private func text(_ value: some JSONCodable) -> String { String(decoding: value.json, as: UTF8.self) }
}
