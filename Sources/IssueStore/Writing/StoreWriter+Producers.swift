import IssueCore
import IssueProtocol
import SQLiteKit

extension StoreWriter {
    /// Stores the records of numbered calls none of which has been received before; answers nothing for others.
    func takeFresh(
        _ call: ReportCall, _ numbering: ReportCall.Numbering, of submission: Submission, _ process: ProcessEntry,
        _ commit: inout Commit
    ) throws -> ReceiptList? {
        guard case .fresh = try reception(of: call, numbering, submission) else { return nil }
        let first = commit.rows.nextID
        let receipts = try store(call.records, of: call, submission, process, &commit)
        producers.stored(
            ProducerMark.Call(
                sequence: numbering.sequence, count: Int64(call.count), firstRow: first,
                rejected: call.rejected.map { Int64($0.index) }))
        return receipts
    }

    private func reception(
        of call: ReportCall, _ numbering: ReportCall.Numbering, _ submission: Submission
    ) throws -> ProducerMark.Reception {
        try producers.received(
            ProducerTable.Key(uid: submission.process.sender.uid, producer: numbering.producer),
            sequence: numbering.sequence, count: Int64(call.count), on: connection)
    }

    /// Stores those records of a numbered call that have not been received before, and answers all of them.
    func takeNumbered(
        _ call: ReportCall, of submission: Submission, _ process: ProcessEntry, _ commit: inout Commit
    ) throws -> ReceiptList {
        guard let numbering = call.numbering else {
            preconditionFailure("A call without a number is taken as it is")
        }
        switch try reception(of: call, numbering, submission) {
        case .fresh:
            guard let receipts = try takeFresh(call, numbering, of: submission, process, &commit) else {
                preconditionFailure("A call that has not been received is still so a moment later")
            }
            return receipts
        case .resend(let answers):
            return .mixed(answers.enumerated().map { receipt($0.element, at: $0.offset, of: call) })
        case .straddles(let answers):
            return try takeRest(of: call, numbering, known: answers, submission, process, &commit)
        case .forgotten:
            return .mixed([RecordReceipt](repeating: .duplicate(id: nil), count: call.count))
        }
    }

    /// Splits a call of which the first records are known: old receipts, then new records.
    private func takeRest(
        of call: ReportCall, _ numbering: ReportCall.Numbering, known: [ProducerMark.PastAnswer],
        _ submission: Submission, _ process: ProcessEntry, _ commit: inout Commit
    ) throws -> ReceiptList {
        let rejectedBefore = call.rejected.count { $0.index < known.count }
        var rest = call
        rest.records = (call.records.lowerBound + known.count - rejectedBefore)..<call.records.upperBound
        rest.rejected = call.rejected.dropFirst(rejectedBefore).map {
            ReportCall.Rejected(index: $0.index - known.count, rejection: $0.rejection)
        }
        let first = commit.rows.nextID
        _ = try store(rest.records, of: rest, submission, process, &commit)
        producers.stored(
            ProducerMark.Call(
                sequence: numbering.sequence + Int64(known.count), count: Int64(rest.count), firstRow: first,
                rejected: rest.rejected.map { Int64($0.index) }))
        let old = known.enumerated().map { receipt($0.element, at: $0.offset, of: call) }
        return .mixed(old + receipts(of: rest, first: first))
    }

    private func receipt(
        _ answer: ProducerMark.PastAnswer, at index: Int, of call: ReportCall
    ) -> RecordReceipt {
        switch answer {
        case .stored(let row): return .duplicate(id: recordID(row: row).text)
        case .forgotten: return .duplicate(id: nil)
        case .rejected:
            let rejection = call.rejected.first { $0.index == index }?.rejection
            return .rejected(field: rejection?.field, reason: rejection?.reason ?? "the record was rejected before")
        }
    }
}
