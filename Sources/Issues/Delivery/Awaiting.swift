internal import IssueProtocol
internal import UnixIO

/// Asks the daemon what became of a record, on a connection of its own.
///
/// An answer may take as long as the record's way does, and would hold up
/// every receipt behind it on the connection that reports.
enum Awaiting {
    // The daemon counts its time from a little later than we do.
    private static let grace: Duration = .seconds(5)

    static func fates(
        of stored: ReceiptState.Stored, destination: String?, timeout: Duration
    ) async throws -> [IssueFate] {
        try await withCheckedThrowingContinuation { continuation in
            let body: @Sendable () -> Void = {
                continuation.resume(with: Result { try ask(stored, destination, timeout) })
            }
            do throws(Errno) {
                // It blocks, and the threads of the tasks are few.
                _ = try Thread.start(name: "issues-await", body: body)
            } catch {
                continuation.resume(
                    throwing: DeliveryError(.unreachable, "No thread could be started to ask the daemon: \(error)."))
            }
        }
    }

    private static func ask(
        _ stored: ReceiptState.Stored, _ destination: String?, _ timeout: Duration
    ) throws(DeliveryError) -> [IssueFate] {
        do throws(CollectorConnectionError) {
            var connection = try CollectorConnection(paths: [stored.path])
            let reply: AwaitReply = try connection.call(
                .await, AwaitParameters(id: stored.id, destination: destination, timeout: timeout),
                timeout: timeout + grace)
            return reply.fates.map { IssueFate($0) }
        } catch {
            throw DeliveryError(error)
        }
    }
}

extension DeliveryError {
    fileprivate init(_ error: CollectorConnectionError) {
        let code: Code =
            switch error {
            case .switchedOff: .disabled
            case .unusablePath, .unreachable, .closed: .unreachable
            case .refused: .refused
            case .timedOut: .timedOut
            case .malformed: .malformed
            }
        self.init(code, error.description)
    }
}
