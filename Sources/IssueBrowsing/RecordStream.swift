internal import IssueProtocol
internal import Issues
internal import Synchronization

extension IssueBrowser {
    /// New records as they arrive; see ``IssueBrowser/follow(_:)``.
    ///
    /// Each loop over the sequence has a connection of its own. Records that were not requested yet
    /// stay in the daemon.
    public struct RecordSequence: AsyncSequence, Sendable {
        let socket: String?
        let filter: Filter

        /// An iterator over new records.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private let socket: String?
            private let filter: Filter
            private var stream: RecordStream?
            private var page: [Record] = []
            private var taken = 0

            init(socket: String?, filter: Filter) {
                self.socket = socket
                self.filter = filter
            }

            /// Waits for the next record.
            ///
            /// - Returns: The record; nil if the task was cancelled.
            /// - Throws: `DeliveryError` if the daemon cannot be reached or ends.
            public mutating func next() async throws -> Record? {
                while taken == page.count {
                    guard !Task.isCancelled else { return nil }
                    let stream = try await open()
                    guard let next = try await stream.next() else { return nil }
                    page = next
                    taken = 0
                }
                defer { taken += 1 }
                return page[taken]
            }

            private mutating func open() async throws -> RecordStream {
                if let stream { return stream }
                let (socket, wire) = (socket, filter.wire)
                let opened = try await BlockingCall.onThread { () throws(DeliveryError) in
                    try RecordStream(socket: socket, filter: wire)
                }
                stream = opened
                return opened
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

/// A call that follows records, with its reply in parts.
final class RecordStream: Sendable {
    private let connection: Mutex<CollectorConnection>
    private let hangUp: HangUp

    /// Connects and sends the call.
    init(socket: String?, filter: IssueFilter) throws(DeliveryError) {
        do throws(CollectorConnectionError) {
            var connection = try CollectorConnection(
                paths: socket.map { [$0] } ?? SocketPath.search(), trust: .socket(socket))
            hangUp = try connection.hangUp()
            try connection.begin(
                CollectorMethod.records.fullName,
                json: RecordsParameters(filter: filter, order: .oldest, follow: true).json, timeout: .seconds(45))
            self.connection = Mutex(connection)
        } catch {
            throw DeliveryError(error)
        }
    }

    /// Waits for the next records. Returns nil if the task is cancelled meanwhile.
    func next() async throws -> [IssueBrowser.Record]? {
        do {
            return try await withTaskCancellationHandler {
                try await BlockingCall.onThread { [self] () throws(DeliveryError) in
                    try part().records.map { IssueBrowser.Record($0) }
                }
            } onCancel: {
                hangUp.now()
            }
        } catch {
            if Task.isCancelled { return nil }
            throw error
        }
    }

    private func part() throws(DeliveryError) -> RecordsReply {
        do throws(CollectorConnectionError) {
            return try connection.withLock { connection throws(CollectorConnectionError) in
                try connection.nextPart(timeout: nil)
            }
        } catch {
            throw DeliveryError(error)
        }
    }
}
