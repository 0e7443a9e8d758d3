import IssueProtocol

/// What is to become of a request: an answer, and the lines that were taken.
struct Judgement: Sendable {
    /// A line that is taken.
    struct Line: Sendable {
        let text: String
        let fields: JSONValue
        /// Nested so deeply that nobody has looked into it.
        let isBeyondReading: Bool
    }

    var answer: HTTPAnswer
    var counters: LineCounters?
    var inflatedBytes: Int?
    var accepted: [Line] = []

    static func answer(_ answer: HTTPAnswer) -> Judgement {
        Judgement(answer: answer)
    }
}
