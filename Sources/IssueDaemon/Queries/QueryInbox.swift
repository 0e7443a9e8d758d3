import IssueCore
import IssueProtocol
import IssueStore
import UnixIO

/// Queries that wait for a query thread.
struct QueryInbox: Sendable {
    /// The queries that a thread answers.
    enum Lane: Sendable {
        /// Only queries of users who are not operators, so that operators can't keep this thread busy.
        case shared
        /// Queries of users who are not operators. If none of these may begin, queries of operators.
        case mixed
        /// Only queries of operators.
        case privileged
    }

    /// The user who is charged for a query.
    struct Payer: Sendable {
        fileprivate var isPrivileged: Bool
        fileprivate(set) var user: UInt32
    }

    /// After this time, a query ends if a user who has used less time is waiting.
    static let slice: Duration = .seconds(1)

    /// The queries of users who are not operators. One user's queries use at most one thread at a time.
    private var shared = TimeShareQueue<QueryJob>(slice: Self.slice, maxRunningPerUser: 1)
    private var privileged = TimeShareQueue<QueryJob>(slice: Self.slice, maxRunningPerUser: .max)
    private var replies: ReplyBudget
    /// Whether a query waits because the replies to all users together leave too little memory.
    private var lacksRoom = false
    /// Whether a query waits for memory, or until its user has received more of their earlier replies.
    private var isWaiting = false
    /// Whether a thread has got the action `requestMemory` since `lacksRoom` was set.
    private var hasRequestedMemory = false
    var isStopping = false

    init(replies: ReplyBudget) {
        self.replies = replies
    }

    mutating func enqueue(_ job: QueryJob) {
        self[keyPath: Self.queue(isPrivileged: job.isPrivileged)].append(job, user: job.process.accountableUser)
    }

    /// Removes the waiting queries of a closed connection, so that they do not accumulate.
    mutating func closed(_ connection: UInt64, user: UInt32) {
        shared.removeAll(of: user) { $0.connection == connection }
        privileged.removeAll(of: user) { $0.connection == connection }
    }

    /// The next action of a query thread.
    enum ThreadAction: Sendable {
        case answer(QueryJob, Payer)
        /// Ask the socket thread to close connections whose clients do not read their replies, to free memory.
        case requestMemory
        case stop
    }

    /// Returns the next action of a thread; nil if it must wait.
    mutating func nextAction(for lane: Lane) -> ThreadAction? {
        if isStopping { return .stop }
        if let next = take(for: lane) { return .answer(next.job, next.payer) }
        guard lacksRoom, !hasRequestedMemory else { return nil }
        hasRequestedMemory = true
        return .requestMemory
    }

    /// Takes the next query for a thread; nil if there is none that may begin.
    mutating func take(for lane: Lane) -> (job: QueryJob, payer: Payer)? {
        if lane != .privileged, let next = take(isPrivileged: false) { return next }
        return lane == .shared ? nil : take(isPrivileged: true)
    }

    private static func queue(isPrivileged: Bool) -> WritableKeyPath<Self, TimeShareQueue<QueryJob>> {
        isPrivileged ? \.privileged : \.shared
    }

    private mutating func take(isPrivileged: Bool) -> (job: QueryJob, payer: Payer)? {
        let replies = replies
        var (lacksRoom, isWaiting) = (false, false)
        let next = self[keyPath: Self.queue(isPrivileged: isPrivileged)].take { user in
            let decision = replies.decision(user: user, isPrivileged: isPrivileged)
            if decision == .waitForOthers { lacksRoom = true }
            if decision != .begin { isWaiting = true }
            return decision == .begin
        }
        guard let next else {
            if lacksRoom { self.lacksRoom = true }
            if isWaiting { self.isWaiting = true }
            return nil
        }
        self.replies.changed(user: next.user, by: ReplyBudget.maxReply)
        return (next.item, Payer(isPrivileged: isPrivileged, user: next.user))
    }

    /// Adds a difference, which may be negative, to the memory of the replies to a user.
    ///
    /// - Returns: `true` if a query waited because replies took too much memory, so that threads must be woken.
    mutating func repliesChanged(of user: UInt32, by difference: Int) -> Bool {
        replies.changed(user: user, by: difference)
        defer { (lacksRoom, isWaiting, hasRequestedMemory) = (false, false, false) }
        return isWaiting
    }

