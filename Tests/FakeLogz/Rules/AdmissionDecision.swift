import IssueProtocol

/// The result of a request: the response and the accepted lines.
struct AdmissionDecision: Sendable {
    /// An accepted line.
    struct Line: Sendable {
        let text: String
        let fields: JSONValue
        /// Whether the line is nested so deeply that its fields were not examined.
        let isBeyondReading: Bool
    }

    var answer: HTTPAnswer
    var counters: LineCounters?
    var inflatedBytes: Int?
    var accepted: [Line] = []

    static func answer(_ answer: HTTPAnswer) -> AdmissionDecision {
        AdmissionDecision(answer: answer)
    }
}
