import IssueProtocol

/// What Logz.io says in a 400 about the lines of the request.
struct RefusalCounters: Equatable {
    var malformed: Int64 = 0
    var successful: Int64?
    var oversized: Int64 = 0
    var empty: Int64 = 0

    /// Nothing for an answer that counts nothing.
    init?(_ body: [UInt8]) {
        guard let value = try? JSONValue(json: body), value.asObject != nil else { return nil }
        let successful = value["successfulLines"]?.asInteger
        let refused = ["malformedLines", "oversizedLines", "emptyLogLines"].map { value[$0]?.asInteger }
        guard successful != nil || refused.contains(where: { $0 != nil }) else { return nil }
        self.successful = successful
        malformed = refused[0] ?? 0
        oversized = refused[1] ?? 0
        empty = refused[2] ?? 0
    }

    /// In words, of so many lines that were sent.
    func text(of sent: Int) -> String {
        let counts = [("malformed", malformed), ("oversized", oversized), ("empty", empty)]
            .filter { $0.1 != 0 }.map { "\($0.0) \($0.1)" }
        let why = counts.isEmpty ? "" : " (\(counts.joined(separator: ", ")))"
        guard let successful, (0...Int64(sent)).contains(successful) else {
            return "some of \(sent) lines refused\(why)"
        }
        return "\(Int64(sent) - successful) of \(sent) lines refused\(why)"
    }
}
