import UnixIO

/// A socket as the service manager has it for `sd_notify`, and all that was said on it.
package final class NotifySocket {
    package let path: String
    private let socket: FileDescriptor
    /// Each message, as lines of `NAME=value`.
    package private(set) var messages: [[String]] = []

    package init(path: String) throws {
        self.path = path
        socket = try Socket.datagramReceiver(at: try .unix(path))
    }

    /// Waits for a message with such a line that was not waited for before.
    package func waits(for line: String, within time: Duration, while isAlive: () -> Bool) throws -> Bool {
        let deadline = MonotonicClock.now.advanced(by: time)
        while true {
            receive()
            if let index = messages[seen...].firstIndex(where: { $0.contains(line) }) {
                seen = index + 1
                return true
            }
            guard MonotonicClock.now < deadline, isAlive() else { return false }
            // A program that ends says nothing here, so it is looked after as well.
            try Readiness.wait(socket, for: .read, timeout: .milliseconds(50))
        }
    }

    private var seen = 0

    /// Takes what was said so far as waited for, since who comes next has not said it.
    package func passOver() {
        receive()
        seen = messages.count
    }

    /// All lines that were said so far.
    package var lines: [String] {
        receive()
        return messages.flatMap { $0 }
    }

    private func receive() {
        while true {
            var datagram: [UInt8] = []
            guard case .bytes = socket.attemptRead(appendingTo: &datagram, atMost: 8192) else { return }
            messages.append(String(decoding: datagram, as: UTF8.self).split(separator: "\n").map { String($0) })
        }
    }
}
