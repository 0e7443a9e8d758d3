import IssueProtocol
import UnixIO

@testable import Issues

/// From any bytes of a server, the client reads the same replies as a plain reader. Each issue is answered once or stays
/// in the outbox.
///
/// Input: the maximum size of a read, and a stream of replies, each with its NUL.
enum ReplyHarness {
    static func run(_ input: Span<UInt8>) {
        guard input.count > 1 else { return }
        let stream = input.array(from: 1)
        let replies = read(stream, atMost: 1 + Int(input[0]))
        let messages = stream.split(separator: 0, omittingEmptySubsequences: false).dropLast()
        require(replies.count <= messages.count, "There are more replies than messages")
        for (reply, message) in zip(replies, messages) {
            guard let plain = try? PlainJSON.value(Array(message)).value else {
                fatalError("A reply was read from invalid JSON")
            }
            check(ReportResult(reply), of: plain)
        }
        if replies.count < messages.count {
            let message = Array(messages[messages.startIndex + replies.count])
            require((try? VarlinkReply(decoding: message)) == nil, "A reply is lost")
        }
        deliver(replies)
    }

    /// Returns the replies that a connection reads until the end of the stream or the first invalid reply.
    private static func read(_ stream: [UInt8], atMost count: Int) -> [VarlinkReply] {
        var reader = ReplyReader(limit: 1 << 20)
        var replies: [VarlinkReply] = []
        do {
            let path = "\(SampleStore.folder)/replies"
            try FileDescriptor.open(path, [.writeOnly, .create, .truncate]).writeAll(stream)
            let file = try FileDescriptor.open(path)
            // Large inputs are read in large pieces. Otherwise most of the counted work would be that of reading.
            while try reader.read(from: file, atMost: max(count, stream.count / 64)) > 0 {
                do {
                    while let reply = try reader.next() { replies.append(reply) }
                } catch {
                    return replies
                }
                reader.releaseMemory()
            }
        } catch {
            fatalError("The stream can't be read: \(error)")
        }
        return replies
    }

    private static func check(_ answer: ReportResult, of plain: JSONValue) {
        guard case .receipts(let receipts) = answer else {
            if case .success = answer.outcome(at: 0, path: "/s") {
                fatalError("An issue counts as stored after \(plain)")
            }
            return
        }
        let elements = plain["parameters"]?["receipts"]?.asArray ?? []
        require(elements.count == receipts.count, "\(receipts.count) receipts were read from \(plain)")
        for (index, element) in elements.enumerated() {
            switch answer.outcome(at: index, path: "/s") {
            case .success(let stored):
                require(element["id"]?.asString == stored.id, "The id \(stored.id) was read from \(element)")
                require(element["rejected"]?.isNull ?? true, "A rejected record counts as stored")
            case .failure(let error):
                require(element["rejected"] != nil || element["duplicate"] != nil, "\(element) counts as a failure")
                require(!"\(error)".isEmpty, "A failure has no description")
            }
        }
    }

    /// Passes the replies to an outbox with some issues, as the delivery does.
    private static func deliver(_ replies: [VarlinkReply]) {
        var limits = OutboxLimits()
        limits.callEntries = 2
        var outbox = Outbox<Int>(limits: limits)
        let count = 6
        for issue in 0..<count { _ = outbox.submitted(issue, level: .error, bytes: 10) }
        outbox.connected()
        var now = KernelInstant(nanoseconds: 1_000_000_000)
        var answered: [Int] = []
        for reply in replies.prefix(64) {
            send(&outbox, at: now)
            let answer = ReportResult(reply)
            let entries: [OutboxEntry<Int>]?
            switch answer {
            case .receipts(let receipts): entries = outbox.answered(receipts: receipts.count, at: now)
            case .tooLarge(let limit): entries = outbox.refusedAsTooLarge(limit: limit, at: now)
            case .refused: entries = outbox.refusedPermanently(at: now)
            case .later(let delay):
                entries = outbox.refusedForNow(retryAfter: delay, at: now, unit: 0.5) ? [] : nil
            case .malformed: entries = nil
            }
            guard let entries else {
                outbox.disconnected(at: now, unit: 0.5)
                now = now.advanced(by: .seconds(60))
                outbox.connected()
                continue
            }
            for index in entries.indices { _ = answer.outcome(at: index, path: "/s") }
            answered += entries.map(\.payload)
            now = now.advanced(by: .seconds(1))
        }
        require(Set(answered).count == answered.count, "An issue is answered twice: \(answered)")
        let remaining = outbox.takeAll().flatMap { $0.entries.map(\.payload) }
        require(
            (answered + remaining).sorted() == Array(0..<count),
            "Issues are lost: \(answered) are answered, \(remaining) are in the outbox")
    }

    private static func send(_ outbox: inout Outbox<Int>, at now: KernelInstant) {
        while true {
            switch outbox.next(at: now) {
            case .encode(let call): outbox.encoded(call.sequence, as: [0])
            case .send: break
            case .connect: outbox.connected()
            case .disconnect: outbox.disconnected(at: now, unit: 0.5)
            case .idle, .wait: return
            }
        }
    }
}
