import IssueCore
import IssueProtocol
import IssueStore
import Testing

@Suite("A numbered call")
struct NumberedCallTests {
    private let producer = ProducerID(high: 1, low: 2)

    private func records(_ numbers: ClosedRange<Int>) -> [String] {
        numbers.map { $0 == 3 ? #"{"code":"3"}"# : #"{"message":"number \#($0)"}"# }
    }

    private func send(
        _ numbers: ClosedRange<Int>, as producer: ProducerID? = nil, from process: ReportingProcess = .ordinary,
        to writer: StoreWriter, of store: TemporaryStore
    ) throws -> [RecordReceipt] {
        let call = SentCall(records(numbers), producer: producer ?? self.producer, sequence: Int64(numbers.lowerBound))
        return try store.commit(Submission([call], from: process), to: writer)[0].mixed
    }

    private func id(_ row: RowID, _ writer: StoreWriter) -> String { RecordID(store: writer.code, row: row).text }

    @Test("A numbered call that is sent again stores nothing and returns the same receipts, even after a restart")
    func isResent() throws {
        try TemporaryStore.with { store in
            for _ in 0..<3 {
                let writer = try store.writer()
                let receipts = try send(1...5, to: writer, of: store)
                let rows: [RowID?] = [1, 2, nil, 3, 4]
                for (receipt, row) in zip(receipts, rows) {
                    switch (receipt, row) {
                    case (.rejected("code", _), nil): break
                    case (.stored(let text), let row?), (.duplicate(let text?), let row?):
                        #expect(text == id(row, writer))
                    default: Issue.record("\(receipts)")
                    }
                }
                #expect(try store.shell().number("SELECT count(*) FROM records") == 4)
            }
            try expectSound(store)
        }
    }

    @Test("A numbered call with some known records is split into old receipts and new records")
    func straddles() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            _ = try send(1...4, to: writer, of: store)
            let receipts = try send(2...6, to: writer, of: store)
            #expect(receipts[0] == .duplicate(id: id(2, writer)))
            guard case .rejected = receipts[1] else {
                Issue.record("\(receipts)")
                return
            }
            #expect(receipts[2] == .duplicate(id: id(3, writer)))
            #expect(receipts[3...] == [.stored(id: id(4, writer)), .stored(id: id(5, writer))])
            let reader = try store.reader()
            #expect(try reader.record(row: 4)?.stored.record.message == "number 5")
            #expect(try reader.record(row: 5)?.stored.record.message == "number 6")
            #expect(
                try send(5...6, to: writer, of: store) == [
                    .duplicate(id: id(4, writer)), .duplicate(id: id(5, writer)),
                ])
        }
    }

    @Test("If a record is rejected after known ones, each record of a numbered call still gets its own receipt")
    func straddlesRejection() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            _ = try send(1...2, to: writer, of: store)
            let receipts = try send(1...4, to: writer, of: store)
            #expect(receipts[1] == .duplicate(id: id(2, writer)))
            guard case .rejected("code", _) = receipts[2] else {
                Issue.record("\(receipts)")
                return
            }
            #expect(receipts[3] == .stored(id: id(3, writer)))
            #expect(try send(4...4, to: writer, of: store) == [.duplicate(id: id(3, writer))])
        }
    }

    @Test("A numbered call may leave a gap, whose numbers count as received")
    func leavesGap() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            _ = try send(1...2, to: writer, of: store)
            #expect(
                try send(10...11, to: writer, of: store) == [.stored(id: id(3, writer)), .stored(id: id(4, writer))])
            #expect(try send(5...6, to: writer, of: store) == [.duplicate(id: nil), .duplicate(id: nil)])
            #expect(try send(10...10, to: writer, of: store) == [.duplicate(id: id(3, writer))])
        }
    }

    @Test("A numbered call whose ids have been forgotten is still a duplicate")
    func isForgotten() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let calls = (0..<200).map { SentCall(records(100...100), producer: producer, sequence: Int64(2 * $0)) }
            try store.commit(Submission(calls), to: writer)
            #expect(try store.shell().number("SELECT count(*) FROM records") == 200)
            #expect(try send(0...0, to: writer, of: store) == [.duplicate(id: nil)])
            #expect(try store.shell().number("SELECT count(*) FROM records") == 200)
        }
    }

    @Test("Numbered calls with the same numbers are separate if they are from another producer or another user")
    func isOnesOwn() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            _ = try send(1...2, to: writer, of: store)
            let other = try send(1...2, as: ProducerID(high: 1, low: 3), to: writer, of: store)
            #expect(other == [.stored(id: id(3, writer)), .stored(id: id(4, writer))])
            let stranger = try send(1...2, from: .of(uid: 2000), to: writer, of: store)
            #expect(stranger == [.stored(id: id(5, writer)), .stored(id: id(6, writer))])
            // The other user gets the ids of their own records, not those of the first user.
            #expect(
                try send(1...2, from: .of(uid: 2000), to: writer, of: store) == [
                    .duplicate(id: id(5, writer)), .duplicate(id: id(6, writer)),
                ])
        }
    }

    @Test("A numbered call that appears twice in one commit is stored once")
    func isTwiceInOne() throws {
        try TemporaryStore.with { store in
            let writer = try store.writer()
            let call = SentCall(records(7...8), producer: producer, sequence: 7)
            let outcomes = try store.commit(Submission([call]), Submission([call]), to: writer)
            #expect(outcomes[0].mixed == [.stored(id: id(1, writer)), .stored(id: id(2, writer))])
            #expect(outcomes[1].mixed == [.duplicate(id: id(1, writer)), .duplicate(id: id(2, writer))])
            try expectSound(store)
        }
    }

    @Test("A numbered call gets its own receipts among calls of other producers, users and applications in one commit")
    func isInterleaved() throws {
        try TemporaryStore.with { store in
            func submissions(_ round: Int64) throws -> [Submission] {
                try (0..<12).map { index in
                    let process = ReportingProcess.of(uid: UInt32(1 + index % 3), command: "app\(index % 2)")
                    let call = SentCall(
                        records(1...4), producer: ProducerID(high: 9, low: UInt64(index % 2)),
                        sequence: 10 * round + Int64(index / 6) * 4)
                    return try Submission([call, SentCall(records(1...1))], from: process)
                }
            }
            var rows: [RowID] = []
            for round in 0..<3 {
                let writer = try store.writer()
                for isResent in [false, true] {
                    let outcomes = try writer.commit(
                        try submissions(Int64(round)), wall: store.wall, monotonic: store.monotonic)
                    let numbered = outcomes.filter { $0.token == 0 }.flatMap(\.mixed)
                    #expect(numbered.count == 48)
                    #expect(
                        numbered.count { if case .duplicate(_?) = $0 { true } else { false } } == (isResent ? 36 : 0))
                    rows += outcomes.flatMap(\.ids).map(\.row)
                }
            }
            #expect(rows == Array(1...RowID(3 * (36 + 24))))
            #expect(try store.shell().number("SELECT count(*) FROM producers") == 6)
            try expectSound(store)
        }
    }
}
