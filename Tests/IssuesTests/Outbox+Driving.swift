import Issues
import UnixIO

/// A call that the outbox sent.
struct SentCall {
    var sequence: Int64
    var payloads: [Int]
    var droppedBefore: Int
    var text: [UInt8]
}

extension Outbox<Int> {
    /// Encodes and sends everything that can be sent now.
    mutating func sendAll(
        at now: KernelInstant,
        encode: (OutboxCall<Int>) -> [UInt8] = { call in call.entries.map { UInt8($0.payload) } }
    ) -> [SentCall] {
        var encoded: [(text: [UInt8], call: OutboxCall<Int>)] = []
        var sent: [SentCall] = []
        while true {
            switch next(at: now) {
            case .encode(let call):
                let text = encode(call)
                encoded.append((text, call))
                self.encoded(call.sequence, as: text)
            case .send(let text):
                // A call that is sent again was encoded earlier and is among the unanswered ones.
                let call = encoded.last { $0.text == text }?.call ?? calls.first { $0.text == text }
                guard let call else { return sent }
                sent.append(
                    SentCall(
                        sequence: call.sequence, payloads: call.entries.map(\.payload),
                        droppedBefore: call.droppedBefore, text: text))
            case .idle, .wait, .connect, .disconnect:
                return sent
            }
        }
    }
}

extension OutboxStep {
    var name: String {
        switch self {
        case .idle: "idle"
        case .wait: "wait"
        case .connect: "connect"
        case .encode: "encode"
        case .send: "send"
        case .disconnect: "disconnect"
        }
    }

    var moment: KernelInstant? {
        guard case .wait(let moment) = self else { return nil }
        return moment
    }
}
