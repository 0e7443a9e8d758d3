import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

extension SocketLoop {
    /// Writes the replies to committed reports. Consecutive outcomes of a connection are handled together.
    func handle(_ outcomes: [CallOutcome]) {
        var start = 0
        while start < outcomes.count {
            let id = outcomes[start].connection
            var end = start + 1
            while end < outcomes.count, outcomes[end].connection == id { end += 1 }
            if let connection = connections[id] {
                for outcome in outcomes[start..<end] { count(outcome.receipts) }
                answered(connection.intake.answer(outcomes, start..<end, with: &receipts), connection)
            } else {
                for outcome in outcomes[start..<end] {
                    for _ in 0..<outcome.calls { orphanAnswered(id) }
                }
            }
            start = end
        }
    }

    private func count(_ receipts: ReceiptList) {
        guard case .mixed(let receipts) = receipts else { return }
        let duplicates = receipts.count { if case .duplicate = $0 { true } else { false } }
        service.statusRegistry.counted(rejected: 0, duplicates: duplicates)
    }

    /// Handles a report that the writer has refused. Closes the connection if the report may have been stored.
    func handle(_ refusal: Refusal) {
        guard let connection = connections[refusal.connection] else { return orphanAnswered(refusal.connection) }
        guard let error = refusal.error else {
            close(connection)
            return orphanAnswered(refusal.connection)
        }
        service.statusRegistry.countedRefusal(
            records: refusal.records, isLackOfResources: error.isLackOfResources)
        answered(connection.intake.refuse(refusal, error), connection)
    }

    /// Continues after replies to reports were written.
    func answered(_ answer: (bytes: Int, action: ConnectionState.AnsweredAction), _ connection: ClientConnection) {
        changed(inFlight: -answer.bytes, of: connection)
        queueSending(to: connection)
        switch answer.action {
        case .resume: process(connection)
        case .none: break
        }
    }

    /// Sends pending replies, as far as the socket accepts them.
    func send(_ connection: ClientConnection) {
        guard !connection.state.isClosed else { return }
        defer { settleSending(of: connection) }
        while connection.intake.replies.unsentCount > 0 {
            let result =
                if let file = connection.file {
                    connection.descriptor.attemptSend(connection.intake.replies.unsent, passing: file.descriptor)
                } else {
                    connection.descriptor.attemptSend(connection.intake.replies.unsent)
                }
            switch result {
            case .bytes(let count):
                connection.file = nil
                connection.intake.replies.sent(count)
                connection.state.sentPart()
            case .wouldBlock:
                connection.state.stalled(at: Clock.monotonic)
                return watch(connection)
            case .end, .failed: return close(connection)
            }
        }
        switch connection.state.sent() {
        case .close: return close(connection)
        case .releaseMemory: connection.intake.releaseMemory()
        case .run(let step): run(step, for: connection)
        case .pollNews: pollNews(of: connection)
        case .none: break
        }
        watch(connection)
    }

    /// Updates the events that the poller reports.
    func watch(_ connection: ClientConnection) {
        updateDeadline(of: connection)
        do throws(Errno) {
            switch connection.state.watch() {
            case .none: break
            case .modify(let events):
                try? poller.modify(connection.descriptor, token: connection.id, for: Interest(events))
            case .add(let events):
                try poller.add(connection.descriptor, token: connection.id, for: Interest(events))
            }
        } catch {
            close(connection)
        }
    }
}

extension Interest {
    fileprivate init(_ events: ConnectionState.Events) {
        self = []
        if events.contains(.reading) { insert(.read) }
        if events.contains(.writing) { insert(.write) }
    }
}

extension CollectorError {
    /// Whether the call was refused because the daemon lacked space or time, and not because the call is invalid.
    fileprivate var isLackOfResources: Bool {
        switch self {
        case .busy, .noSpace: true
        default: false
        }
    }
}

