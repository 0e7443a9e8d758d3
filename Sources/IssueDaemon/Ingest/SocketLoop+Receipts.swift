import IssueCore
import IssueProtocol
import IssueStore

extension SocketLoop {
    /// Gives the receipts of a commit, looking once at each connection for all that follow each other.
    func handle(_ outcomes: [CallOutcome]) {
        var start = 0
        while start < outcomes.count {
            let id = outcomes[start].connection
            var end = start + 1
            while end < outcomes.count, outcomes[end].connection == id { end += 1 }
            if let connection = connections[id] {
                answer(outcomes, start..<end, connection, &receipts)
            } else {
                for outcome in outcomes[start..<end] {
                    for _ in 0..<outcome.calls { orphanAnswered(id) }
                }
            }
            start = end
        }
    }

    private func answer(
        _ outcomes: [CallOutcome], _ range: Range<Int>, _ connection: Connection, _ receipts: inout ReceiptWriter
    ) {
        // Out of the connection while it lasts: each access to a part of it would cost as much as a receipt.
        var replies = ReplyQueue()
        var session = Session()
        swap(&replies, &connection.replies)
        swap(&session, &connection.session)
        var size = 0
        var goesOn = false
        for index in range {
            let outcome = outcomes[index]
            count(outcome.receipts)
            for call in 0..<outcome.calls {
                let token = outcome.token &+ UInt64(call)
                let isSilent = !connection.silent.isEmpty && connection.silent.remove(token) != nil
                size += replies.close(token) { output in
                    if !isSilent { receipts.append(outcome.receipts, part: call, of: outcome.calls, to: &output) }
                }
                switch session.reportAnswered() {
                case .resume: goesOn = true
                case .none: break
                }
            }
        }
        swap(&replies, &connection.replies)
        swap(&session, &connection.session)
        changed(inFlight: -size, of: connection)
        touch(connection)
        if goesOn, connection.held != nil { process(connection) }
    }

    private func count(_ receipts: ReceiptList) {
        guard case .mixed(let receipts) = receipts else { return }
        let duplicates = receipts.count { if case .duplicate = $0 { true } else { false } }
        service.board.counted(rejected: 0, duplicates: duplicates)
    }
}
