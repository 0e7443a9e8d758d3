import TestSockets
import UnixIO

/// A socket that receives `sd_notify` messages as the service manager does, and keeps them.
package final class NotifySocket {
    package let path: String
    private let socket: FileDescriptor
    /// Each message, as lines of `NAME=value`.
    package private(set) var messages: [[String]] = []

    package init(path: String) throws {
        self.path = path
        socket = try Socket.datagramReceiver(at: path)
    }

    /// Waits for a message with this line. Skips the messages before it, and uses each message only once.
    ///
    /// - Returns: `false` if the timeout passes first, or if `isAlive` returns `false` and there is no such message.
    package func waits(for line: String, within time: Duration, while isAlive: () -> Bool) throws -> Bool {
        let deadline = MonotonicClock.now.advanced(by: time)
        while true {
            receive()
            if let index = messages[seen...].firstIndex(where: { $0.contains(line) }) {
                seen = index + 1
                return true
            }
            guard MonotonicClock.now < deadline, isAlive() else { return false }
            // A program that ends sends no message, so wait only briefly before `isAlive` is called again.
            try Readiness.wait(socket, for: .read, timeout: .milliseconds(50))
        }
    }

    private var seen = 0

    /// Marks all messages so far as used, so that they are not taken for messages of the next process.
    package func markAllUsed() {
        receive()
        seen = messages.count
    }

    /// All lines received so far.
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
