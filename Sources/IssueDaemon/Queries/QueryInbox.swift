import IssueCore
import IssueProtocol
import IssueStore

/// Questions that wait for a query thread.
struct QueryInbox: Sendable {
    /// Which questions a thread answers.
    enum Lane: Sendable {
        /// Questions of users who are not operators, so operators can't keep this thread busy.
        case shared
        /// Questions of other users first, and of operators when there are no others.
        case mixed
        /// Only questions of root, the daemon's own user and operators.
        case privileged
    }

    /// The user who is charged for an answered question.
    struct Payer: Sendable {
        fileprivate var isPrivileged: Bool
        fileprivate var user: UInt32
    }

    /// After this time a question ends if a user waits who has used less.
    static let slice: Duration = .seconds(1)

    /// One user's questions take at most one of the shared threads.
    private var shared = TimeShareQueue<QueryJob>(slice: Self.slice, maxRunningPerUser: 1)
    private var privileged = TimeShareQueue<QueryJob>(slice: Self.slice, maxRunningPerUser: .max)
    /// How many of each connection wait.
    private var waiting: [UInt64: Int] = [:]
    /// Connections that are gone and of which some wait.
    private var gone: Set<UInt64> = []
    var isStopping = false

    mutating func asked(_ job: QueryJob) {
        let user = job.process.accountableUser
        if job.isPrivileged {
            privileged.append(job, user: user)
        } else {
            shared.append(job, user: user)
        }
        waiting[job.connection, default: 0] += 1
    }

    mutating func closed(_ connection: UInt64) {
        if waiting[connection] != nil { gone.insert(connection) }
    }

    /// Takes out the next question whose client is still connected.
    mutating func take(for lane: Lane) -> (job: QueryJob, payer: Payer)? {
        while let next = takeAny(for: lane) {
            let isWanted = !gone.contains(next.job.connection)
            let left = waiting[next.job.connection, default: 1] - 1
            waiting[next.job.connection] = left > 0 ? left : nil
            if left == 0 { gone.remove(next.job.connection) }
            if isWanted { return next }
            answered(next.payer, after: .zero)
        }
        return nil
    }

    private mutating func takeAny(for lane: Lane) -> (job: QueryJob, payer: Payer)? {
        if lane != .privileged, let next = shared.take() {
            return (next.item, Payer(isPrivileged: false, user: next.user))
        }
        if lane != .shared, let next = privileged.take() {
            return (next.item, Payer(isPrivileged: true, user: next.user))
        }
        return nil
    }

    /// A question was answered: its user may have the next one answered, and is charged for the time.
    mutating func answered(_ payer: Payer, after time: Duration) {
        if payer.isPrivileged {
            privileged.finished(user: payer.user, after: time)
        } else {
            shared.finished(user: payer.user, after: time)
        }
    }

    /// Whether a question that has run for some time must end so that others have their turn.
    func mustYield(_ payer: Payer, after time: Duration) -> Bool {
        payer.isPrivileged
            ? privileged.mustYield(user: payer.user, after: time) : shared.mustYield(user: payer.user, after: time)
    }
}