/// Encodes the replies to reports. Consecutive ids are encoded without intermediate values.
struct ReceiptWriter {
    private static let start = Array(#"{"parameters":{"receipts":["#.utf8)
    private static let next = Array(#""},"#.utf8)
    private static let end = Array("]}}\0".utf8)

    /// The store code and the block of rows of the id that was encoded last; nil before the first. The ids of a block
    /// differ only in the last digit.
    private var block: (store: UInt64, number: Int64)?
    /// The start of a reply whose first id is in the block, up to the last digit of that id. The last byte is a
    /// placeholder for the digit.
    private var replyStart = ByteBuffer()
    /// The text between two ids, followed by the second id up to its last digit. The last byte is a placeholder, too.
    private var idStart = ByteBuffer()
    /// How many bytes at the start of `replyStart` and `idStart` depend only on the store.
    private var storeEnds = (reply: 0, id: 0)
    /// The last digit of the id of each row in a block.
    private let digits: [UInt8]
    private let lastEnd = ByteBuffer(Array("\"}]}}\0".utf8))

    init() {
        digits = (0..<RecordID.rowsPerPrefix).map { row in
            var digit = ByteBuffer()
            RecordID.append(digitsOf: row, to: &digit)
            return digit.span[0]
        }
    }

    /// Appends the reply to a call, which may be one of several calls with the same number of records each.
    ///
    /// - Parameters:
    ///   - receipts: The receipts of all these calls.
    ///   - part: The index of the call.
    ///   - parts: The number of calls. It is 1 unless all records have consecutive ids.
    ///   - output: The buffer to append to.
    mutating func append(_ receipts: ReceiptList, part: Int, of parts: Int, to output: inout ByteBuffer) {
        switch receipts {
        case .run(let first, let count):
            let size = parts == 1 ? count : count / parts
            let row = first.row.rawValue + Int64(part * size)
            select(to: row, of: first)
            output.append(replyStart)
            output.replaceLast(with: digit(row))
            for row in (row + 1)..<(row + Int64(size)) {
                select(to: row, of: first)
                output.append(idStart)
                output.replaceLast(with: digit(row))
            }
            output.append(lastEnd)
        case .mixed(let receipts):
            precondition(parts == 1, "Several calls are answered together only if all their records were stored")
            output.append(contentsOf: Self.start)
            for (index, receipt) in receipts.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                output.append(contentsOf: receipt.json)
            }
            output.append(contentsOf: Self.end)
        }
    }

    @inline(__always)
    private mutating func digit(_ row: Int64) -> UInt8 { digits[Int(row & (RecordID.rowsPerPrefix - 1))] }

    @inline(__always)
    private mutating func select(to row: Int64, of id: RecordID) {
        let number = row / RecordID.rowsPerPrefix
        if let block, block.number == number, block.store == id.store { return }
        begin(number, of: id)
    }

    private mutating func begin(_ number: Int64, of id: RecordID) {
        if block?.store != id.store { begin(storeOf: id) }
        block = (id.store, number)
        replyStart.truncate(to: storeEnds.reply)
        idStart.truncate(to: storeEnds.id)
        // Row numbers in the first block have only one digit.
        if number > 0 {
            RecordID.append(digitsOf: number, to: &replyStart)
            RecordID.append(digitsOf: number, to: &idStart)
        }
        replyStart.append(0)
        idStart.append(0)
    }

    private mutating func begin(storeOf id: RecordID) {
        var text = Array(#"{"id":""#.utf8)
        id.appendStore(to: &text)
        replyStart = ByteBuffer(Self.start + text)
        idStart = ByteBuffer(Self.next + text)
        storeEnds = (replyStart.count, idStart.count)
    }
}

/// The replies of a connection. They are sent in the order of their calls, regardless of which is ready first.
struct ReplyQueue {
    /// Replies that are ready to be sent, from index `sent` on.
    private var bytes = ByteBuffer()
    private var sent = 0
    /// The size of each call, in bytes. The first unanswered call is at index `head`. The size is 0 for a call whose
    /// reply is in `early`.
    private var sizes: [Int] = []
    private var head = 0
    private var firstOpen: UInt64 = 0
    /// Replies that are ready before those of earlier calls. The buffer of a call without a reply is empty.
    private var early: [UInt64: ByteBuffer] = [:]

    var unsentCount: Int { bytes.count - sent }

    /// The memory of the replies that are ready to be sent, in bytes.
    var memory: Int { unsentCount == 0 ? 0 : bytes.capacity }

    /// The replies that are ready to be sent.
    var unsent: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { bytes.span.extracting(sent..<bytes.count) }
    }

    /// The token of the next call.
    var nextToken: UInt64 { firstOpen + UInt64(sizes.count - head) }

    /// Reserves the position of the next call's reply.
    ///
    /// - Parameter size: The bytes of the call that count against its user's limit until the reply is ready.
    /// - Returns: The token of the call.
    mutating func open(size: Int = 0) -> UInt64 {
        defer { sizes.append(size) }
        return nextToken
    }

    /// Adds the last reply to a call.
    ///
    /// - Parameters:
    ///   - token: The token of the call.
    ///   - write: Appends the reply; appends nothing for a call without a reply.
    /// - Returns: The size that was passed to `open(size:)`.
    @discardableResult
    mutating func close(_ token: UInt64, _ write: (inout ByteBuffer) -> Void) -> Int {
        let size = sizes[head + Int(token - firstOpen)]
        sizes[head + Int(token - firstOpen)] = 0
        guard token == firstOpen else {
            var reply = ByteBuffer()
            write(&reply)
            early[token] = reply
            return size
        }
        write(&bytes)
        advance()
        while !early.isEmpty, let reply = early.removeValue(forKey: firstOpen) {
            bytes.append(reply)
            advance()
        }
        return size
    }

    /// Adds one of several replies to a call. A call with several replies is always the only unanswered one.
    mutating func add(_ reply: [UInt8]) {
        bytes.append(contentsOf: reply)
    }

    /// Removes bytes that have been sent.
    mutating func sent(_ count: Int) {
        sent += count
        if sent == bytes.count {
            if bytes.capacity <= 64 << 10 { bytes.truncate(to: 0) } else { bytes = ByteBuffer() }
            sent = 0
        } else if sent >= 64 << 10, 2 * sent >= bytes.count {
            // The sent bytes must not accumulate if the client never catches up completely.
            bytes.removeFirst(sent)
            sent = 0
        }
    }

    /// Releases memory of an idle connection.
    mutating func releaseMemory() {
        guard unsentCount == 0, head == sizes.count else { return }
        if bytes.capacity > 1 << 10 { bytes = ByteBuffer() }
        if sizes.capacity > 1 << 7 { (sizes, head) = ([], 0) }
    }

    private mutating func advance() {
        firstOpen += 1
        head += 1
        if head == sizes.count {
            sizes.removeAll(keepingCapacity: sizes.capacity <= 4096)
            head = 0
        } else if head >= 4096, 2 * head >= sizes.count {
            sizes.removeFirst(head)
            head = 0
        }
    }
}
