extension ListenerRules {
    /// Returns the result of a request under a fault.
    func evaluate(_ head: RequestHead, body: [UInt8], tokens: Set<String>, under fault: Fault?) -> AdmissionDecision {
        var rules = self
        switch fault {
        case .status(let code, let headers, let text):
            return .answer(HTTPAnswer(status: code, headers: headers, body: Array(text.utf8)))
        case .tooLargeLate, .tooLargeEarly:
            return .answer(HTTPAnswer(status: 413))
        case .allMalformed:
            return refuseAll(body)
        case .badRequestWithoutBody:
            return .answer(HTTPAnswer(status: 400))
        case .badRequestWithBadJSON:
            return .answer(.json(400, Array("{\"malformedLines\":".utf8)))
        case .resetMidBody, .garbage:
            return .answer(HTTPAnswer(status: 0))
        case .tooLargeAbove(let bytes):
            rules.bodyLimit = min(bytes, bodyLimit)
        case .poison(let text):
            rules.poison = text
        case .resetOn(let text):
            rules.unanswered = text
        case .authFlip:
            return rules.evaluate(head, body: body, tokens: [])
        case nil, .down, .blackhole, .flap, .acceptSilent, .readSilent, .slowAnswer, .slowRead, .drip,
            .resetBeforeAnswer,
            .truncatedAnswer, .hugeAnswer, .keepAliveClose:
            break
        }
        return rules.evaluate(head, body: body, tokens: tokens)
    }
}
