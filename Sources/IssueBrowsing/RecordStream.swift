internal import IssueProtocol
internal import Issues

extension IssueBrowser {
    /// New records as they arrive; see ``IssueBrowser/follow(_:)``.
    ///
    /// Each loop over the sequence has a connection of its own. Records that were not requested yet stay in the daemon.
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
            /// - Returns: The record; nil if the task was cancelled.
            /// - Throws: `IssueDeliveryError` if the daemon cannot be reached or stops.
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
