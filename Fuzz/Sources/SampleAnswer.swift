import Destinations
import HTTPTransfer
import IssueCore

/// A generated response, and the conditions that hold for its classification for each kind of destination.
///
/// Input: the status as two bytes, the value of each header up to a line feed, and the body.
struct SampleAnswer {
    private static let secret = "s3cret+tok/en="
    /// The secret, also in its percent-encoded forms.
    private static let secretForms = [secret, "s3cret%2Btok%2Fen%3D", "s3cret%2btok%2fen%3d"]

    static let origin = "listener.example.com:8071"

    let response: HTTPResponse

    init(_ input: [UInt8], headers names: [String]) {
        let rest = input[2...]
        let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? 2
        var headers = HTTPHeaders()
        if end > 2 {
            for name in names { headers.append(name: name, value: Array(rest[..<end]).asText) }
        }
        response = HTTPResponse(
            status: Int(input[0]) << 8 | Int(input[1]), headers: headers, body: Array(rest[end...]))
    }

    func check(_ answer: DeliveryResult) {
        let summary = answer.summary.text
        require(summary.count <= ResponseSummary.maxCharacters, "A summary has \(summary.count) characters")
        require(!summary.isEmpty, "A summary is empty")
        for form in Self.secretForms { require(!summary.utf8Contains(form), "A summary has the token: \(summary)") }
        require(
            !summary.unicodeScalars.contains { $0.properties.generalCategory == .control },
            "A summary has a control character")
        switch answer.verdict {
        case .accepted:
            require((200..<300).contains(response.status), "\(response.status) counts as success")
        case .unconfirmed:
            require((200..<300).contains(response.status), "\(response.status) counts as unconfirmed success")
        case .again(_, let delay?):
            require(delay >= .zero && delay <= .seconds(366 * 86_400), "\(delay) is not a valid delay")
        case .partial, .again, .paused, .tooLarge, .ambiguous: break
        }
    }
}

extension String {
    /// Returns `true` if this text contains the bytes of another one, even within characters.
    fileprivate func utf8Contains(_ other: String) -> Bool {
        let (bytes, wanted) = (Array(utf8), Array(other.utf8))
        guard bytes.count >= wanted.count else { return false }
        return (0...(bytes.count - wanted.count)).contains { bytes[$0..<($0 + wanted.count)].elementsEqual(wanted) }
    }
}
