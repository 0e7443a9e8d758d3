import UnixIO

extension ConnectionService {
    /// Sends the response or its replacement. Returns whether it was sent completely, and what comes next.
    func deliver(_ answer: HTTPAnswer, under fault: Fault?, keepsAlive: Bool) -> (isComplete: Bool, next: Next) {
        let next: Next = keepsAlive ? .anotherRequest : .close
        let bytes = answer.bytes(closing: !keepsAlive)
        switch fault {
        case .readSilent:
            socket.waitForEnd()
            return (false, .close)
        case .slowAnswer(let delay):
            core.pause(delay)
            return (send(bytes), next)
        case .drip(let pause):
            for byte in bytes {
                guard send([byte]) else { return (false, .close) }
                core.pause(pause)
            }
            return (true, next)
        case .resetMidBody, .resetBeforeAnswer:
            return (false, .reset)
        case .resetOn where answer.status == 0:
            return (false, .reset)
        case .truncatedAnswer:
            let answer = HTTPAnswer(status: 200, body: Array("0123456789".utf8))
            _ = send(answer.bytes(closing: false, declaredLength: 100))
            return (false, .close)
        case .garbage:
            _ = send(Array("\u{1}\u{2} this is no HTTP\n\n".utf8))
            return (false, .close)
        case .hugeAnswer(let bytes):
            return (sendHuge(bytes), .close)
        case .keepAliveClose(let crossing):
            // The headers announce that the connection stays open, but it does not.
            return (send(answer.bytes(closing: false)), crossing ? .resetOnNext : .close)
        case nil, .down, .blackhole, .flap, .acceptSilent, .slowRead, .status, .authFlip, .tooLargeLate, .tooLargeEarly,
            .tooLargeAbove, .poison, .resetOn, .allMalformed, .badRequestWithoutBody, .badRequestWithBadJSON:
            return (send(bytes), next)
        }
    }

    private func sendHuge(_ count: Int?) -> Bool {
        let fields = count.map { [HTTPField("Content-Length", String($0))] } ?? []
        guard send(HTTPAnswer(status: 200).headBytes(fields: fields, closing: true)) else { return false }
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 16 * 1024)
        var missing = count ?? .max
        while missing > 0 {
            guard send(Array(piece.prefix(missing))) else { return false }
            missing -= min(missing, piece.count)
        }
        return true
    }
}
