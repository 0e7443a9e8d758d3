package import IssueProtocol
public import Issues

/// Asks the daemon of this host what was reported, and what became of it.
///
/// ```swift
/// let browser = IssueBrowser()
/// for group in try await browser.list(.init(level: .error), order: .worst).elements {
///     print(group.occurrences, group.title)
/// }
/// ```
///
/// Everybody sees what was reported under the same user; operators see all.
/// Each question has a connection of its own, and blocks no thread of the
/// tasks. Errors are `DeliveryError`.
public struct IssueBrowser: Sendable {
    private let socket: String?

    /// A browser of the daemon at a socket.
    ///
    /// - Parameter socket: The path; where none is named `ISSUED_SOCKET` of the environment, then the user's own
    ///   daemon's, then the system's.
    public init(socket: String? = nil) {
        self.socket = socket
    }

    // MARK: Reading

    /// Asks for issues: all reports with the same fingerprint, as one.
    ///
    /// - Parameters:
    ///   - filter: Which ones.
    ///   - order: In which order.
    ///   - limit: How many at most; the daemon has a limit of its own.
    ///   - page: Where to go on, as the page before said in ``Page/next``.
    ///   - sparkline: Into how many buckets each group is counted, from the filter's `since` to its `until` or over the
    ///     last 24 hours.
    /// - Returns: A page of them.
    public func list(
        _ filter: Filter = Filter(), order: Order = .newest, limit: Int? = nil, after page: String? = nil,
        sparkline: Int? = nil
    ) async throws -> Page<Group> {
        let parameters = ListParameters(
            filter: filter.wire, order: order.wire, limit: limit, after: page, sparkline: sparkline)
        let reply = try await ask { session throws(DeliveryError) in try session.list(parameters).value }
        return Page(elements: reply.groups.map { Group($0) }, next: reply.next)
    }

    /// Asks for single records.
    ///
    /// - Parameters:
    ///   - filter: Which ones.
    ///   - order: ``Order/newest`` or ``Order/oldest``.
    ///   - limit: How many at most; the daemon has a limit of its own.
    ///   - page: Where to go on, as the page before said in ``Page/next``.
    /// - Returns: A page of them.
    public func records(
        _ filter: Filter = Filter(), order: Order = .newest, limit: Int? = nil, after page: String? = nil
    ) async throws -> Page<Record> {
        let parameters = RecordsParameters(filter: filter.wire, order: order.wire, limit: limit, after: page)
        let reply = try await ask { session throws(DeliveryError) in try session.records(parameters).value }
        return Page(elements: reply.records.map { Record($0) }, next: reply.next)
    }

    /// Asks for everything about a record, or about the newest record of a group.
    ///
    /// - Parameter id: The record's id, or the group's.
    /// - Returns: The record, its group and what became of it.
    public func show(_ id: String) async throws -> Details {
        Details(try await ask { session throws(DeliveryError) in try session.show(id).value })
    }

    /// New records as they come.
    ///
    /// ```swift
    /// for try await record in browser.follow(.init(level: .critical)) {
    ///     print(record.message)
    /// }
    /// ```
    ///
    /// It ends when the task is cancelled, and throws when the daemon ends.
    ///
    /// - Parameter filter: Which ones. Where it says since when, what there is from then on comes first.
    public func follow(_ filter: Filter = Filter()) -> RecordSequence {
        RecordSequence(socket: socket, filter: filter)
    }

    /// Asks how the daemon, its store and its destinations are.
    public func status() async throws -> Status {
        Status(try await ask { session throws(DeliveryError) in try session.status().value })
    }

    /// Waits until a record has a fate other than `pending`, or the time is over.
    ///
    /// - Parameters:
    ///   - id: The record's id.
    ///   - destination: Which destination is meant; all of them if nil.
    ///   - timeout: How long to wait at most.
    /// - Returns: What became of it, for each destination.
    /// - Throws: `DeliveryError` of the code `.notFound` where there is no such record or destination.
    public func fates(
        of id: String, destination: String? = nil, timeout: Duration = .seconds(30)
    ) async throws -> [IssueFate] {
        let parameters = AwaitParameters(id: id, destination: destination, timeout: timeout)
        let reply = try await ask { session throws(DeliveryError) in
            try session.await(parameters).value
        } failing: {
            DeliveryError($0, destination: destination)
        }
        return reply.fates.map { IssueFate($0) }
    }

