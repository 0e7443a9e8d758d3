import IssueCore
import IssueProtocol
import IssueStore

/// One call as a client would send it.
struct SentCall {
    var json: [String]
    var numbering: ReportCall.Numbering?

    init(_ json: [String], producer: ProducerID? = nil, sequence: Int64 = 0) {
        self.json = json
        numbering = producer.map { ReportCall.Numbering(producer: $0, sequence: sequence) }
    }

    init(_ records: [IssueRecord], producer: ProducerID? = nil, sequence: Int64 = 0) {
        self.init(
            records.map { String(decoding: $0.json, as: UTF8.self) }, producer: producer, sequence: sequence)
    }
}

extension Submission {
    /// Decodes calls as the socket loop does.
    init(_ calls: [SentCall], from process: ReportingProcess = .ordinary) throws {
        var decoder = RecordDecoder(limits: RecordLimits(), seed: 99)
        self.init(process: process, batch: RecordBatch(), calls: [])
        for (token, sent) in calls.enumerated() {
            let first = batch.records.count
            var call = ReportCall(
                token: UInt64(token), records: first..<first, rejected: [], numbering: sent.numbering)
            for (index, json) in sent.json.enumerated() {
                let bytes = Array(json.utf8)
                var scanner = JSONScanner(bytes.span, maximumDepth: 32, maximumKeys: 256)
                if let rejection = try decoder.decode(&scanner, into: &batch) {
                    call.rejected.append(ReportCall.Rejected(index: index, rejection: rejection))
                }
            }
            call.records = first..<batch.records.count
            self.calls.append(call)
        }
    }

    init(of records: [IssueRecord], from process: ReportingProcess = .ordinary) throws {
        try self.init([SentCall(records)], from: process)
    }
}
