import IssueCore
import IssueProtocol
import IssueStore
import IssueTestSupport
import Testing

@testable import IssueDaemon

@Suite("Reading a report")
struct ReportReaderTests {
    private static func message(_ parameters: String) -> [UInt8] {
        Array(#"{"method":"org.issued.Collector.Report","parameters":\#(parameters)}"#.utf8)
    }

    @Test("A record that is nested too deeply is rejected with the limit for a record, however its report is read")
    func depth() throws {
        var limits = RecordLimits()
        limits.depth = 4
        var reader = ReportReader(limits: limits, seed: 1)
        var batch = RecordBatch()
        func parameters(_ metadata: String) -> String { #"{"records":[{"message":"m","metadata":\#(metadata)}]}"# }

        let deepest = Array(parameters(#"{"a":[[1]]}"#).utf8)
        let taken = try reader.read(deepest.span, token: 0, into: &batch)
        #expect(taken.rejected.isEmpty)
        let tooDeep = parameters(#"{"a":[[[1]]]}"#)
        let (inside, message) = (Array(tooDeep.utf8), Self.message(tooDeep))
        let call = try reader.read(inside.span, token: 0, into: &batch)
        #expect(call.rejected.map(\.rejection.field) == ["metadata"])
        #expect(call.rejected.map(\.rejection.reason) == ["the record is nested deeper than 4 levels"])
        let fast = try reader.readInOnePass(message.span, token: 0, into: &batch)
        #expect(fast?.call.rejected == call.rejected)
    }

    @Test("If the key `records` occurs twice, only the records of the last one are read")
    func recordsTwice() throws {
        let parameters = #"{"records":[{"message":"a"},{"massage":"b"}],"records":[{"massage":"c"},{"message":"d"}]}"#
        var reader = ReportReader(limits: RecordLimits(), seed: 1)
        var batch = RecordBatch()
        let call = try reader.read(Array(parameters.utf8).span, token: 0, into: &batch)
        #expect(call.records == 0..<1)
        #expect(call.rejected.map(\.index) == [0])
        #expect(batch.records.count == 1)
        var other = RecordBatch()
        let fast = try reader.readInOnePass(Self.message(parameters).span, token: 0, into: &other)
        #expect(fast?.call.records == call.records)
        #expect(fast?.call.rejected == call.rejected)
        #expect(other.bytes.count == batch.bytes.count)
    }

    @Test(
        "The producer and sequence of a call are read the same, whatever calls were read before it",
        arguments: 0..<4 as Range<UInt64>)
    func numbering(seed: UInt64) throws {
        let (one, other) = ("6f1c8a52-0d3e-4a57-9c1b-2f60d1a7e834", "6f1c8a52-0d3e-4a57-9c1b-2f60d1a7e835")
        let tails = [
            #""producer":"\#(one)","sequence":5"#, #""producer":"\#(one)","sequence":6"#, #""sequence":7"#, "",
            #""producer":"\#(other)","sequence":6"#, #" "producer" : "\#(other)", "sequence" : 9"#,
            #""sequence":1,"producer":"\#(one)""#, #""producer":"\#(one)","sequence":"5""#, #""producer":"\#(one)""#,
            #""producer":"\#(one)","sequence":-1"#, #""producer":null,"sequence":4"#,
            #""producer":"\#(one)","sequence":5,"producer":"\#(other)""#,
            #""later":[1],"producer":"\#(one)","sequence":8"#, #""producer":"\#(one)","sequence":null"#,
        ]
        var reader = ReportReader(limits: RecordLimits(), seed: 1)
        var generator = SeededGenerator(seed)
        for _ in 0..<150 {
            let tail = tails.randomElement(using: &generator) ?? ""
            var message = Self.message(#"{"records":[{"message":"a"}]\#(tail.isEmpty ? "" : ",")\#(tail)}"#)
            if Bool.random(using: &generator) { message.removeLast(Int.random(in: 0..<40, using: &generator)) }
            var fresh = ReportReader(limits: RecordLimits(), seed: 1)
            #expect(Self.outcome(message, &reader) == Self.outcome(message, &fresh), "\(tail)")
        }
    }

    private static func outcome(_ message: [UInt8], _ reader: inout ReportReader) -> String {
        var batch = RecordBatch()
        do throws(CollectorError) {
            let report = try reader.readInOnePass(message.span, token: 3, into: &batch)
            return "\(String(describing: report?.call)), \(batch.records.count)"
        } catch {
            return "\(error)"
        }
    }

    @Test("The keys of a record do not count towards the maximum number of keys in the rest of its call")
    func keys() throws {
        var limits = RecordLimits()
        limits.keys = 2
        var reader = ReportReader(limits: limits, seed: 1)
        for _ in 0..<2 {
            let id = "6f1c8a52-0d3e-4a57-9c1b-2f60d1a7e834"
            let message = Self.message(#"{"records":[{"message":"m","code":1}],"producer":"\#(id)","sequence":5}"#)
            var batch = RecordBatch()
            let report = try reader.readInOnePass(message.span, token: 0, into: &batch)
            #expect(report?.call.numbering?.sequence == 5)
        }
    }

    @Test("A report is read in one pass only if it begins exactly as most clients write it")
    func beginning() {
        func hasDefaultStart(_ message: [UInt8]) -> Bool { ReportReader.hasDefaultStart(message.span) }
        let message = Self.message(#"{"records":[]}"#)
        #expect(hasDefaultStart(message))
        #expect(!hasDefaultStart(Array(message.prefix(53))))
        #expect(!hasDefaultStart(Self.message("null")))
        #expect(!hasDefaultStart(Self.message(#" {"records":[]}"#)))
    }
}
