import IssueCore

/// Lines for a stream, each of which gets the token when it is sent.
final class StreamLines: PreparedBody {
    private(set) var lines: [[UInt8]] = []

    func add(_ line: [UInt8]) { lines.append(line) }
}

@available(*, unavailable)
extension StreamLines: Sendable {}
