import IssueProtocol
import Synchronization

/// Remembers every record sent and every receipt, and finds contradictions in a store.
package final class Oracle: Sendable {
    /// A list of contradictions, one message each.
    package struct Contradiction: Error, CustomStringConvertible {
        package let sentences: [String]
        package var description: String { sentences.joined(separator: "\n") }
    }

    /// Sums over all reporters.
    package struct Sums: Equatable, Sendable {
        package var sent = 0
        package var acknowledged = 0
        package var resent = 0
    }

    private struct State {
        var memories: [ReporterMemory] = []
        var complaints: [String] = []
        /// Rows that retention removed before they were read. Kept until all calls have been judged.
        var overlooked: [ClosedRange<Int64>] = []
        var given = AssignedIDs()

        /// Stores the id that a receipt assigns to a record.
        mutating func stored(_ reporter: Int, _ number: Int, _ id: String) {
            let name = "reporter \(reporter)'s record \(number)"
            guard let row = Oracle.row(of: id) else {
                complaints.append("\(name) has the id \(id)")
                return
            }
            if given.give(id, row: row, to: reporter, number) {
                complaints.append("\(name) has the id \(id), which belongs to another record")
            }
            memories[reporter].receipts[number] = .stored(row: row)
            memories[reporter].acknowledged += 1
        }
    }

    private let state = Mutex(State())

    package init() {}

    func add(_ memory: ReporterMemory) -> Int {
        state.withLock { state in
            state.memories.append(memory)
            return state.memories.count - 1
        }
    }

    package var sums: Sums {
        state.withLock { state in
            state.memories.reduce(into: Sums()) { sums, memory in
                sums.sent += memory.sent
                sums.acknowledged += memory.acknowledged
                sums.resent += memory.resent
            }
        }
    }

    // MARK: Events of reporters

    /// Adds a new call. Returns its index and the number of its first record.
    func began(_ reporter: Int, count: Int, bad: (Int) -> Bool) -> (call: Int, first: Int) {
        state.withLock { state in
            let first = state.memories[reporter].nextNumber
            let bad = Set((first..<first + count).filter(bad))
            return (state.memories[reporter].began(count: count, bad: bad), first)
        }
    }

    /// Returns the number after a reporter's last record.
    func end(of reporter: Int) -> Int {
        state.withLock { $0.memories[reporter].nextNumber }
    }

    /// Counts the records of a call that was sent again.
    func resent(_ reporter: Int, _ call: Int) {
        state.withLock { $0.memories[reporter].resent += $0.memories[reporter].calls[call].count }
    }

    /// Marks a call that will not be answered and is not sent again.
    func lost(_ reporter: Int, _ call: Int) {
        state.withLock { $0.memories[reporter].calls[call].outcome = .unknown }
    }

    func refused(_ reporter: Int, _ call: Int) {
        state.withLock { $0.memories[reporter].calls[call].outcome = .refused }
    }

    func answered(_ reporter: Int, _ index: Int, _ receipts: [RecordReceipt], isFirstSending: Bool) {
        state.withLock { state in
            let call = state.memories[reporter].calls[index]
            let name = "reporter \(reporter)'s records \(call.numbers)"
            guard receipts.count == call.count else {
                state.complaints.append("\(name) have \(receipts.count) receipts")
                return
            }
            for (number, receipt) in zip(call.numbers, receipts) {
                let name = "reporter \(reporter)'s record \(number)"
                switch receipt {
                case .rejected(let field, let reason):
                    if !call.bad.contains(number) {
                        state.complaints.append("\(name) was rejected: \(field ?? "") \(reason)")
                    }
                    state.memories[reporter].receipts[number] = .rejected
                case .stored(let id), .duplicate(let id?):
                    if case .duplicate = receipt, isFirstSending {
                        state.complaints.append("\(name) was sent for the first time, but is reported as a duplicate")
                    }
                    if call.bad.contains(number) { state.complaints.append("\(name) is bad, but has the id \(id)") }
                    state.stored(reporter, number, id)
                case .duplicate(nil):
                    // A bad record gets this answer when its call is sent again.
                    if !call.bad.contains(number) {
                        state.complaints.append("\(name) was answered without an id soon after it was sent")
                    }
                    state.memories[reporter].receipts[number] = .rejected
                }
            }
            state.memories[reporter].calls[index].outcome = .answered
        }
    }

    /// Marks a call whose records the client library has accepted, and stores the ids that it has reported.
    func entrusted(_ reporter: Int, _ index: Int, ids: [Int: String]) {
        state.withLock { state in
            let numbers = state.memories[reporter].calls[index].numbers
            for (number, id) in ids {
                guard numbers.contains(number) else {
                    state.complaints.append(
                        "reporter \(reporter) got an id for record \(number), which it did not send")
                    continue
                }
                state.stored(reporter, number, id)
            }
            state.memories[reporter].calls[index].outcome = .entrusted
        }
    }

    /// Adds a contradiction that was found elsewhere.
    func complain(_ message: String) {
        state.withLock { $0.complaints.append(message) }
    }

    /// Returns the row in an id: the number after the hyphen, in Crockford's base 32.
    static func row(of id: String) -> Int64? {
        let digits = Array("0123456789abcdefghjkmnpqrstvwxyz")
        guard let hyphen = id.firstIndex(of: "-") else { return nil }
        var row: Int64 = 0
        for character in id[id.index(after: hyphen)...] {
            guard let digit = digits.firstIndex(of: character), row < 1 << 57 else { return nil }
            row = row << 5 | Int64(digit)
        }
        return row > 0 ? row : nil
    }

    // MARK: Contents of the store

    /// Marks a record as found in the store. Returns its expected content and user, or nil if it was never sent.
    func found(_ reporter: Int, _ number: Int, at row: Int64) -> (record: IssueRecord, uid: UInt32)? {
        state.withLock { state in
            let name = "reporter \(reporter)'s record \(number)"
            guard state.memories.indices.contains(reporter), number < state.memories[reporter].nextNumber else {
                state.complaints.append("row \(row) is \(name), which was never sent")
                return nil
            }
            let earlier = state.memories[reporter].found[number]
            if earlier != 0 { state.complaints.append("\(name) is stored twice, in the rows \(earlier) and \(row)") }
            state.memories[reporter].found[number] = row
            return (
                state.memories[reporter].payload.record(reporter: reporter, number: number),
                state.memories[reporter].uid
            )
        }
    }

    /// Stores rows that retention removed before they could be read.
    func overlooked(_ rows: ClosedRange<Int64>) {
        state.withLock { $0.overlooked.append(rows) }
    }

    /// Returns, for each reporter, the first call whose records may be stored later. All earlier calls are decided.
    func ends() -> [Int] {
        state.withLock { state in
            state.memories.map { memory in
                memory.calls[memory.firstOpen...].firstIndex {
                    $0.outcome == .open || $0.outcome == .unknown || $0.outcome == .entrusted
                }
                    ?? memory.calls.count
            }
        }
    }

    /// Judges all calls that ended before the rows of the store were read.
    ///
    /// - Parameter ends: For each reporter, the call at which to stop; nil if all calls have ended.
    func check(upTo ends: [Int]?) throws {
        try state.withLock { state in
            for reporter in state.memories.indices {
                let overlooked = state.overlooked
                Self.check(&state.memories[reporter], reporter, ends?[reporter], overlooked, &state.complaints)
            }
            if ends == nil { state.overlooked = [] }
            let complaints = state.complaints
            guard complaints.isEmpty else { throw Contradiction(sentences: Array(complaints.prefix(20))) }
        }
    }

    private static func check(
        _ memory: inout ReporterMemory, _ reporter: Int, _ end: Int?, _ overlooked: [ClosedRange<Int64>],
        _ complaints: inout [String]
    ) {
        while memory.firstOpen < end ?? memory.calls.count {
            let call = memory.calls[memory.firstOpen]
            let name = "reporter \(reporter)'s records \(call.numbers)"
            let good = call.numbers.filter { !call.bad.contains($0) }
            let stored = good.filter { memory.found[$0] != 0 }
            for number in call.bad where memory.found[number] != 0 {
                complaints.append("reporter \(reporter)'s record \(number) is bad, and was stored")
            }
            switch call.outcome {
            case .open:
                complaints.append("\(name) were never answered")
            case .refused:
                if !stored.isEmpty { complaints.append("\(name) were refused, but \(stored.count) of them are stored") }
            case .unknown:
                // The records of a call have consecutive rows.
                let start = good.firstIndex { memory.found[$0] != 0 }.map { memory.found[good[$0]] - Int64($0) } ?? 0
                let isWhole = good.indices.allSatisfy { index in
                    memory.found[good[index]] != 0 || overlooked.contains { $0.contains(start + Int64(index)) }
                }
                if !stored.isEmpty, !isWhole {
                    complaints.append("\(name) are stored in part: \(stored.count) of \(good.count)")
                }
            case .entrusted:
                for number in good {
                    let row = memory.found[number]
                    // A row that was removed before it was read may be that of any record without a receipt.
                    if case .none = memory.receipts[number], row != 0 || !overlooked.isEmpty { continue }
                    if case .stored(let promised) = memory.receipts[number], promised == row { continue }
                    if case .stored(let promised) = memory.receipts[number], row == 0,
                        overlooked.contains(where: { $0.contains(promised) })
                    {
                        continue
                    }
                    complaints.append(
                        "reporter \(reporter)'s record \(number), taken by the client library, is "
                            + (row == 0 ? "missing" : "stored as \(row)") + ": \(memory.receipts[number])")
                }
            case .answered:
                for number in good {
                    let row = memory.found[number]
                    switch memory.receipts[number] {
                    case .stored(row): break
                    case .stored(let promised) where row == 0 && overlooked.contains { $0.contains(promised) }: break
                    case .stored(let promised):
                        complaints.append(
                            "reporter \(reporter)'s record \(number) has the receipt \(promised), but is "
                                + (row == 0 ? "missing" : "stored as \(row)"))
                    case .none, .rejected:
                        complaints.append("reporter \(reporter)'s record \(number) has no id")
                    }
                }
            }
            memory.firstOpen += 1
        }
    }

    /// Starts over with a new store: everything found before no longer counts.
    package func forgetStore() {
        state.withLock { state in
            state.overlooked = []
            for reporter in state.memories.indices {
                for number in state.memories[reporter].found.indices { state.memories[reporter].found[number] = 0 }
                // The acknowledged records were in the earlier store, which was removed or moved aside.
                state.memories[reporter].firstOpen = state.memories[reporter].calls.count
            }
        }
    }
}
