import Destinations
import IssueCore
import IssueProtocol

/// Any response of the Logz.io listener is classified, and its summary has neither the token nor control characters.
///
/// Input: the status as two bytes, a `Retry-After` header up to a line feed, and the body.
enum AnswerHarness {
    static func run(_ input: Span<UInt8>) {
        guard input.count > 2 else { return }
        let sample = SampleAnswer(input.array(from: 0), headers: ["retry-after"])
        let times: [Int64] = [0, 1_795_255_200_123, 253_402_300_799_999, -62_167_219_200_000]
        for time in times {
            let answer = LogzFormat.result(
                of: sample.response, lines: 3, from: SampleAnswer.origin,
                at: IssueTimestamp(millisecondsSince1970: time))
            sample.check(answer)
            if case .partial(let partial) = answer.verdict {
                require(
                    partial.invalidLines.allSatisfy { $0 == 1 },
                    "A valid line is reported as invalid: \(partial.invalidLines)")
            }
            require(answer.verdict != .unconfirmed, "A response of Logz.io is classified as unconfirmed")
        }
    }
}
