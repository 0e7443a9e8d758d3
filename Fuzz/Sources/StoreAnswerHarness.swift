import Destinations
import HTTPTransfer
import IssueCore
import IssueProtocol

/// Whatever a store of the team's own answers has a meaning, and words that show neither the token nor anything that a
/// terminal obeys; what it says of single lines is of lines that were sent.
///
/// Input: which store, the status as two bytes, a header up to a line feed (`Retry-After`, and the number of an
/// exception), and the body.
enum StoreAnswerHarness {
    private static let lines = [#"{"message":"a"}"#, #"{"message":"b"}"#, "{}"].map { Array($0.utf8) }

    static func run(_ input: Span<UInt8>) {
        guard input.count > 3 else { return }
        let rest = input.array(from: 1)
        switch input[0] % 3 {
        case 0: check(ClickHouseFormat.self, rest)
        case 1: check(SearchFormat.self, rest)
        default: check(OTLPFormat.self, rest)
        }
    }

    private static func check<Format: HTTPFormat>(_ format: Format.Type, _ input: [UInt8]) {
        let sample = SampleAnswer(input, headers: ["Retry-After", "X-ClickHouse-Exception-Code"])
        let answer = sample.reader.meaning(
            of: sample.response, to: RequestLines(lines), in: format, at: Timestamp(milliseconds: 1_795_255_200_123))
        sample.check(answer)
        guard case .partial(let partial) = answer.verdict else { return }
        require(partial.invalidLines.allSatisfy(lines.indices.contains), "A line is suspected that was not sent")
        require(Set(partial.invalidLines).count == partial.invalidLines.count, "A line is suspected twice")
        let successful = partial.successful ?? 0
        require((0...lines.count).contains(successful), "\(successful) of \(lines.count) lines are taken")
        require(successful + partial.invalidLines.count <= lines.count, "A line is taken and suspected")
        require(
            partial.invalidLines.isEmpty || successful + partial.invalidLines.count == lines.count,
            "A line is neither taken nor suspected")
    }
}