    /// Asks for what was given up, newest first.
    ///
    /// - Parameters:
    ///   - destination: Only what one destination did not take.
    ///   - records: Only these records, by their ids.
    ///   - hasLines: Whether each is to come with what was to be sent.
    ///   - limit: How many at most; the daemon has a limit of its own.
    ///   - page: Where to go on, as the page before said in ``Page/next``.
    /// - Returns: A page of them.
    public func deadLetters(
        destination: String? = nil, records: [String]? = nil, withLines hasLines: Bool = false, limit: Int? = nil,
        after page: String? = nil
    ) async throws -> Page<DeadLetter> {
        let parameters = DeadLettersParameters(
            destination: destination, records: records, lines: hasLines ? true : nil, limit: limit, after: page)
        let reply = try await ask { session throws(DeliveryError) in try session.deadLetters(parameters).value }
        return Page(elements: reply.deadLetters.map { DeadLetter($0) }, next: reply.next)
    }

    /// A connection for ``BrowserSession``, for who may block.
    package func link() throws(CollectorConnectionError) -> any BrowserLink {
        try SocketLink(socket)
    }

    /// Asks on a thread of its own, since it blocks and the threads of the tasks are few.
    func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (BrowserSession<DeliveryError>) throws(DeliveryError) -> Answer,
        failing: @escaping @Sendable (CollectorConnectionError) -> DeliveryError = { DeliveryError($0) }
    ) async throws -> Answer {
        try await BlockingCall.onThread { () throws(DeliveryError) in
            let link: any BrowserLink
            do throws(CollectorConnectionError) {
                link = try self.link()
            } catch {
                throw failing(error)
            }
            return try question(BrowserSession(link: link, failing: failing))
        }
    }
}

extension IssueBrowser {
    /// Which issues are asked for: every part that is given must hold, a list when one of its members does.
    public struct Filter: Sendable {
        /// Of these applications.
        public var apps: [String]?
        /// Of these versions of an application.
        public var versions: [String]?
        /// From these environments.
        public var environments: [String]?
        /// This level or a worse one.
        public var level: IssueLevel?
        /// Of these error domains.
        public var domains: [String]?
        /// With these error codes.
        public var codes: [Int]?
        /// From these source files.
        public var files: [String]?
        /// With this text in it.
        public var text: String?
        /// Of these groups.
        public var groups: [String]?
        /// Reported by these users, by number.
        public var users: [UInt32]?
        /// Reported by these units of systemd.
        public var units: [String]?
        /// Of groups in these states.
        public var states: [State]?
        /// With these fates.
        public var outcomes: [IssueFate.Outcome]?
        /// The destination whose fates count.
        public var destination: String?
        /// Not older than this.
        public var since: IssueTimestamp?
        /// Not newer than this.
        public var until: IssueTimestamp?

        /// A filter by application, level and time; more is set on it afterwards.
        public init(
            apps: [String]? = nil, level: IssueLevel? = nil, text: String? = nil, groups: [String]? = nil,
            since: IssueTimestamp? = nil, until: IssueTimestamp? = nil
        ) {
            self.apps = apps
            self.level = level
            self.text = text
            self.groups = groups
            self.since = since
            self.until = until
        }

        package var wire: IssueFilter {
            var filter = IssueFilter()
            filter.apps = apps
            filter.versions = versions
            filter.environments = environments
            filter.severity = level?.wire
            filter.domains = domains
            filter.codes = codes?.map { Int64($0) }
            filter.files = files
            filter.text = text
            filter.groups = groups
            filter.users = users
            filter.units = units
            filter.states = states?.map(\.wire)
            // A word that is none of ours matches nothing that this version knows.
            filter.fates = outcomes?.compactMap { Fate(name: $0.rawValue) }
            filter.destination = destination
            filter.since = since?.wire
            filter.until = until?.wire
            return filter
        }
    }
}

extension IssueBrowser {
    /// In which order an answer comes.
    public enum Order: Sendable {
        /// The newest activity first.
        case newest
        /// The oldest activity first.
        case oldest
        /// The most frequent first; of groups only.
        case most
        /// The most serious first; of groups only.
        case worst

        var wire: ResultOrder {
            switch self {
            case .newest: .newest
            case .oldest: .oldest
            case .most: .most
            case .worst: .worst
            }
        }
    }
}

extension IssueBrowser {
    /// A part of an answer that may be longer.
    public struct Page<Element: Sendable>: Sendable {
        /// What is on this page.
        public var elements: [Element]
        /// Where the next page begins; nil on the last one.
        public var next: String?
    }
}
