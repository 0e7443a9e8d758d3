import IssueCore
import IssueProtocol
import IssueStore

/// What waits to be answered.
struct QueryInbox: Sendable {
    /// Each user has his turn, so that the many questions of one do not hold up another's.
    private var jobs = FairQueue<QueryJob>(userQuantum: 1, connectionQuantum: 1)
    /// How many of each connection wait.
    private var waiting: [UInt64: Int] = [:]
    /// Connections that are gone and of which some wait.
    private var gone: Set<UInt64> = []
    var isStopping = false

    mutating func asked(_ job: QueryJob) {
        jobs.append(job, cost: 1, user: job.process.accountableUser, connection: job.connection)
        waiting[job.connection, default: 0] += 1
    }

    mutating func closed(_ connection: UInt64) {
        if waiting[connection] != nil { gone.insert(connection) }
    }

    /// Takes out the next that somebody still wants to know.
    mutating func take() -> QueryJob? {
        while let job = jobs.take(upTo: 1).first {
            let isWanted = !gone.contains(job.connection)
            let left = waiting[job.connection, default: 1] - 1
            waiting[job.connection] = left > 0 ? left : nil
            if left == 0 { gone.remove(job.connection) }
            if isWanted { return job }
        }
        return nil
    }
}
