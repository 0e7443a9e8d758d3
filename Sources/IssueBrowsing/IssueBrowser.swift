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
/// Users can see the issues that were reported under their own user id, unless that id is reused for other users, as
/// those of dynamic users are. Readers and operators can see all issues.
///
/// No call blocks a thread of the task's executor. All browsers of a process share one thread and, for short queries to
/// the same socket, one connection. Errors are `IssueDeliveryError`, or `CancellationError` as soon as the task is
/// cancelled. The daemon then cancels queries, backups and repairs, too. It completes purges, requeues, flushes, and
/// changes of issues and deployments that it has begun.
public struct IssueBrowser: Sendable {
    private let socket: String?

    /// Creates a browser.
    ///
    /// - Parameter socket: The path of the daemon's socket. Nil uses the path in the environment variable
    ///   `ISSUED_SOCKET`. If that is not set, the browser uses the socket of the user's own daemon or, if that is not
    ///   reachable or not trusted, the socket of the system's daemon.
    public init(socket: String? = nil) {
        self.socket = socket
    }

    // MARK: Reading

    /// Returns issues, also called groups. A user's reports with the same application and fingerprint are one issue,
    /// unless the grouping was corrected.
    ///
    /// - Parameters:
    ///   - filter: Selects the issues.
    ///   - order: The order of the issues.
    ///   - limit: The maximum number of issues on the page. Nil means 50; the daemon returns at most 1,000.
    ///   - page: ``Page/next`` of the previous page. Nil returns the first page.
    ///   - sparkline: The number of buckets in which the records of each group are counted: at most 1,000, and at most
    ///     100,000 divided by `limit`. They cover the time from the filter's `since` to its `until`. Without
    ///     an `until` they end now; without a `since` they start 24 hours before the end. Nil returns no counts.
    /// - Returns: A page of issues.
    /// - Throws: `IssueDeliveryError` if the daemon cannot be reached or refuses the query.
    public func list(
        _ filter: IssueFilter = IssueFilter(), order: ResultOrder = .newest, limit: Int? = nil,
        after page: String? = nil,
        sparkline: Int? = nil
    ) async throws -> Page<IssueGroup> {
        let parameters = ListParameters(
            filter: filter, order: order, limit: limit, after: page, sparkline: sparkline)
        let reply = try await call(CollectorCalls.list, parameters)
        return Page(elements: reply.groups, next: reply.next)
    }

    /// Returns single records.
    ///
    /// - Parameters:
    ///   - filter: Selects the records.
    ///   - order: ``ResultOrder/newest`` or ``ResultOrder/oldest``.
    ///   - limit: The maximum number of records on the page. Nil means 50; the daemon returns at most 500.
    ///   - page: ``Page/next`` of the previous page. Nil returns the first page.
    /// - Returns: A page of records.
    /// - Throws: `IssueDeliveryError` if the daemon cannot be reached or refuses the query.
    public func records(
        _ filter: IssueFilter = IssueFilter(), order: ResultOrder = .newest, limit: Int? = nil,
        after page: String? = nil
    ) async throws -> Page<StoredRecord> {
        let parameters = RecordsParameters(filter: filter, order: order, limit: limit, after: page)
        let reply = try await call(CollectorCalls.records, parameters)
        return Page(elements: reply.records, next: reply.next)
    }

    /// Returns all information about a record, or about the newest record of a group.
    ///
    /// - Parameter id: The id of the record or the group.
    /// - Returns: The record, its group and its fates.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such record or group exists or the caller may not
    ///   see it; `.refused` if the record is in a damaged part of the database; or another code if the daemon cannot be
    ///   reached.
    public func show(_ id: String) async throws -> IssueDetails {
        try await call(CollectorCalls.show, ShowParameters(id: id))
    }

    /// Returns new records as they arrive.
    ///
    /// ```swift
    /// for try await record in browser.follow(.init(level: .critical)) {
    ///     print(record.message)
    /// }
    /// ```
    ///
    /// The sequence ends when the task is cancelled. It throws `IssueDeliveryError` if the daemon cannot be reached,
    /// refuses the filter or stops.
    ///
    /// - Parameter filter: Selects the records. If it has a `since`, stored records from that time on are returned
    ///   first.
    /// - Returns: The sequence of records.
    public func follow(_ filter: IssueFilter = IssueFilter()) -> RecordSequence {
        RecordSequence(socket: socket, filter: filter)
    }

