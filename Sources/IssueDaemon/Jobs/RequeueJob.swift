import IssueProtocol
import IssueStore

/// Makes dead letters pending again, in small steps between commits.
struct RequeueJob {
    private let parameters: RequeueParameters

    private static let lettersAtATime = 256

    init(_ parameters: RequeueParameters) {
        self.parameters = parameters
    }

    func run(_ run: inout JobRun) throws -> RequeueReply {
        let letters = try run.reader().deadLetterNumbers(parameters)
        if let first = parameters.records?.first, letters.isEmpty { throw CollectorError.notFound(id: first) }
        var count: Int64 = 0
        var left = letters[...]
        while !left.isEmpty {
            let some = Array(left.prefix(Self.lettersAtATime))
            left = left.dropFirst(some.count)
            count += try run.writer.perform { try $0.requeue(some) }
            try run.progress(RequeueReply(count: count))
        }
        if count > 0 { run.log.notice("Dead letters go once more on request", ["count": "\(count)"]) }
        return RequeueReply(count: count, left: Int64(letters.count) - count)
    }
}
