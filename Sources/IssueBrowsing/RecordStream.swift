internal import IssueProtocol
internal import Issues
internal import Synchronization

extension IssueBrowser {
    /// Records as they come; see ``IssueBrowser/follow(_:)``.
    ///
    /// Each loop over it has a connection of its own. What nobody has asked for
    /// yet stays with the daemon.
    public struct RecordSequence: AsyncSequence, Sendable {
        let socket: String?
        let filter: Filter

        /// Takes one record after the other.
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

            /// The next record; nil when the task was cancelled.
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

        /// Begins to follow.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(socket: socket, filter: filter)
        }
    }
}

/// A call that follows records, one part of its answer after the other.
final class RecordStream: Sendable {
    private let connection: Mutex<CollectorConnection>
    private let hangUp: HangUp

    /// Connects and calls.
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

    /// Waits for the next records; nil when the task was cancelled meanwhile.
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
