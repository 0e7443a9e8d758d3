import HTTPShipping
import HTTPTransfer
import IssueCore
import IssueProtocol
import LogzShipping

/// Whatever a listener answers has a meaning, and words that show neither the token nor anything that a terminal obeys.
///
/// Input: the status as two bytes, a `Retry-After` header up to a line feed, and the body.
enum AnswerHarness {
    private static let secret = "s3cret+tok/en="
    private static let forms = [secret, "s3cret%2Btok%2Fen%3D", "s3cret%2btok%2fen%3d"]

    static func run(_ input: Span<UInt8>) {
        guard input.count > 2, let token = ShippingToken(Array(secret.utf8)) else { return }
        let status = Int(input[0]) << 8 | Int(input[1])
        let rest = input.array(from: 2)
        let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? 0
        var headers = HTTPHeaders()
        if end > 0 { headers.append(name: "retry-after", value: Array(rest[..<end]).shown) }
        let response = HTTPResponse(status: status, headers: headers, body: Array(rest[end...]))

        let reader = LogzAnswer(origin: "listener.example.com:8071", token: token)
        let times: [Int64] = [0, 1_795_255_200_123, 253_402_300_799_999, -62_167_219_200_000]
        let lines = [Array(#"{"message":"m"}"#.utf8), Array("no line".utf8), Array("{}".utf8)]
        for time in times {
            check(reader.meaning(of: response, to: lines, at: Timestamp(milliseconds: time)), status)
        }
    }

    private static func check(_ answer: DeliveryAnswer, _ status: Int) {
        let summary = answer.summary.text
        require(summary.count <= AnswerSummary.mostCharacters, "An answer is told in \(summary.count) characters")
        require(!summary.isEmpty, "Nothing is told of an answer")
        for form in forms { require(!summary.utf8Contains(form), "The token is told: \(summary)") }
        require(
            !summary.unicodeScalars.contains { $0.properties.generalCategory == .control },
            "A control character is told")
        switch answer.verdict {
        case .accepted: require((200..<300).contains(status), "\(status) is taken for success")
        case .partial(let partial):
            require(partial.suspects.allSatisfy { $0 == 1 }, "A good line is suspected: \(partial.suspects)")
        case .again(_, let delay?):
            require(delay >= .zero && delay <= .seconds(366 * 86_400), "\(delay) is no time to wait")
        case .unconfirmed: require(false, "Logz.io says what it has taken")
        case .again, .paused, .tooLarge, .ambiguous: break
        }
    }
}

extension String {
    /// Whether the bytes of another text stand in it, whatever characters they are part of.
    fileprivate func utf8Contains(_ other: String) -> Bool {
        let (bytes, wanted) = (Array(utf8), Array(other.utf8))
        guard bytes.count >= wanted.count else { return false }
        return (0...(bytes.count - wanted.count)).contains { bytes[$0..<($0 + wanted.count)].elementsEqual(wanted) }
    }
}