    /// Returns the status of the daemon, its store and its destinations.
    ///
    /// - Returns: The status.
    /// - Throws: `IssueDeliveryError` if the daemon cannot be reached.
    public func status() async throws -> DaemonStatus {
        try await call(CollectorCalls.status, NoParameters())
    }

    /// Waits until no fate of a record is `pending`, and returns the fates.
    ///
    /// - Parameters:
    ///   - id: The id of the record.
    ///   - destination: The name of the only destination whose fate is awaited and returned. Nil for all destinations.
    ///   - timeout: The time to wait. After it, the function returns the current fates. If the daemon has not answered
    ///     at all by then, the function waits up to 15 seconds longer, and then throws.
    /// - Returns: The fate of the record at `destination`, or at each destination.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such record or destination exists, or with
    ///   another code if the daemon cannot be reached.
    public func fates(
        of id: String, destination: String? = nil, timeout: Duration = .seconds(30)
    ) async throws -> [IssueFate] {
        let parameters = AwaitParameters(id: id, destination: destination, timeout: timeout)
        do {
            let reply = try await CollectorClient.current.fates(parameters, at: .init(socket: socket), retries: false)
            return reply.fates
        } catch let error as CollectorConnectionError {
            throw IssueDeliveryError(error, destination: destination)
        }
    }

    /// Returns dead letters, newest first: records, summaries and corrections that were given up for a destination.
    ///
    /// - Parameters:
    ///   - destination: The name of a destination. Nil returns the dead letters of all destinations.
    ///   - records: The ids of the records, summaries and corrections whose dead letters are returned. Nil returns all.
    ///   - hasLines: `true` to include the line that was to be sent for each dead letter.
    ///   - limit: The maximum number of dead letters on the page. Nil means 50; the daemon returns at most 500.
    ///   - page: ``Page/next`` of the previous page. Nil returns the first page.
    /// - Returns: A page of dead letters.
    /// - Throws: `IssueDeliveryError` with the code `.notFound` if no such destination exists, or with another code if
    ///   the daemon cannot be reached or refuses the query.
    public func deadLetters(
        destination: String? = nil, records: [String]? = nil, withLines hasLines: Bool = false, limit: Int? = nil,
        after page: String? = nil
    ) async throws -> Page<DeadLetter> {
        let parameters = DeadLettersParameters(
            destination: destination, records: records, lines: hasLines ? true : nil, limit: limit, after: page)
        let reply = try await call(CollectorCalls.deadLetters, parameters) {
            IssueDeliveryError($0, destination: destination)
        }
        return Page(elements: reply.deadLetters, next: reply.next)
    }

    /// Calls a method and returns its reply.
    ///
    /// If `timeout` is nil, the call waits indefinitely. If `usesOwnConnection` is `true`, the call uses a separate
    /// connection and is never repeated. `makeFailure` converts an error of the connection.
    func call<Parameters, Reply>(
        _ call: CollectorCall<Parameters, Reply>, _ parameters: Parameters, timeout: Duration? = .seconds(45),
        usesOwnConnection: Bool = false,
        makeFailure: (CollectorConnectionError) -> IssueDeliveryError = { IssueDeliveryError($0) }
    ) async throws -> Reply {
        do {
            let json = try await CollectorClient.current.call(
                call.method, json: parameters.json, at: .init(socket: socket), timeout: timeout,
                usesOwnConnection: usesOwnConnection)
            return try BrowserReply(json).value
        } catch let error as CollectorConnectionError {
            throw makeFailure(error)
        }
    }

    /// Calls a method that may take long, without a timeout and on a separate connection.
    func runOperation<Parameters, Reply>(
        _ call: CollectorCall<Parameters, Reply>, _ parameters: Parameters,
        makeFailure: (CollectorConnectionError) -> IssueDeliveryError = { IssueDeliveryError($0) }
    ) async throws -> Reply {
        try await self.call(call, parameters, timeout: nil, usesOwnConnection: true, makeFailure: makeFailure)
    }
}

extension IssueBrowser {
    /// Counts of received records over time.
    public struct Histogram: Sendable {
        /// The start of the first bucket.
        public var start: IssueTimestamp
        /// The length of a bucket.
        public var bucket: Duration
        /// The counts.
        public var series: [HistogramSeries]

