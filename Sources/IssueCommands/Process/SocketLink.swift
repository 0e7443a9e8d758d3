import IssueProtocol
import Issues

/// The way to the daemon over its socket.
final class SocketLink: CollectorLink {
    private var connection: CollectorConnection

    /// Connects to the socket that was named, or to the first that answers in the usual places.
    init(_ path: String?) throws(LinkFailure) {
        do throws(CollectorConnectionError) {
            connection = try CollectorConnection(paths: path.map { [$0] } ?? SocketPath.search())
        } catch {
            throw LinkFailure(error)
        }
    }

    func call(_ method: CollectorMethod, parameters: [UInt8], timeout: Duration) throws(LinkFailure) -> [UInt8] {
        do throws(CollectorConnectionError) {
            return try connection.call(method.fullName, json: parameters, timeout: timeout)
        } catch {
            throw LinkFailure(error)
        }
    }

    func stream(
        _ method: CollectorMethod, parameters: [UInt8], receive: ([UInt8]) -> Bool
    ) throws(LinkFailure) {
        do throws(CollectorConnectionError) {
            try connection.stream(method.fullName, json: parameters, timeout: nil, onReply: receive)
        } catch {
            throw LinkFailure(error)
        }
    }
}

extension LinkFailure {
    fileprivate init(_ error: CollectorConnectionError) {
        switch error {
        case .switchedOff: self = .switchedOff
        case .unusablePath(let reason): self = .unusablePath("\(reason)")
        case .unreachable(let path, let reason): self = .unreachable(path: path, reason: "\(reason)")
        case .refused(let refusal): self = .refused(refusal)
        case .closed: self = .closed
        case .timedOut: self = .timedOut
        case .malformed(let reason): self = .malformed(reason)
        }
    }
}
