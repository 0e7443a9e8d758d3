internal import IssueProtocol
internal import Issues
internal import Synchronization

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
                try await Asking.onThread { [self] () throws(DeliveryError) in
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
