package import IssueProtocol
public import Issues

/// Queries the daemon of this host about issues and their fates.
///
/// ```swift
/// let browser = IssueBrowser()
/// for group in try await browser.list(.init(level: .error), order: .worst).elements {
///     print(group.occurrences, group.title)
/// }
/// ```
///
/// All users can see the issues that were reported under their own user id; readers and
/// operators can see all issues. No call blocks a thread of the task's executor. All browsers of a process share one
/// thread and, for queries, one connection. Errors are `DeliveryError`, or `CancellationError` as
/// soon as the task is cancelled; that also cancels the query in the daemon.
public struct IssueBrowser: Sendable {
    private let socket: String?

    /// Creates a browser.
    ///
    /// - Parameter socket: The path of the daemon's socket. Nil uses `ISSUED_SOCKET` of the
    ///   environment, or else the first reachable socket of the user's own daemon and the system's.
    public init(socket: String? = nil) {
        self.socket = socket
    }

    // MARK: Reading

    /// Returns issues. All reports with the same fingerprint are one issue, called a group.
    ///
    /// - Parameters:
    ///   - filter: Selects the issues.
    ///   - order: The order of the issues.
    ///   - limit: The maximum number of issues on the page. Nil means 50; the daemon returns at most 1,000.
    ///   - page: ``Page/next`` of the previous page. Nil returns the first page.
    ///   - sparkline: The number of buckets for the counts of each group, from the filter's `since`
    ///     to its `until` or over the last 24 hours. Nil returns no counts.
    /// - Returns: A page of issues.
    /// - Throws: `DeliveryError` if the daemon cannot be reached or refuses the query.
    public func list(
        _ filter: Filter = Filter(), order: Order = .newest, limit: Int? = nil, after page: String? = nil,
        sparkline: Int? = nil
    ) async throws -> Page<Group> {
        let parameters = ListParameters(
            filter: filter.wire, order: order.wire, limit: limit, after: page, sparkline: sparkline)
        let reply: ListReply = try await ask(.list, parameters.json)
        return Page(elements: reply.groups.map { Group($0) }, next: reply.next)
    }

    /// Returns single records.
    ///
    /// - Parameters:
    ///   - filter: Selects the records.
    ///   - order: ``Order/newest`` or ``Order/oldest``.
    ///   - limit: The maximum number of records on the page. Nil means 50; the daemon returns at most 500.
    ///   - page: ``Page/next`` of the previous page. Nil returns the first page.
    /// - Returns: A page of records.
    /// - Throws: `DeliveryError` if the daemon cannot be reached or refuses the query.
    public func records(
        _ filter: Filter = Filter(), order: Order = .newest, limit: Int? = nil, after page: String? = nil
    ) async throws -> Page<Record> {
        let parameters = RecordsParameters(filter: filter.wire, order: order.wire, limit: limit, after: page)
        let reply: RecordsReply = try await ask(.records, parameters.json)
        return Page(elements: reply.records.map { Record($0) }, next: reply.next)
    }

    /// Returns all information about a record, or about the newest record of a group.
    ///
    /// - Parameter id: The id of the record or the group.
    /// - Returns: The record, its group and its fates.
    /// - Throws: `DeliveryError` with the code `.notFound` if no such record or group exists or it
    ///   belongs to another user, or with another code if the daemon cannot be reached.
    public func show(_ id: String) async throws -> Details {
        Details(try await ask(.show, ShowParameters(id: id).json))
    }

    /// Returns new records as they arrive.
    ///
    /// ```swift
    /// for try await record in browser.follow(.init(level: .critical)) {
    ///     print(record.message)
    /// }
    /// ```
    ///
    /// The sequence ends when the task is cancelled. It throws `DeliveryError` when the daemon
    /// ends.
    ///
    /// - Parameter filter: Selects the records. If it has a `since`, stored records from that time
    ///   on are returned first.
    /// - Returns: The sequence of records.
    public func follow(_ filter: Filter = Filter()) -> RecordSequence {
        RecordSequence(socket: socket, filter: filter)
    }

    /// Returns the status of the daemon, its store and its destinations.
    ///
    /// - Returns: The status.
    /// - Throws: `DeliveryError` if the daemon cannot be reached.
    public func status() async throws -> Status {
        Status(try await ask(.status, Array("{}".utf8)))
    }

    /// Waits until a record has a fate other than `pending`, and returns its fates.
    ///
    /// - Parameters:
    ///   - id: The id of the record.
    ///   - destination: The name of a destination. Nil waits for all destinations.
    ///   - timeout: The maximum time to wait. After it, the function returns the current fates.
    /// - Returns: The fate of the record for each destination.
    /// - Throws: `DeliveryError` with the code `.notFound` if no such record or destination exists,
    ///   or with another code if the daemon cannot be reached.
    public func fates(
        of id: String, destination: String? = nil, timeout: Duration = .seconds(30)
    ) async throws -> [IssueFate] {
        let parameters = AwaitParameters(id: id, destination: destination, timeout: timeout)
        do {
            let reply = try await CollectorClient.current.fates(parameters, at: .init(socket: socket), retries: false)
            return reply.fates
        } catch let error as CollectorConnectionError {
            throw DeliveryError(error, destination: destination)
        }
    }

