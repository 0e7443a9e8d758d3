internal import IssueWire
internal import UnixIO

/// A connection to the daemon that sends and receives without waiting for either.
///
/// Belongs to one thread.
final class CollectorLink {
    /// How a wait ended.
    enum Wake {
        case ready
        case woken
        case broken
    }

    /// What a look at the input found.
    enum Received {
        case nothing
        case reply(VarlinkReply)
        case broken
    }

    let path: String
    private let socket: FileDescriptor
    private let poller: Poller
    private var events: [PollEvent] = []
    private var output: [UInt8] = []
    private var sent = 0
    private var waitsToWrite = false
    private var replies = ReplyReader(limit: CollectorLink.replyLimit)

    // A call has 500 receipts at most, so this is generous.
    private static let replyLimit = 4 << 20
    private static let socketToken: UInt64 = 0
    private static let wakerToken: UInt64 = 1

    /// Connects, or throws if no trusted server answers.
    init(path: String, trust: ServerTrust, waker: Waker, timeout: Duration) throws {
        self.path = path
        socket = try trust.connect(to: path, timeout: timeout)
        poller = try Poller(capacity: 2)
        try poller.add(socket, token: Self.socketToken, for: .read)
        try poller.add(waker.counter.descriptor, token: Self.wakerToken, for: .read)
    }

    /// Sends, or keeps for later what the socket does not take now; false when the connection is lost.
    func send(_ text: [UInt8]) -> Bool {
        if sent == output.count {
            output = text
            sent = 0
        } else {
            output.append(contentsOf: text)
        }
        return sendPending()
    }

    /// Waits for an answer, for room to send more, or to be woken.
    func wait(timeout: Duration?) -> Wake {
        do throws(Errno) {
            try poller.wait(into: &events, timeout: timeout)
        } catch {
            return .broken
        }
        var wake = Wake.woken
        for event in events where event.token == Self.socketToken {
            if event.isWritable, sent < output.count, !sendPending() { return .broken }
            if event.isReadable { wake = .ready }
        }
        return wake
    }

    /// The next answer, if one is there.
    func receive() -> Received {
        while true {
            do {
                if let reply = try replies.next() { return .reply(reply) }
            } catch {
                return .broken
            }
            switch readMore() {
            case .bytes: continue
            case .wouldBlock:
                replies.releaseMemory()
                return .nothing
            case .end, .failed: return .broken
            }
        }
    }

    private func readMore() -> IOResult {
        do throws(Errno) {
            let count = try replies.read(from: socket, atMost: 16 << 10)
            return count == 0 ? .end : .bytes(count)
        } catch .wouldBlock {
            return .wouldBlock
        } catch {
            return .failed(error)
        }
    }

    private func sendPending() -> Bool {
        while sent < output.count {
            switch socket.attemptSend(output, from: sent) {
            case .bytes(let count): sent += count
            case .wouldBlock: return watch(forWriting: true)
            case .end, .failed: return false
            }
        }
        output = []
        sent = 0
        return watch(forWriting: false)
    }

    private func watch(forWriting: Bool) -> Bool {
        guard forWriting != waitsToWrite else { return true }
        waitsToWrite = forWriting
        let interest: Interest = forWriting ? [.read, .write] : .read
        return (try? poller.modify(socket, token: Self.socketToken, for: interest)) != nil
    }
}
