import IssueProtocol
import IssueTestSupport
import Synchronization
import UnixIO

/// A client that reports as the client library does, or in a simpler way, and passes everything it sees to the oracle.
struct Reporter {
    private struct OpenCall {
        let call: Int
        let message: [UInt8]
        var sendings = 0
        var isSent = false
    }

    let number: Int
    let style: ReporterStyle
    let payload: Payload
    let pool: ReporterPool
    private let producer: String
    private var generator: SeededGenerator
    private var client: RawClient?
    private var open: [OpenCall] = []
    /// Whether a call was refused. Later calls are then refused, too. All of them are sent again once every call has
    /// got its reply.
    private var isHeld = false

    private static let timeout: Duration = .seconds(45)
    private static let method = "org.issued.Collector.Report"

    init(_ number: Int, _ style: ReporterStyle, _ payload: Payload, _ pool: ReporterPool, seed: UInt64) {
        self.number = number
        self.style = style
        self.payload = payload
        self.pool = pool
        generator = SeededGenerator(seed &+ UInt64(number) &* 7919)
        let low = generator.next() & 0xFFFF_FFFF_FFFF
        let digits = String(low, radix: 16)
        producer = "019aa3c5-0000-7000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    mutating func run() {
        var settled = -1
        while true {
            let phase = pool.phase.withLock { ($0.activity, $0.number, $0.fillsRanges) }
            switch phase.0 {
            case .ended:
                pool.phase.withLock { $0.ended += 1 }
                pool.phase.broadcast()
                return
            case .settling where settled == phase.1:
                pool.waitForWork(after: phase.1)
                continue
            case .settling where open.isEmpty && endsQuietly():
                settled = phase.1
                pool.phase.withLock { if $0.number == phase.1 { $0.settled += 1 } }
                pool.phase.broadcast()
                continue
            case .settling, .reporting: break
            }
            let begins = phase.0 == .reporting && (!style.isOnlyForRanges || phase.2)
            if !begins, open.isEmpty, phase.0 == .reporting {
                pool.pause(.milliseconds(10))
                continue
            }
            do {
                try step(begins: begins)
            } catch RawClient.NoReply.quiet {
                pool.oracle.complain("reporter \(number) had no answer for \(Self.timeout)")
                disconnect()
            } catch {
                disconnect()
                pool.pause(.milliseconds(5))
            }
        }
    }

    private mutating func disconnect() {
        client = nil
        isHeld = false
        if style.isNumbered {
            for index in open.indices { open[index].isSent = false }
        } else {
            for call in open { pool.oracle.lost(number, call.call) }
            open = []
        }
    }

    /// Waits until calls without replies have been processed: sends another call and waits for its reply. Always
    /// returns `true`.
    private mutating func endsQuietly() -> Bool {
        guard style.isOneway, let client else { return true }
        do {
            try client.begin("org.issued.Collector.Status")
            _ = try client.reply(within: Self.timeout)
        } catch RawClient.NoReply.quiet {
            pool.oracle.complain("reporter \(number) had no answer for \(Self.timeout)")
            disconnect()
        } catch {
            disconnect()
        }
        return true
    }

    // MARK: Sending

    private mutating func step(begins: Bool) throws {
        if client == nil { client = try pool.connect(as: style.uid, reporter: number) }
        guard let client else { return }
        if !isHeld {
            if begins, open.count < style.pipelined { begin() }
            for index in open.indices where !open[index].isSent { try send(index, client) }
        }
        if style.isOneway {
            for call in open { pool.oracle.lost(number, call.call) }
            open = []
            pool.pause(style.pause)
            return
        }
        let isFull = open.count >= style.pipelined || !begins || isHeld
        if open.contains(where: \.isSent) {
            // If another call can be sent, the reporter takes only a reply that has already arrived.
            try receive(client, within: isFull ? Self.timeout : .zero)
        } else if isHeld {
            isHeld = false
            pool.pause(.milliseconds(60))
        }
        if begins { pool.pause(style.pause) }
    }

    private mutating func begin() {
        let count = Int.random(in: style.recordsPerCall, using: &generator)
        let oneIn = style.badOneIn
        var generator = generator
        let (call, first) = pool.oracle.began(number, count: count) { _ in
            oneIn.map { generator.next() % $0 == 0 } ?? false
        }
        // The same random numbers as above, so the same records are bad for the oracle.
        let texts = (first..<first + count).map { record -> String in
            if let oneIn, self.generator.next() % oneIn == 0 {
                return payload.badRecord(reporter: number, number: record)
            }
            return String(decoding: payload.record(reporter: number, number: record).json, as: UTF8.self)
        }
        var text = #"{"method":"\#(Self.method)","parameters":{"records":["# + texts.joined(separator: ",") + "]"
        if style.isNumbered { text += #","producer":"\#(producer)","sequence":\#(first)"# }
        text += style.isOneway ? #"},"oneway":true}"# : "}}"
        open.append(OpenCall(call: call, message: Array(text.utf8) + [0]))
    }

    private mutating func send(_ index: Int, _ client: RawClient) throws {
        if open[index].sendings > 0 { pool.oracle.resent(number, open[index].call) }
        open[index].isSent = true
        open[index].sendings += 1
        try client.send(open[index].message)
    }

    // MARK: Replies

    private mutating func receive(_ client: RawClient, within time: Duration) throws {
        let reply: VarlinkReply
        do {
            reply = try client.reply(within: time)
        } catch RawClient.NoReply.quiet where time == .zero {
            return
        }
        guard let index = open.firstIndex(where: \.isSent) else {
            pool.oracle.complain("reporter \(number) got a reply without a call")
            return
        }
        let call = open[index]
        if let error = CollectorError(reply) {
            refuse(index, error)
            return
        }
        open.remove(at: index)
        let receipts = try ReportReply(json: reply.parameters).receipts
        pool.oracle.answered(number, call.call, receipts, isFirstSending: call.sendings == 1)
    }

    private mutating func refuse(_ index: Int, _ error: CollectorError) {
        switch error {
        case .busy, .tooSlow, .noSpace: break
        case .invalidRecord, .invalidFilter, .tooLarge, .notFound, .unreadable, .denied, .interfaceNotFound,
            .methodNotFound, .invalidParameter, .expectedMore, .unknown:
            pool.oracle.complain("reporter \(number) was answered: \(error)")
        }
        pool.countRefusal()
        if style.isNumbered {
            open[index].isSent = false
            isHeld = true
        } else {
            pool.oracle.refused(number, open[index].call)
            open.remove(at: index)
            pool.pause(.milliseconds(60))
        }
    }
}
