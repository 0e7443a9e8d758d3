import IssueCore
import IssueProtocol
import IssueStore
import Testing

@testable import IssueDaemon

@Suite("Reading the calls of a connection")
struct ConnectionIntakeTests {
    private static let producer = "6f1c8a52-0d3e-4a57-9c1b-2f60d1a7e834"

    private var reader = ReportReader(limits: RecordLimits(), seed: 1)
    private var intake = ConnectionIntake(messageBytes: 1 << 20)
    private var counts = ConnectionIntake.Counts()

    /// A report as most clients write it.
    private static func report(_ texts: String..., sequence: Int? = nil, more: String = "") -> String {
        let records = texts.map { #"{"message":"m","metadata":{"\#($0)":1}}"# }.joined(separator: ",")
        let number = sequence.map { #","producer":"\#(producer)","sequence":\#($0)"# } ?? ""
        return #"{"method":"org.issued.Collector.Report","parameters":{"records":[\#(records)]\#(number)}\#(more)}"#
    }

    /// The same report, written in another way.
    private static func unusual(_ texts: String..., sequence: Int? = nil, more: String = "") -> String {
        let records = texts.map { #"{"message":"m","metadata":{"\#($0)":1}}"# }.joined(separator: ",")
        let number = sequence.map { #""sequence":\#($0),"producer":"\#(producer)","# } ?? ""
        return #"{ "parameters":{\#(number)"records":[\#(records)]},"method":"org.issued.Collector.Report"\#(more)}"#
    }

    private static let query = #"{"method":"org.issued.Collector.List","parameters":{"limit":3},"oneway":true}"#

    private mutating func receive(_ messages: [String], room: Int = .max) -> ConnectionIntake.Stop {
        intake.frames.receive(messages.flatMap { Array($0.utf8) + [0] })
        return readCalls(room: room)
    }

    private mutating func readCalls(room: Int = .max) -> ConnectionIntake.Stop {
        counts = ConnectionIntake.Counts()
        return intake.readCalls(with: &reader, upTo: room, maxQueryBytes: 1000, &counts)
    }

    /// The replies that are ready, without the zero bytes that end them.
    private var replies: [String] {
        let bytes = intake.replies.unsent
        let all = bytes.indices.map { bytes[$0] }
        return all.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Hands over the calls that were read. Returns for each its token, the metadata of its records, its number or `-`,
    /// and how many of its records were rejected.
    private mutating func submitted() -> [String] {
        let process = ReportingProcess(
            connection: 2,
            sender: Sender(uid: 1, gid: 1, pid: 1, command: nil, executable: nil, unit: nil), startTime: 0)
        var calls: [String] = []
        intake.submit(of: process) { submission in
            calls = submission.eachCall.map { call in
                let texts = call.records.map { submission.batch.string(submission.batch.records[$0].metadata) }
                return
                    "\(call.token) \(texts.joined(separator: " ")) \(call.numbering.map { "\($0.sequence)" } ?? "-") \(call.rejected.count)"
            }
            return RecordBatch()
        }
        return calls
    }

    @Test("Reports are read the same whether they come together or alone, and however they are written")
    mutating func onePath() {
        let texts: [(String, String)] = [
            (Self.report("a", "b", sequence: 1), Self.unusual("a", "b", sequence: 1)),
            (Self.report("c", sequence: 3), Self.unusual("c", sequence: 3)),
            (Self.report("d"), Self.unusual("d")),
        ]
        var results: [[String]] = []
        for choice in 0..<8 {
            let messages = texts.enumerated().map { choice >> $0.offset & 1 == 0 ? $0.element.0 : $0.element.1 }
            for isTogether in [true, false] {
                intake = ConnectionIntake(messageBytes: 1 << 20)
                for run in isTogether ? [messages] : messages.map({ [$0] }) {
                    guard case .noMessage = receive(run) else {
                        Issue.record("Not all messages were read")
                        return
                    }
                }
                #expect(intake.state.openReports == 3)
                results.append(submitted())
            }
        }
        #expect(results[0] == [#"0 {"a":1} {"b":1} 1 0"#, #"1 {"c":1} 3 0"#, #"2 {"d":1} - 0"#])
        #expect(results.allSatisfy { $0 == results[0] })
    }

    @Test("A report or query with half of a surrogate pair is read with U+FFFD instead")
    mutating func loneSurrogates() {
        let query = #"{"method":"org.issued.Collector.Show","parameters":{"id":"\udc80"}}"#
        let messages = [Self.report(#"\udcff \ud83d\ude00"#, "b"), Self.unusual(#"\ud83d \\udc80"#), Self.report("c")]
        guard case .noMessage = receive(messages) else {
            Issue.record("Not all reports were read")
            return
        }
        #expect(counts.reports == 3 && counts.refusedRecords == 0)
        #expect(
            submitted() == [
                #"0 {"\ufffd \ud83d\ude00":1} {"b":1} - 0"#, #"1 {"\ufffd \\udc80":1} - 0"#, #"2 {"c":1} - 0"#,
            ])

        intake = ConnectionIntake(messageBytes: 1 << 20)
        guard case .query(let message, let envelope) = receive([query]) else {
            Issue.record("The query did not begin")
            return
        }
        #expect(intake.query(message, envelope).parameters == Array(#"{"id":"\ufffd"}"#.utf8))
    }

    @Test("The size of a report and the memory of its records count against the user's limit until it is answered")
    mutating func weight() {
        let message = Self.report("a")
        _ = receive([message, Self.unusual("b")])
        #expect(counts.reports == 2)
        let weight = MemoryLayout<DecodedRecord>.stride
        #expect(counts.bytes == message.utf8.count + Self.unusual("b").utf8.count + 2 * weight)
        var receipts = ReceiptWriter()
        let outcome = CallOutcome(
            connection: 2, token: 0, receipts: .run(first: RecordID(store: 7, row: 1), count: 2), calls: 2)
        let answer = intake.answer([outcome], 0..<1, with: &receipts)
        #expect(answer.bytes == counts.bytes)
        #expect(answer.action == .none)
        #expect(replies.count == 2)
        #expect(intake.state.openReports == 0)
    }

    @Test("After a refused report, later numbers are refused until it is sent again, and their records are dropped")
    mutating func numberGate() {
        for later in [Self.report("b", sequence: 2), Self.unusual("b", sequence: 2)] {
            intake = ConnectionIntake(messageBytes: 1 << 20)
            let bad = Self.report(sequence: 1)
            _ = receive([bad, later])
            #expect(counts.refusedRecords == 2)
            #expect(counts.reports == 0)
            #expect(counts.bytes == 0)
            #expect(intake.batch.records.isEmpty)
            #expect(intake.batch.bytes.count == 0)
            #expect(replies.map { $0.contains("InvalidRecord") } == [true, false])
            #expect(replies.map { $0.contains("Busy") } == [false, true])
            _ = receive([Self.report("a", sequence: 1), later])
            #expect(counts.refusedRecords == 0)
            #expect(submitted() == [#"2 {"a":1} 1 0"#, #"3 {"b":1} 2 0"#])
        }
    }

    @Test("If the writer refuses a report, reports with later numbers are refused, too")
    mutating func writerRefuses() {
        _ = receive([Self.report("a", sequence: 1)])
        #expect(submitted().count == 1)
        let refusal = Refusal(connection: 2, token: 0, sequence: 1, error: .noSpace)
        #expect(intake.refuse(refusal, .noSpace).bytes == counts.bytes)
        #expect(replies.count == 1)
        _ = receive([Self.report("b", sequence: 2)])
        #expect(counts.refusedRecords == 1)
    }

    @Test("A refused report counts as the number of its records, or as one record if it can't be read")
    mutating func refusedRecords() throws {
        _ = receive([Self.report("a", "b", sequence: 1)])
        var refusals: [Refusal] = []
        let process = ReportingProcess(connection: 2, sender: Sender(uid: 1, gid: 1, pid: 1), startTime: 0)
        intake.submit(of: process) { submission in
            refusals += submission.eachCall.map { Refusal($0, of: 2, .noSpace) }
            return RecordBatch()
        }
        #expect(refusals.map(\.records) == [2])
        _ = intake.refuse(try #require(refusals.first), .noSpace)
        _ = receive([Self.report("c", "d", "e", sequence: 3)])
        #expect(counts.refusedRecords == 3)
        _ = receive([Self.report()])
        #expect(counts.refusedRecords == 1)
        let statusRegistry = StatusRegistry(path: "/nowhere/issues.db")
        for refusal in refusals {
            statusRegistry.countedRefusal(records: refusal.records, isLackOfResources: true)
        }
        #expect(statusRegistry.statusWithoutStore(viewer: .everything).refused == 2)
    }

    @Test("Calls that want no reply get none, whether they are stored or refused")
    mutating func oneway() {
        let oneway = #","oneway":true"#
        _ = receive([
            Self.report("a", more: oneway), Self.unusual("b", more: oneway), Self.report(more: oneway),
            Self.unusual(more: oneway),
        ])
        #expect(counts.reports == 2)
        #expect(counts.refusedRecords == 2)
        var receipts = ReceiptWriter()
        let outcome = CallOutcome(
            connection: 2, token: 0, receipts: .run(first: RecordID(store: 7, row: 1), count: 2), calls: 2)
        _ = intake.answer([outcome], 0..<1, with: &receipts)
        #expect(replies.isEmpty)
        #expect(intake.silent.isEmpty)
        guard case .query = receive([Self.query]) else {
            Issue.record("The query did not begin")
            return
        }
        let wasOpen = intake.finish(Array("reply\0".utf8))
        let isOpen = intake.finish([])
        #expect(wasOpen && !isOpen)
        #expect(replies.isEmpty)
    }

    @Test("A query waits for the reports before it, and the reports after it wait for the query")
    mutating func order() {
        guard case .held = receive([Self.report("a"), Self.query, Self.report("b"), Self.unusual("c")]) else {
            Issue.record("The query did not wait")
            return
        }
        #expect(counts.reports == 1)
        #expect(intake.hasCalls)
        var readBuffer: [UInt8] = []
        intake.settle(&readBuffer)
        guard case .held = readCalls() else {
            Issue.record("The query did not continue to wait")
            return
        }
        #expect(submitted() == [#"0 {"a":1} - 0"#])
        var receipts = ReceiptWriter()
        let outcome = CallOutcome(
            connection: 2, token: 0, receipts: .run(first: RecordID(store: 7, row: 1), count: 1))
        #expect(intake.answer([outcome], 0..<1, with: &receipts).action == .resume)
        guard case .query(let message, let envelope) = readCalls() else {
            Issue.record("The query did not begin")
            return
        }
        let query = intake.query(message, envelope)
        #expect(query.method == "org.issued.Collector.List")
        #expect(String(decoding: query.parameters, as: UTF8.self) == #"{"limit":3}"#)
        #expect(intake.state.queryToken == 1)
        guard case .held = readCalls() else {
            Issue.record("The report did not wait")
            return
        }
        let wasOpen = intake.finish([])
        #expect(wasOpen)
        guard case .noMessage = readCalls() else {
            Issue.record("Not all reports were read")
            return
        }
        #expect(submitted() == [#"2 {"b":1} - 0"#, #"3 {"c":1} - 0"#])
        #expect(!intake.hasCalls)
    }

    @Test("Reports are read until their size exceeds the room that is left; the others are read later")
    mutating func room() {
        let messages = (0..<3).map { Self.report("r\($0)") }
        guard case .limit = receive(messages, room: 0) else {
            Issue.record("Reading did not stop at the limit")
            return
        }
        #expect(counts.reports == 1)
        guard case .noMessage = readCalls() else {
            Issue.record("The other reports were not read")
            return
        }
        #expect(submitted().count == 3)
    }

    @Test("A message that is not a call ends the connection, after the replies to the calls before it")
    mutating func invalid() {
        for message in [#"{"method":7}"#, "nonsense", #"{"method":"org.issued.Collector.Report","parameters":{"x"#] {
            intake = ConnectionIntake(messageBytes: 1 << 20)
            guard case .invalid(let error) = receive([Self.report("a"), message]) else {
                Issue.record("The message was accepted as a call")
                return
            }
            #expect(counts.reports == 1)
            #expect(intake.state.openReports == 1)
            _ = intake.end(with: error)
            #expect(!intake.state.isOpen)
            #expect(replies.isEmpty, "The reply to the report did not come first")
            var receipts = ReceiptWriter()
            let outcome = CallOutcome(
                connection: 2, token: 0, receipts: .run(first: RecordID(store: 7, row: 1), count: 1))
            _ = intake.answer([outcome], 0..<1, with: &receipts)
            #expect(replies.count == 2)
            #expect(replies.last?.contains("InvalidParameter") == true)
        }
    }

    @Test("Messages other than reports have a size limit of their own, which applies even before they are complete")
    mutating func querySize() {
        func isTooLarge(_ error: CollectorError?) -> Bool { error == .tooLarge(limit: 1000) }
        let text = String(repeating: "x", count: 2000)
        guard
            case .invalid(let error) = receive([
                #"{"method":"org.issued.Collector.List","parameters":{"a":"\#(text)"}}"#
            ])
        else {
            Issue.record("The query was accepted although it is too large")
            return
        }
        #expect(isTooLarge(error))
        let now = MonotonicInstant(sinceBoot: .seconds(1))
        for (start, isRefused) in [
            (#"{"method":"org.issued.Collector.List","parameters":{"a":""#, true),
            (#"{"method":"org.issued.Collector.Report","parameters":{"records":["#, false),
            (#"{ "method":"org.issued.Collector.Report","parameters":{"records":["#, false),
            (#"{"parameters":{"records":["#, false),
        ] {
            intake = ConnectionIntake(messageBytes: 1 << 20)
            intake.frames.receive(Array(start.utf8))
            _ = readCalls()
            #expect(intake.keepPartialMessage(maxQueryBytes: 1000, at: now) == nil)
            #expect(intake.state.partialSince == now)
            intake.frames.receive(Array(text.utf8))
            _ = readCalls()
            let later = now.advanced(by: .seconds(1))
            #expect(isTooLarge(intake.keepPartialMessage(maxQueryBytes: 1000, at: later)) == isRefused)
            #expect(intake.state.partialSince == now)
        }
    }

    @Test("The timeout for receiving a message ends when it is complete, even if its call may not begin yet")
    mutating func completesWhileThrottled() {
        let now = MonotonicInstant(sinceBoot: .seconds(1))
        let message = Array(Self.report("a").utf8)
        intake.frames.receive(Array(message[..<20]))
        _ = readCalls()
        _ = intake.keepPartialMessage(maxQueryBytes: 1000, at: now)
        #expect(intake.state.partialSince == now)
        intake.frames.receive(Array(message[20...]) + [0])
        #expect(intake.keepPartialMessage(maxQueryBytes: 1000, at: now) == nil)
        #expect(intake.state.partialSince == nil)
        #expect(intake.hasCalls)
    }

    @Test("Received calls that have not begun are dropped when the connection drains")
    mutating func drains() {
        guard case .query = receive([Self.query, Self.report("a")]) else {
            Issue.record("The query did not begin")
            return
        }
        _ = readCalls()
        #expect(intake.receivedBytes > 0)
        _ = intake.state.drain()
        var readBuffer: [UInt8] = []
        intake.settle(&readBuffer)
        #expect(intake.receivedBytes == 0)
        #expect(!intake.hasCalls)
    }
}
