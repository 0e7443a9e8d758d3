internal import IssueProtocol
internal import Issues

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
                let opened = try await Asking.onThread { () throws(DeliveryError) in
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