    /// Charges a user for the time of a query. The user's next query may then start.
    ///
    /// - Parameter bytes: The size of the reply, which counts until `repliesChanged` subtracts it.
    /// - Returns: `true` if a query waited because replies took too much memory, so that other threads must be woken.
    mutating func answered(_ payer: Payer, after time: Duration, bytes: Int) -> Bool {
        self[keyPath: Self.queue(isPrivileged: payer.isPrivileged)].finished(user: payer.user, after: time)
        return repliesChanged(of: payer.user, by: bytes - ReplyBudget.maxReply)
    }

    /// Returns `true` if a query that has run for `time` must end so that others get their turn.
    func mustYield(_ payer: Payer, after time: Duration) -> Bool {
        self[keyPath: Self.queue(isPrivileged: payer.isPrivileged)].mustYield(user: payer.user, after: time)
    }
}

/// A query or a change that a user has requested.
struct QueryJob: Sendable {
    enum Work: Sendable {
        case list(ListParameters)
        /// - Parameter more: `true` if the reply announces another page when the search is not complete.
        case records(RecordsParameters, more: Bool)
        /// Returns the newest row, after which a follower starts.
        case newest
        /// Returns records above a row for a follower.
        case news(IssueFilter, row: RowID)
        case show(ShowParameters)
        case histogram(HistogramParameters)
        case fates(AwaitParameters)
        case deadLetters(DeadLettersParameters)
        case status
        /// Returns the values of `io.systemd.Metrics`.
        case metrics
        /// Returns the state of the limits.
        case limits
        /// Sets the state of a group.
        case setState(SetStateParameters)
        /// Stores a deployment.
        case deploy(DeployParameters)
        case removeDeployment(RemoveDeploymentParameters)
        case deployments(DeploymentsParameters)
        /// Returns what retention removes next.
        case retention
        /// Changes or queries the grouping.
        case grouping(GroupingQueries.Work)
        /// Returns what would become of a record.
        case explainRecord(ExplainRecordParameters)
        case silences
        case addSilence(IssueSilence)
        case endSilence(String)
        /// Returns the state of a destination, or of all destinations if the name is nil, after a flush.
        case destinations(String?)

        var isLimits: Bool {
            if case .limits = self { true } else { false }
        }
    }

    var connection: UInt64
    /// The index of the query among the calls of its connection.
    var queryToken: UInt64
    var viewer: Viewer
    var process: ReportingProcess
    /// Whether the user is an operator. Operators may change all groups, and one query thread answers only their
    /// queries.
    var isPrivileged = false
    var work: Work

    func answer(_ content: QueryAnswer.Content, memory: QueryAnswer.Memory? = nil) -> QueryAnswer {
        QueryAnswer(connection: connection, queryToken: queryToken, content: content, memory: memory)
    }
}

/// The answer to a query or job.
struct QueryAnswer: Sendable {
    enum Content: Sendable {
        /// A complete reply, including its terminating NUL.
        case reply([UInt8])
        /// A complete reply, including its terminating NUL, and the file that is passed with it.
        case fileReply([UInt8], PassedFile)
        case refusal(CollectorError)
        /// One of several replies, including its terminating NUL.
        case progress([UInt8])
        /// A page of records. If `next` is set, the search continues there, and may find further records.
        case page([UInt8], next: String?)
        /// New records for a follower, or nil if there are none, and the last row that the follower has then seen.
        case news([UInt8]?, row: RowID)
        /// The fates of the awaited record.
        case fates([IssueFate])
    }

    /// The memory of a reply. The `ReplyBudget` counts it until the socket thread has handled the answer.
    struct Memory: Sendable {
        var user: UInt32
        var bytes: Int
    }

    var connection: UInt64
    /// The index of the query among the calls of its connection. The query may have been cancelled since.
    var queryToken: UInt64
    var content: Content
    /// The memory that counts in the `ReplyBudget`; nil for answers that are not from a query thread.
    var memory: Memory?
}

extension QueryAnswer.Content {
    /// A complete reply with these parameters.
    static func reply(with parameters: some JSONCodable) -> Self { .reply(QueryService.reply(parameters)) }

    /// The encoded reply; nil for answers that the socket thread encodes, and for news without records.
    var encoded: [UInt8]? {
        switch self {
        case .reply(let bytes), .fileReply(let bytes, _), .progress(let bytes), .page(let bytes, _): bytes
        case .news(let bytes, _): bytes
        case .refusal, .fates: nil
        }
    }
}
