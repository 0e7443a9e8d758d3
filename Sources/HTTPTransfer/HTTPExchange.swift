import CCurl

/// What libcurl's callbacks learn of one request and its answer.
///
/// A class, since libcurl holds its address while the transfer runs.
final class HTTPExchange {
    /// More than any honest answer has; libcurl itself bounds a line, not
    /// their number.
    private static let headerLimit = 64 * 1024

    private let answerLimit: Int
    private var headerBytes = 0
    private var isConnecting = true
    private var requestsBegun = 0

    private(set) var status: Int?
    private(set) var headers = HTTPHeaders()
    private(set) var body: [UInt8] = []
    private(set) var isOverLimit = false
    private(set) var hasTooLongHeaders = false
    private(set) var hasWholeHead = false
    /// A second connection was needed after the request went out on the first.
    private(set) var wasRepeated = false

    init(answerLimit: Int) {
        self.answerLimit = max(0, answerLimit)
    }

    /// The connection stands and the request has begun to go out on it.
    var isUnderWay: Bool { !isConnecting }

    /// The request has begun to go out on some connection.
    var hasBegun: Bool { requestsBegun > 0 }

    func response(isTruncated: Bool) -> HTTPResponse? {
        guard hasWholeHead, let status else { return nil }
        return HTTPResponse(
            status: status, headers: headers, body: body, isTruncated: isTruncated,
            mayHaveArrivedTwice: wasRepeated)
    }

    /// A socket for a new connection was made.
    func connectionOpens() {
        // libcurl makes a request again by itself when a kept connection ends
        // without an answer. Whether the peer acted before that is unknown.
        if hasBegun { wasRepeated = true }
        isConnecting = true
    }

    /// The connection stands; the request goes out now.
    func requestBegins() {
        if hasBegun { wasRepeated = true }
        requestsBegun += 1
        isConnecting = false
    }

    /// Takes a line of the answer's head, and says whether to go on.
    func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        headerBytes += line.count
        guard headerBytes <= HTTPExchange.headerLimit else {
            hasTooLongHeaders = true
            return false
        }
        let text = unsafe String(decoding: line, as: UTF8.self)
        let content = text.prefix { !$0.isNewline }
        if content.hasPrefix("HTTP/") {
            // A new head: what came before was an interim answer.
            let words = content.split(separator: " ", maxSplits: 2)
            status = words.count > 1 ? Int(words[1]) : nil
            headers = HTTPHeaders()
            hasWholeHead = false
        } else if content.isEmpty {
            hasWholeHead = status.map { $0 >= 200 } ?? false
        } else if let colon = content.firstIndex(of: ":") {
            headers.append(
                name: String(content[..<colon]), value: trimmed(content[content.index(after: colon)...]))
        }
        return true
    }

    /// Takes a piece of the answer's body, and says whether to go on.
    func receive(bodyPart part: UnsafeRawBufferPointer) -> Bool {
        let room = answerLimit - body.count
        unsafe body.append(contentsOf: part.prefix(room))
        isOverLimit = part.count > room
        return !isOverLimit
    }

    private func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " || $0 == "\t" }
        let end = start.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { String(start[...$0]) } ?? ""
    }
}
