package import IssueProtocol
package import Issues

/// The way to the daemon over its socket.
package final class SocketLink: BrowserLink {
    private var connection: CollectorConnection

    /// Connects to the socket that was named, or to the first that answers in the usual places.
    package init(_ path: String?) throws(CollectorConnectionError) {
        connection = try CollectorConnection(
            paths: path.map { [$0] } ?? SocketPath.search(), trust: .socket(path))
    }

    package func call(
        _ method: CollectorMethod, parameters: [UInt8], timeout: Duration
    ) throws(CollectorConnectionError) -> [UInt8] {
        try connection.call(method.fullName, json: parameters, timeout: timeout)
    }

    package func stream(
        _ method: CollectorMethod, parameters: [UInt8], takesFile: Bool, receive: ([UInt8]) -> Bool
    ) throws(CollectorConnectionError) -> PassedFile? {
        guard takesFile else {
            try connection.stream(method.fullName, json: parameters, timeout: nil, onReply: receive)
            return nil
        }
        switch try connection.streamTakingFile(method.fullName, json: parameters, timeout: nil, onReply: receive) {
        case .some(let file): return PassedFile(file)
        case .none: return nil
        }
    }
}
