import Destinations
import HTTPTransfer
import IssueCore
import IssueProtocol

/// Any response of a self-hosted destination is classified, and its summary has neither the token nor control
/// characters. Results for single lines refer to lines that were sent.
///
/// Input: a byte that selects the kind of destination, the status as two bytes, the value of the headers `Retry-After`
/// and `X-ClickHouse-Exception-Code` up to a line feed, and the body.
enum StoreAnswerHarness {
    private static let lines = 3

    static func run(_ input: Span<UInt8>) {
        guard input.count > 3 else { return }
        let rest = input.array(from: 1)
        switch input[0] % 3 {
        case 0: check(ClickHouseFormat.self, rest)
        case 1: check(ElasticsearchFormat.self, rest)
        default: check(OTLPFormat.self, rest)
        }
    }

    private static func check<Format: HTTPFormat>(_ format: Format.Type, _ input: [UInt8]) {
        let sample = SampleAnswer(input, headers: ["Retry-After", "X-ClickHouse-Exception-Code"])
        let answer = Format.result(
            of: sample.response, lines: lines, from: SampleAnswer.origin,
            at: IssueTimestamp(millisecondsSince1970: 1_795_255_200_123))
        sample.check(answer)
        guard case .partial(let partial) = answer.verdict else { return }
        require(
            partial.invalidLines.allSatisfy((0..<lines).contains), "A line that was not sent is reported as invalid")
        require(Set(partial.invalidLines).count == partial.invalidLines.count, "A line is reported as invalid twice")
        let successful = partial.successful ?? 0
        require((0...lines).contains(successful), "\(successful) of \(lines) lines are accepted")
        require(successful + partial.invalidLines.count <= lines, "A line is both accepted and invalid")
        require(
            partial.invalidLines.isEmpty || successful + partial.invalidLines.count == lines,
            "A line is neither accepted nor invalid")
    }
}
