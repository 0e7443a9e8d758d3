import IssueCore
import IssueProtocol
import IssueStore
import Testing

@Suite("A run of similar calls")
struct CallRunTests {
    private let producer = ProducerID(high: 1, low: 2)

    /// Returns a call of two records for each number. The number is in the messages and determines the sequence number.
    private func calls(_ numbers: some Sequence<Int>) -> [SentCall] {
        numbers.map { number in
            SentCall(
                [#"{"message":"first of \#(number)"}"#, #"{"message":"second of \#(number)"}"#], producer: producer,
                sequence: Int64(2 * number))
        }
    }

    private func joined(_ calls: [SentCall]) throws -> Submission {
        var submission = try Submission(calls)
        var runs: [ReportCall] = []
        for call in submission.calls where runs.isEmpty || !runs[runs.count - 1].join(call) { runs.append(call) }
        submission.calls = runs
        return submission
    }

    @Test("A run of similar calls is stored and acknowledged as one call")
    func run() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let submission = try joined(calls(0..<10))
            #expect(submission.calls.map(\.calls) == [10])
            let outcomes = try store.commit(submission, to: writer)
            #expect(outcomes.map(\.calls) == [10])
            #expect(outcomes[0].receipts == .run(first: RecordID(store: writer.code, row: 1), count: 20))
            #expect(try store.reader().record(row: 20)?.stored.record.message == "second of 9")
            try expectSound(store)
        }
    }

    @Test("A run of similar calls is acknowledged call by call if some of its records are known")
    func resend() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            _ = try store.commit(joined(calls(0..<3)), to: writer)
            let outcomes = try store.commit(joined(calls(1..<5)), to: writer)
            #expect(outcomes.map(\.token) == [0, 1, 2, 3])
            #expect(outcomes.allSatisfy { $0.calls == 1 })
            func id(_ row: RowID) -> String { RecordID(store: writer.code, row: row).text }
            #expect(outcomes[0].mixed == [.duplicate(id: id(3)), .duplicate(id: id(4))])
            #expect(outcomes[1].mixed == [.duplicate(id: id(5)), .duplicate(id: id(6))])
            #expect(outcomes[2].mixed == [.stored(id: id(7)), .stored(id: id(8))])
            #expect(outcomes[3].mixed == [.stored(id: id(9)), .stored(id: id(10))])
            try expectSound(store)
        }
    }

    @Test("A run of similar calls can be split into its calls")
    func each() throws {
        let alone = try Submission(calls(4..<9)).calls
        let run = try joined(calls(4..<9)).calls
        #expect(run.count == 1)
        let parted = run[0].each
        #expect(parted.map(\.token) == alone.map(\.token))
        #expect(parted.map(\.records) == alone.map(\.records))
        #expect(parted.map(\.numbering) == alone.map(\.numbering))
        #expect(parted.allSatisfy { $0.calls == 1 })
    }

    @Test(
        "A call joins no run after a gap, with another record count, from another producer or with a rejected record"
    )
    func unlike() throws {
        let first = calls([0, 1])
        let shorter = SentCall([#"{"message":"a"}"#], producer: producer, sequence: 2)
        let longer = SentCall((0..<3).map { #"{"message":"\#($0)"}"# }, producer: producer, sequence: 2)
        let another = SentCall(first[1].json, producer: ProducerID(high: 1, low: 3), sequence: 2)
        let unnumbered = SentCall(first[1].json)
        let rejected = SentCall([#"{"message":"a"}"#, "{}"], producer: producer, sequence: 2)
        for next in [calls([2])[0], shorter, longer, another, unnumbered, rejected] {
            #expect(try joined([first[0], next]).calls.count == 2)
        }
        #expect(try joined(first).calls.count == 1)
        #expect(try joined([unnumbered, unnumbered]).calls.count == 1)
    }
}