    /// Returns records that were given up for a destination, newest first.
    ///
    /// - Parameters:
    ///   - destination: The name of a destination. Nil returns those of all destinations.
    ///   - records: The ids of records. Nil returns those of all records.
    ///   - hasLines: Whether to include the text that was to be sent.
    ///   - limit: The maximum number of dead letters on the page. Nil means 50; the daemon returns at most 500.
    ///   - page: ``Page/next`` of the previous page. Nil returns the first page.
    /// - Returns: A page of dead letters.
    /// - Throws: `DeliveryError` if the daemon cannot be reached or refuses the query.
    public func deadLetters(
        destination: String? = nil, records: [String]? = nil, withLines hasLines: Bool = false, limit: Int? = nil,
        after page: String? = nil
    ) async throws -> Page<DeadLetter> {
        let parameters = DeadLettersParameters(
            destination: destination, records: records, lines: hasLines ? true : nil, limit: limit, after: page)
        let reply: DeadLettersReply = try await ask(.deadLetters, parameters.json)
        return Page(elements: reply.deadLetters.map { DeadLetter($0) }, next: reply.next)
    }

    /// Connects to the daemon for a ``BrowserSession``. Blocks the calling thread.
    package func link() throws(CollectorConnectionError) -> any BrowserLink {
        try SocketLink(socket)
    }

    /// Calls a method and returns its reply.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - parameters: The parameters as JSON.
    ///   - timeout: The timeout for the reply. Nil waits indefinitely.
    ///   - isLong: Whether the call has a connection of its own, because it may take long.
    ///   - failing: Converts an error of the connection.
    func ask<Reply: JSONCodable>(
        _ method: CollectorMethod, _ parameters: [UInt8], timeout: Duration? = .seconds(45), isLong: Bool = false,
        failing: (CollectorConnectionError) -> DeliveryError = { DeliveryError($0) }
    ) async throws -> Reply {
        do {
            let json = try await CollectorClient.current.call(
                method, json: parameters, at: .init(socket: socket), timeout: timeout, isLong: isLong)
            return try BrowserReply(json).value
        } catch let error as CollectorConnectionError {
            throw failing(error)
        }
    }

    /// Calls a method that may take as long as it needs, on a connection of its own.
    func order<Reply: JSONCodable>(_ method: CollectorMethod, _ parameters: [UInt8]) async throws -> Reply {
        try await ask(method, parameters, timeout: nil, isLong: true)
    }
}

extension IssueBrowser {
    /// A selection of issues. All properties that are not nil must match. A list matches if one of its elements does.
    public struct Filter: Sendable {
        /// The names of applications.
        public var apps: [String]?
        /// The versions of applications.
        public var versions: [String]?
        /// The environments of applications.
        public var environments: [String]?
        /// The minimum level.
        public var level: IssueLevel?
        /// The error domains.
        public var domains: [String]?
        /// The error codes.
        public var codes: [Int]?
        /// The file IDs of source files, or the last components of their paths.
        public var files: [String]?
        /// The words that titles or domains must contain. The beginning of a word is enough.
        public var text: String?
        /// The ids of groups.
        public var groups: [String]?
        /// The ids of the users that reported the record.
        public var users: [UInt32]?
        /// The systemd units that reported the record.
        public var units: [String]?
        /// The states of groups.
        public var states: [State]?
        /// The fates of records. Not supported by ``IssueBrowser/list(_:order:limit:after:sparkline:)`` and histograms.
        public var outcomes: [IssueFate.Outcome]?
        /// The destination that ``outcomes`` refers to. Nil for any destination. Supported like ``outcomes``.
        public var destination: String?
        /// The earliest time at which the daemon received a record.
        public var since: IssueTimestamp?
        /// The latest time at which the daemon received a record.
        public var until: IssueTimestamp?

        /// Creates a filter. Other properties can be set afterwards.
        ///
        /// - Parameters:
        ///   - apps: The names of applications.
        ///   - level: The minimum level.
        ///   - text: The words that titles or domains must contain.
        ///   - groups: The ids of groups.
        ///   - since: The earliest time at which the daemon received a record.
        ///   - until: The latest time at which the daemon received a record.
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
            filter.severity = level
            filter.domains = domains
            filter.codes = codes?.map { Int64($0) }
            filter.files = files
            filter.text = text
            filter.groups = groups
            filter.users = users
            filter.units = units
            filter.states = states?.map(\.wire)
            filter.outcomes = outcomes
            filter.destination = destination
            filter.since = since
            filter.until = until
            return filter
        }
    }
}

extension IssueBrowser {
    /// The order of a result.
    public enum Order: Sendable {
        /// The most recent activity first.
        case newest
        /// The oldest activity first.
        case oldest
        /// The most frequent first. For groups only.
        case most
        /// The most severe first. For groups only.
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
    /// A page of a result.
    public struct Page<Element: Sendable>: Sendable {
        /// The elements on this page.
        public var elements: [Element]
        /// The position of the next page, to pass to the same function. Nil on the last page.
        public var next: String?
    }
}