        /// Returns the start of a bucket.
        ///
        /// - Parameter index: The index of the bucket, from 0.
        /// - Returns: The time at which the bucket starts.
        public func start(ofBucket index: Int) -> IssueTimestamp {
            start.advanced(by: bucket * index)
        }
    }

    /// Counts records over time, including records that are no longer stored.
    ///
    /// - Parameters:
    ///   - filter: Selects the records. Without a `since`, counting starts 24 hours before `until` or, if that is not
    ///     set either, 24 hours ago.
    ///   - bucket: The length of a bucket, in whole minutes. At most 1,000 buckets are allowed, so for 24 hours the
    ///     minimum is two minutes.
    ///   - dimension: The property that the series are split by.
    /// - Returns: The counts.
    /// - Throws: `IssueDeliveryError` with the code `.refused` if the filter or the bucket length is invalid, or with
    ///   another code if the daemon cannot be reached.
    public func histogram(
        _ filter: IssueFilter = IssueFilter(), bucket: Duration = .seconds(3600),
        by dimension: HistogramDimension = .total
    ) async throws -> Histogram {
        let parameters = HistogramParameters(filter: filter, bucket: bucket, by: dimension)
        let reply = try await call(CollectorCalls.histogram, parameters) { error in
            guard case .refused(.invalidFilter("bucket", let reason)) = error else { return IssueDeliveryError(error) }
            return IssueDeliveryError(
                .refused, "Invalid bucket length \(bucket): \(reason). Without `since`, the time range is 24 hours.")
        }
        return Histogram(start: reply.start, bucket: bucket, series: reply.series)
    }
}

extension IssueBrowser {
    /// A page of a result.
    public struct Page<Element: Sendable>: Sendable {
        /// The elements on this page. The page may be empty although there is a next one, if the daemon had to search
        /// many records.
        public var elements: [Element]
        /// The position of the next page, to pass to the same function. Nil on the last page.
        public var next: String?
    }
}

extension StoredRecord {
    /// The metadata that the application sent.
    public var metadata: IssueMetadata { record.metadata.map { IssueMetadata(json: $0) } ?? [:] }
}

extension IssueBrowser {
    /// New records as they arrive; see ``IssueBrowser/follow(_:)``.
    ///
    /// Each loop over the sequence uses a separate connection. The iterator receives up to 500 records at once, and the
    /// next ones only when the loop has taken these.
    public struct RecordSequence: AsyncSequence, Sendable {
        let socket: String?
        let filter: IssueFilter

        /// An iterator over new records.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private let socket: String?
            private let filter: IssueFilter
            private var stream: CollectorStream?
            private var page: [StoredRecord] = []
            private var nextIndex = 0

            init(socket: String?, filter: IssueFilter) {
                self.socket = socket
                self.filter = filter
            }

            /// Waits for the next record.
            ///
            /// - Returns: The record; nil if the task was cancelled and no received record is left.
            /// - Throws: `IssueDeliveryError` if the daemon cannot be reached, refuses the filter or stops.
            public mutating func next() async throws -> StoredRecord? {
                while nextIndex == page.count {
                    guard !Task.isCancelled else { return nil }
                    guard let next = try await nextPage() else { return nil }
                    page = next
                    nextIndex = 0
                }
                defer { nextIndex += 1 }
                return page[nextIndex]
            }

            /// Waits for the next records. Returns nil if the task is cancelled meanwhile.
            private mutating func nextPage() async throws -> [StoredRecord]? {
                let stream = stream ?? open()
                self.stream = stream
                do {
                    let part = try await stream.next()
                    let reply: BrowserReply<RecordsReply> = try BrowserReply(part.parameters)
                    return reply.value.records
                } catch is CancellationError {
                    return nil
                } catch let error as CollectorConnectionError {
                    throw IssueDeliveryError(error)
                }
            }

            private func open() -> CollectorStream {
                let parameters = RecordsParameters(filter: filter, order: .oldest, follow: true)
                return CollectorClient.current.stream(.records, json: parameters.json, at: .init(socket: socket))
            }
        }

        /// Returns an iterator. It connects when its first record is requested.
        ///
        /// - Returns: The iterator.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(socket: socket, filter: filter)
        }
    }
}
