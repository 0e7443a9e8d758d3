import IssueCore
import Testing

struct ProducerMarkTests {
    @Test("A call with numbers above the mark is new, also after a gap")
    func fresh() {
        var mark = ProducerMark()
        #expect(mark.received(sequence: 0, count: 3) == .fresh)
        mark.stored(.init(sequence: 0, count: 3, firstRow: 100))

        #expect(mark.received(sequence: 3, count: 1) == .fresh)
        #expect(mark.received(sequence: 50, count: 10) == .fresh)
        #expect(mark.highest == 2)
    }

    @Test("A resent call gets the earlier results: the row of each stored record, and which records were rejected")
    func resend() {
        var mark = ProducerMark()
        mark.stored(.init(sequence: 10, count: 5, firstRow: 100, rejected: [1, 3]))

        #expect(
            mark.received(sequence: 10, count: 5)
                == .resend([.stored(row: 100), .rejected, .stored(row: 101), .rejected, .stored(row: 102)]))
    }

    @Test("A resent call with other boundaries is answered record by record")
    func recut() {
        var mark = ProducerMark()
        mark.stored(.init(sequence: 0, count: 2, firstRow: 100))
        mark.stored(.init(sequence: 2, count: 2, firstRow: 200))

        #expect(mark.received(sequence: 1, count: 2) == .resend([.stored(row: 101), .stored(row: 200)]))
        #expect(
            mark.received(sequence: 3, count: 3) == .straddles([.stored(row: 201)]))
    }

    @Test("Consecutive small calls are merged, so that a client may have many in flight")
    func continued() {
        var mark = ProducerMark()
        for call in 0..<1000 as Range<Int64> { mark.stored(.init(sequence: call, count: 1, firstRow: RowID(7 + call))) }

        #expect(mark.calls == [.init(sequence: 0, count: 1000, firstRow: 7)])
        #expect(mark.received(sequence: 0, count: 2) == .resend([.stored(row: 7), .stored(row: 8)]))
    }

    @Test("Only the last thousand rejected records are remembered, and all of the last call")
    func rejected() {
        var mark = ProducerMark()
        for call in 0..<64 as Range<Int64> {
            mark.stored(.init(sequence: call * 1000, count: 1000, firstRow: RowID(1 + call), rejected: Array(0..<600)))
        }
        #expect(mark.calls.count == 1)
        mark.stored(.init(sequence: 64_000, count: 400, firstRow: 70, rejected: Array(0..<400)))
        #expect(mark.calls.map(\.rejected.count) == [600, 400])
        mark.stored(.init(sequence: 65_000, count: 1, firstRow: 70))
        #expect(mark.calls.count == 3)
        #expect(mark.received(sequence: 0, count: 1000) == .forgotten)
        #expect(mark.bytes.count < 2048)
    }

    @Test("Calls that are no longer remembered are still known to have been received")
    func forgotten() {
        var mark = ProducerMark()
        for call in 0..<100 as Range<Int64> {
            mark.stored(.init(sequence: call * 10, count: 10, firstRow: RowID(call * 11)))
        }

        #expect(mark.calls.count == ProducerMark.maxCalls)
        #expect(mark.received(sequence: 0, count: 10) == .forgotten)
        #expect(mark.received(sequence: 359, count: 2) == .resend([.forgotten, .stored(row: 396)]))
        #expect(mark.received(sequence: 990, count: 10) == .resend((1089..<1099).map { .stored(row: $0) }))
    }

    @Test("Extreme numbers do not trap")
    func extremes() {
        var mark = ProducerMark()
        mark.stored(.init(sequence: .max, count: .max, firstRow: .max))

        #expect(mark.received(sequence: .max, count: .max) != .fresh)
        #expect(mark.received(sequence: .min, count: 1) == .forgotten)
        #expect(mark.received(sequence: 5, count: -1) == .fresh)
        #expect(ProducerMark(bytes: mark.bytes) == mark)
    }

    @Test("Every record gets one result, however a client resends and splits calls", arguments: 0..<20 as Range<UInt64>)
    func property(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        var mark = ProducerMark()
        var rows: [Int64: ProducerMark.PastResult] = [:]
        var nextRow: RowID = 1
        var next: Int64 = 0
        for _ in 0..<300 {
            let sequence = max(0, next - traffic.number(below: 30))
            let count = traffic.number(below: 20) + 1
            let known: [ProducerMark.PastResult]
            switch mark.received(sequence: sequence, count: count) {
            case .fresh: known = []
            case .resend(let answers), .straddles(let answers): known = answers
            case .forgotten: known = Array(repeating: .forgotten, count: Int(count))
            }
            for (index, answer) in known.enumerated() where answer != .forgotten {
                #expect(rows[sequence + Int64(index)] == answer)
            }
            let begin = sequence + Int64(known.count)
            guard begin < sequence + count else { continue }
            let rejected = (0..<sequence + count - begin).filter { _ in traffic.happens(oneIn: 5) }
            mark.stored(.init(sequence: begin, count: sequence + count - begin, firstRow: nextRow, rejected: rejected))
            for number in begin..<sequence + count {
                #expect(rows[number] == nil)
                let isRejected = rejected.contains(number - begin)
                rows[number] = isRejected ? .rejected : .stored(row: nextRow)
                nextRow = nextRow + (isRejected ? 0 : 1)
            }
            next = sequence + count
            #expect(ProducerMark(bytes: mark.bytes) == mark)
        }
    }

    @Test("Consecutive calls take a few bytes each")
    func size() {
        var mark = ProducerMark()
        for call in 0..<64 as Range<Int64> {
            mark.stored(.init(sequence: 1_000_000 + call * 100, count: 100, firstRow: RowID((1 << 40) + call * 101)))
        }

        #expect(mark.bytes.count < 64 * 8 + 20)
    }

    @Test("Truncated or extended bytes are refused, and modified ones do not trap")
    func damaged() {
        var mark = ProducerMark()
        mark.stored(.init(sequence: 10, count: 5, firstRow: RowID(1 << 40), rejected: [1, 3]))
        mark.stored(.init(sequence: 15, count: 9, firstRow: RowID((1 << 40) + 3), rejected: [8]))
        let bytes = mark.bytes
        for length in bytes.indices { #expect(ProducerMark(bytes: Array(bytes[..<length])) == nil) }
        #expect(ProducerMark(bytes: bytes + [0]) == nil)

        var traffic = SeededGenerator(seed: 9)
        for _ in 0..<3000 {
            var damaged = bytes
            damaged[Int(traffic.number(below: Int64(bytes.count)))] = UInt8(traffic.number(below: 256))
            // It may be another valid mark by chance. Using it must not trap.
            _ = ProducerMark(bytes: damaged)?.received(sequence: 12, count: 20)
        }
    }
}
