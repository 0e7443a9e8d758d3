import Destinations
import HTTPTransfer
import IssueCore

/// An answer that was made up, and what has to hold of its meaning whoever gave it.
///
/// Input: the status as two bytes, a header's value up to a line feed, and the body.
struct SampleAnswer {
    private static let secret = "s3cret+tok/en="
    private static let forms = [secret, "s3cret%2Btok%2Fen%3D", "s3cret%2btok%2fen%3d"]

    let response: HTTPResponse
    let reader = ResponseClassifier(
        origin: "listener.example.com:8071", token: ShippingToken(Array(secret.utf8)))

    init(_ input: [UInt8], headers names: [String]) {
        let rest = input[2...]
        let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? 2
        var headers = HTTPHeaders()
        if end > 2 {
            for name in names { headers.append(name: name, value: Array(rest[..<end]).shown) }
        }
        response = HTTPResponse(
            status: Int(input[0]) << 8 | Int(input[1]), headers: headers, body: Array(rest[end...]))
    }

    func check(_ answer: DeliveryResult) {
        let summary = answer.summary.text
        require(summary.count <= ResponseSummary.maxCharacters, "An answer is told in \(summary.count) characters")
        require(!summary.isEmpty, "Nothing is told of an answer")
        for form in Self.forms { require(!summary.utf8Contains(form), "The token is told: \(summary)") }
        require(
            !summary.unicodeScalars.contains { $0.properties.generalCategory == .control },
            "A control character is told")
        switch answer.verdict {
        case .accepted:
            require((200..<300).contains(response.status), "\(response.status) is taken for success")
        case .unconfirmed:
            require((200..<300).contains(response.status), "\(response.status) is taken for half a success")
        case .again(_, let delay?):
            require(delay >= .zero && delay <= .seconds(366 * 86_400), "\(delay) is no time to wait")
        case .partial, .again, .paused, .tooLarge, .ambiguous: break
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
