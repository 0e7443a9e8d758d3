import IssueProtocol
import UnixIO

@testable import Issues

/// Whatever answers on the socket, the client reads the replies that a plain reader finds, understands each or refuses
/// it, and answers each issue once.
///
/// Input: how much a read gives, and a stream of replies, each with its NUL.
enum ReplyHarness {
    static func run(_ input: Span<UInt8>) {
        guard input.count > 1 else { return }
        let stream = input.array(from: 1)
        let replies = read(stream, atMost: 1 + Int(input[0]))
        let messages = stream.split(separator: 0, omittingEmptySubsequences: false).dropLast()
        require(replies.count <= messages.count, "There are more replies than messages")
        for (reply, message) in zip(replies, messages) {
            guard let plain = try? PlainJSON.value(Array(message)).value else {
                fatalError("A reply was read from what is no JSON")
            }
            check(ReportResult(reply), of: plain)
        }
        if replies.count < messages.count {
            let message = Array(messages[messages.startIndex + replies.count])
            require((try? VarlinkReply(decoding: message)) == nil, "A reply is lost")
        }
        drive(replies)
    }

    /// The replies that a connection reads until the stream ends, or is no reply.
    private static func read(_ stream: [UInt8], atMost count: Int) -> [VarlinkReply] {
        var reader = ReplyReader(limit: 1 << 20)
        var replies: [VarlinkReply] = []
        do {
            let path = "\(SampleStore.folder)/replies"
            try FileDescriptor.open(path, [.writeOnly, .create, .truncate]).writeAll(stream)
            let file = try FileDescriptor.open(path)
            // Many small reads of a large input would be all that is measured.
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
            if case .success = answer.outcome(at: 0, path: "/s") { fatalError("An issue is stored by \(plain)") }
            return
        }
        let elements = plain["parameters"]?["receipts"]?.asArray ?? []
        require(elements.count == receipts.count, "There are \(receipts.count) receipts in \(plain)")
        for (index, element) in elements.enumerated() {
            switch answer.outcome(at: index, path: "/s") {
            case .success(let stored):
                require(element["id"]?.asString == stored.id, "A record has got the id \(stored.id) by \(element)")
                require(element["rejected"]?.isNull ?? true, "A record that was rejected is stored")
            case .failure(let error):
                require(element["rejected"] != nil || element["duplicate"] != nil, "\(element) is a failure")
                require(!"\(error)".isEmpty, "A failure has no description")
            }
        }
    }

    /// Hands the replies to an outbox with some issues, as the delivery does.
    private static func drive(_ replies: [VarlinkReply]) {
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
            let settled: [OutboxEntry<Int>]?
            switch answer {
            case .receipts(let receipts): settled = outbox.answered(receipts: receipts.count, at: now)
            case .tooLarge(let limit): settled = outbox.refusedAsTooLarge(limit: limit, at: now)
            case .refused: settled = outbox.refusedPermanently(at: now)
            case .later(let delay):
                settled = outbox.refusedForNow(retryAfter: delay, at: now, unit: 0.5) ? [] : nil
            case .malformed: settled = nil
            }
            guard let settled else {
                outbox.disconnected(at: now, unit: 0.5)
                now = now.advanced(by: .seconds(60))
                outbox.connected()
                continue
            }
            for index in settled.indices { _ = answer.outcome(at: index, path: "/s") }
            answered += settled.map(\.payload)
            now = now.advanced(by: .seconds(1))
        }
        require(Set(answered).count == answered.count, "An issue is answered twice: \(answered)")
        let left = outbox.takeAll().flatMap { $0.entries.map(\.payload) }
        require((answered + left).sorted() == Array(0..<count), "Of the issues are left \(left), after \(answered)")
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
