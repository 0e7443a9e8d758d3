import Destinations
import IssueCore
import IssueProtocol
import Testing

@Suite struct TrimmingTests {
    /// Text that grows to six times its size when written as JSON.
    private static func control(_ count: Int) -> String { String(repeating: "\u{1}", count: count) }

    private func line(_ record: OutboundRecord) -> [UInt8] {
        var types = FieldTypes()
        return Golden.payload.line(of: record, types: &types)
    }

    /// A record in which every part exceeds the limits of a line.
    private static var enormous: OutboundRecord {
        let text = control(30_000)
        var record = IssueRecord(
            message: text, severity: .error, domain: text, code: 1, occurredAt: moment,
            source: SourceLocation(fileID: text, line: 1, function: text),
            app: Application(name: "a", version: text, environment: text, platform: "linux", network: text))
        record.backtrace = (0..<2_000).map { BacktraceFrame(symbol: "frame\($0)\(control(20))") }
        record.causes = (0..<500).map { (index: Int) in
            IssueCause(domain: "d\(index)", code: index, message: control(500))
        }
        record.metadata = .object((0..<40).map { .init("key\($0)", .string(control(20_000))) })
        return Samples.outbound(record, app: text, unit: text, repairs: Array(repeating: text, count: 50))
    }

    @Test("A text of 32,700 bytes stays; a longer one is reported, and cut between characters to at most 32,000 bytes")
    func texts() throws {
        for (unit, count) in [("a", 32_700), ("a", 32_701), ("é", 16_351), ("👩‍👩‍👧‍👦", 2_000), ("e\u{301}", 20_000)] {
            let text = String(repeating: unit, count: count)
            let value = try parsed(line(Samples.outbound(IssueRecord(message: text))))
            let sent = try #require(value["message"]?.asString)
            if text.utf8.count <= 32_700 {
                #expect(sent == text)
                #expect(value["truncated_fields"] == nil)
            } else {
                #expect(sent.utf8.count <= 32_000 && sent.utf8.count > 32_000 - unit.utf8.count)
                #expect(sent.count == sent.utf8.count / unit.utf8.count, "Only whole characters must remain")
                #expect(value["truncated_fields"] == ["message"])
            }
        }
        // A single endless character is cut as well.
        let marks = "e" + String(repeating: "\u{301}", count: 40_000)
        let value = try parsed(line(Samples.outbound(IssueRecord(message: marks))))
        #expect(value["message"]?.asString?.utf8.count ?? 0 >= 31_998)
    }

    @Test("A line that is too long loses the least important parts first, and reports them")
    func order() throws {
        var record = Samples.full
        record.own.record.metadata = .object((0..<10).map { .init("key\($0)", .string(Self.control(20_000))) })
        let bytes = line(record)
        expectWithinLimits(bytes)
        let value = try parsed(bytes)
        #expect(value["truncated_fields"] == ["linux.metadata"])
        #expect(value["linux.metadata"]?["key9"]?.asString == Self.control(1_000))
        #expect(value["causes"]?.asArray?.count == 2)

        record.own.record.metadata = ["a": 1]
        record.own.record.causes = (0..<90).map { _ in IssueCause(message: Self.control(300)) }
        let kept = try parsed(line(record))
        #expect(kept["linux.metadata"] == ["a": 1])
        #expect(kept["truncated_fields"] == ["causes"])
    }

    @Test("The line of a record whose parts all exceed the limits is within them, and keeps what identifies the record")
    func enormous() throws {
        let bytes = line(Self.enormous)
        expectWithinLimits(bytes)
        let value = try parsed(bytes)
        #expect(value["event_id"] == "0123456789ab-1")
        #expect(value["fingerprint"] == "9a41c07e55b2d310")
        #expect(value["code"] == 1)
        #expect(value["mobile"]?["build"] == -1)
        let names = try #require(value["truncated_fields"]?.asArray).compactMap(\.asString)
        for name in ["linux.metadata", "causes", "backtrace", "message"] { #expect(names.contains(name), "\(name)") }
        #expect(value["backtrace"]?.asString?.hasPrefix("frame0") == true)
    }

    @Test("A line with a thousand small members is within the limit of fields")
    func manyFields() throws {
        var record = Samples.full
        record.own.record.causes = (0..<1_000).map { IssueCause(domain: "d", code: $0, message: "m") }
        record.own.record.metadata = .object([
            .init("list", .array((0..<1_000).map { ["n": .integer($0)] })),
            .init("other", 1),
        ])
        let bytes = line(record)
        expectWithinLimits(bytes)
        #expect(try parsed(bytes)["linux.metadata"] == ["other": 1])
        #expect(try parsed(bytes)["causes"]?.asArray?.count == 100)
    }

    @Test("A summary with huge texts is within the limits")
    func summary() {
        var summary = Samples.summary
        summary.title = Self.control(100_000)
        summary.app = Self.control(100_000)
        summary.sampleIDs = Array(repeating: "0123456789ab-1", count: 10_000)
        expectWithinLimits(Golden.payload.line(of: summary))
    }

    @Test("A line that was too large for the destination is trimmed as far as possible, once")
    func cut() throws {
        var record = Samples.full
        record.own.record.message = String(repeating: "m", count: 20_000)
        record.own.record.metadata = .object((0..<5).map { .init("key\($0)", .string(Self.control(3_000))) })
        record.own.record.backtrace = (0..<500).map { BacktraceFrame(symbol: "frame\($0)") }
        let full = line(record)
        let cut = try #require(Golden.payload.cut(full))
        #expect(cut.count < full.count)
        expectWithinLimits(cut)
        let value = try parsed(cut)
        #expect(value["event_id"] == "0123456789ab-1")
        #expect(value["message"]?.asString?.utf8.count == 8_000)
        #expect(value["backtrace"]?.asString?.split(separator: "\n").count == 20)
        #expect(value["linux.metadata"] == nil)
        #expect(Golden.payload.cut(cut) == nil)
    }

    @Test("A small line or an invalid one cannot be trimmed", arguments: ["", "[]", "{", "7", "{}"])
    func nothingToCut(text: String) {
        #expect(Golden.payload.cut(Array(text.utf8)) == nil)
        #expect(Golden.payload.cut(line(Samples.minimal)) == nil)
        #expect(Golden.payload.cut(Golden.payload.line(of: Samples.summary)) == nil)
    }
}
