import IssueProtocol

/// The documented behaviour of the HTTP listener of Logz.io.
///
/// The actual order of its checks is unknown, so no test may depend on it.
struct ListenerRules: Hashable, Sendable {
    var bodyLimit = 10_485_760
    var lineLimit = 500_000
    var limitScope = SizeLimitScope.both
    var emptyLineIsError = true
    /// Lines that contain this text count as malformed.
    var poison: String?
    /// There is no response to a request that contains this text.
    var unanswered: String?

    func evaluate(_ head: RequestHead, body: [UInt8], tokens: Set<String>) -> AdmissionDecision {
        if let refusal = refusal(of: head, tokens: tokens) { return .answer(refusal) }
        if limitScope != .inflated, body.count > bodyLimit { return .answer(HTTPAnswer(status: 413)) }
        switch head.header("Content-Encoding")?.lowercased() {
        case nil, "identity":
            guard body.count <= bodyLimit else { return .answer(HTTPAnswer(status: 413)) }
            return evaluate(text: body)
        case "gzip", "x-gzip":
            let limit = limitScope == .wire ? HTTPInput.requestLimit : bodyLimit
            do throws(Inflate.Failure) {
                return evaluate(text: try Inflate.gzip(body, limit: limit))
            } catch {
                switch error {
                case .overLimit: return .answer(HTTPAnswer(status: 413))
                case .corrupt: return .partial(LineCounters(malformed: 1))
                }
            }
        case .some:
            return .partial(LineCounters(malformed: 1))
        }
    }

    /// Treats every line as malformed.
    func refuseAll(_ body: [UInt8]) -> AdmissionDecision {
        .partial(LineCounters(malformed: max(1, Self.lines(of: body).count)))
    }

    private func refusal(of head: RequestHead, tokens: Set<String>) -> HTTPAnswer? {
        guard head.path == "/" || head.path.isEmpty else { return HTTPAnswer(status: 404) }
        guard head.method == "POST" else { return HTTPAnswer(status: 405, headers: [HTTPField("Allow", "POST")]) }
        guard let token = head.query("token"), !token.isEmpty else { return .text(401, "Logging token is missing") }
        guard tokens.contains(token) else { return .text(401, "Logging token is not valid") }
        return nil
    }

    private func evaluate(text: [UInt8]) -> AdmissionDecision {
        if let unanswered, text[...].contains(Array(unanswered.utf8)) { return .answer(HTTPAnswer(status: 0)) }
        var counters = LineCounters()
        var accepted: [AdmissionDecision.Line] = []
        let poison = poison.map { Array($0.utf8) }
        for line in Self.lines(of: text) {
            if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) {
                counters.empty += 1
            } else if line.count > lineLimit {
                counters.oversized += 1
            } else if let poison, line.contains(poison) {
                counters.malformed += 1
            } else if let line = Self.accepted(Array(line)) {
                counters.successful += 1
                accepted.append(line)
            } else {
                counters.malformed += 1
            }
        }
        let faulty = counters.malformed + counters.oversized + (emptyLineIsError ? counters.empty : 0)
        var decision =
            faulty > 0
            ? AdmissionDecision.partial(counters)
            : AdmissionDecision(answer: HTTPAnswer(status: 200), counters: counters)
        decision.inflatedBytes = text.count
        decision.accepted = accepted
        return decision
    }

    private static func accepted(_ line: [UInt8]) -> AdmissionDecision.Line? {
        guard JSONReading.isObject(line) else { return nil }
        let text = String(decoding: line, as: UTF8.self)
        guard let fields = try? JSONValue(json: line, maximumDepth: JSONReading.maximumDepth) else {
            return AdmissionDecision.Line(text: text, fields: .object([]), isBeyondReading: true)
        }
        return AdmissionDecision.Line(text: text, fields: fields, isBeyondReading: false)
    }

    /// Returns the lines of a text. A final line feed does not begin another line, and a carriage return at the end of
    /// a line is not part of it.
    private static func lines(of text: [UInt8]) -> [ArraySlice<UInt8>] {
        var lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { $0.last == 0x0D ? $0.dropLast() : $0 }
    }
}

extension AdmissionDecision {
    /// Returns a 400 response with the counters. The caller adds the good lines, which are accepted nevertheless.
    static func partial(_ counters: LineCounters) -> AdmissionDecision {
        var writer = JSONWriter()
        counters.write(to: &writer)
        return AdmissionDecision(answer: .json(400, writer.bytes), counters: counters)
    }
}
