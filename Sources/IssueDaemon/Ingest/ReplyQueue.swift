import IssueProtocol

/// Replies in the order of their calls, however they become ready.
struct ReplyQueue {
    /// What is ready to be sent, from `sent` on.
    private var bytes = ByteBuffer()
    private var sent = 0
    /// Of each call that has no reply yet, how many bytes it took; the first one stands at `head`.
    private var sizes: [Int] = []
    private var head = 0
    private var firstOpen: UInt64 = 0
    /// Replies that are ready before those of earlier calls; empty for a call that wants none.
    private var early: [UInt64: ByteBuffer] = [:]

    var unsentCount: Int { bytes.count - sent }

    /// The memory that unsent replies take.
    var memory: Int { unsentCount == 0 ? 0 : bytes.capacity }

    /// What is ready to be sent.
    var unsent: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { bytes.span.extracting(sent..<bytes.count) }
    }

    /// What the next call's place will be called.
    var nextToken: UInt64 { firstOpen + UInt64(sizes.count - head) }

    /// Keeps the place of a call that took so many bytes.
    mutating func open(size: Int = 0) -> UInt64 {
        defer { sizes.append(size) }
        return nextToken
    }

    /// A call weighs so much more, since its reply will be long.
    mutating func weigh(_ token: UInt64, _ more: Int) {
        sizes[head + Int(token - firstOpen)] += more
    }

    /// The call's last reply is written by the body, or nothing for a call that wants none.
    ///
    /// - Returns: how many bytes the call took.
    @discardableResult
    mutating func close(_ token: UInt64, _ write: (inout ByteBuffer) -> Void) -> Int {
        let size = sizes[head + Int(token - firstOpen)]
        sizes[head + Int(token - firstOpen)] = 0
        guard token == firstOpen else {
            var reply = ByteBuffer()
            write(&reply)
            early[token] = reply
            return size
        }
        write(&bytes)
        advance()
        while !early.isEmpty, let reply = early.removeValue(forKey: firstOpen) {
            bytes.append(reply)
            advance()
        }
        return size
    }

    /// One of several replies to a call; such a call is always the only open one.
    mutating func add(_ reply: [UInt8]) {
        bytes.append(contentsOf: reply)
    }

    /// So many bytes have been sent.
    mutating func sent(_ count: Int) {
        sent += count
        if sent == bytes.count {
            if bytes.capacity <= 64 << 10 { bytes.truncate(to: 0) } else { bytes = ByteBuffer() }
            sent = 0
        } else if sent >= 64 << 10, 2 * sent >= bytes.count {
            // A reader who is never quite done must not have us keep all that he ever read.
            bytes.removeFirst(sent)
            sent = 0
        }
    }

    /// Gives back memory while nothing is owed, as for a connection that is idle.
    mutating func releaseMemory() {
        guard unsentCount == 0, head == sizes.count else { return }
        if bytes.capacity > 1 << 10 { bytes = ByteBuffer() }
        if sizes.capacity > 1 << 7 { (sizes, head) = ([], 0) }
    }

    private mutating func advance() {
        firstOpen += 1
        head += 1
        if head == sizes.count {
            sizes.removeAll(keepingCapacity: sizes.capacity <= 4096)
            head = 0
        } else if head >= 4096, 2 * head >= sizes.count {
            sizes.removeFirst(head)
            head = 0
        }
    }
}
