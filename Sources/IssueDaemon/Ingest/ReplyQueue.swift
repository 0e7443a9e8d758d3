/// Replies in the order of their calls, however they become ready.
struct ReplyQueue {
    /// What is ready to be sent, from `sent` on.
    var bytes: [UInt8] = []
    var sent = 0
    private var nextToken: UInt64 = 0
    private var firstOpen: UInt64 = 0
    /// Replies that are ready before those of earlier calls; empty for a call that wants none.
    private var early: [UInt64: [UInt8]] = [:]

    var unsentCount: Int { bytes.count - sent }

    /// Keeps the place of a call.
    mutating func open() -> UInt64 {
        defer { nextToken += 1 }
        return nextToken
    }

    /// The call's last reply is written by the body, or nothing for a call that wants none.
    mutating func close(_ token: UInt64, _ write: (inout [UInt8]) -> Void) {
        guard token == firstOpen else {
            var reply: [UInt8] = []
            write(&reply)
            early[token] = reply
            return
        }
        write(&bytes)
        firstOpen += 1
        while !early.isEmpty, let reply = early.removeValue(forKey: firstOpen) {
            bytes.append(contentsOf: reply)
            firstOpen += 1
        }
    }

    /// One of several replies to a call; such a call is always the only open one.
    mutating func add(_ reply: [UInt8]) {
        bytes.append(contentsOf: reply)
    }

    /// So many bytes have been sent.
    mutating func sent(_ count: Int) {
        sent += count
        if sent == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity <= 64 << 10)
            sent = 0
        }
    }
}
