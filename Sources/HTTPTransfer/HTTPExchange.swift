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

    /// Reads the three digits of a status line (RFC 9112, 4).
    private static func status(_ word: Substring) -> Int? {
        word.utf8.count == 3 && word.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(word) : nil
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
            status = words.count > 1 ? Self.status(words[1]) : nil
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

extension HTTPExchange {
    /// Lets libcurl tell this exchange what happens. The exchange must outlive
    /// the transfer.
    func observe(_ easy: UnsafeMutableRawPointer) -> [CURLcode] {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        return unsafe [
            ccurl_set_on_header(
                easy,
                { bytes, _, count, context in
                    let line = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
                    return unsafe HTTPExchange.from(context)?.receive(headerLine: line) == true ? count : 0
                }, context),
            ccurl_set_on_body(
                easy,
                { bytes, _, count, context in
                    let part = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
                    return unsafe HTTPExchange.from(context)?.receive(bodyPart: part) == true ? count : 0
                }, context),
            ccurl_set_on_socket(
                easy,
                { context, _, _ in
                    unsafe HTTPExchange.from(context)?.connectionOpens()
                    return CInt(CURL_SOCKOPT_OK)
                }, context),
            ccurl_set_on_request(
                easy,
                { context, _, _, _, _ in
                    unsafe HTTPExchange.from(context)?.requestBegins()
                    return CInt(CURL_PREREQFUNC_OK)
                }, context),
        ]
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> HTTPExchange? {
        unsafe context.map { unsafe Unmanaged<HTTPExchange>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// The header fields of a request or an answer, in the order in which they
/// came, found by name without regard to case.
package struct HTTPHeaders: Equatable, Sendable {
    /// One field.
    package struct Field: Equatable, Sendable {
        package var name: String
        package var value: String
    }

    package private(set) var fields: [Field] = []

    package init() {}

    /// The first value under a name.
    package subscript(name: String) -> String? {
        let wanted = name.lowercased()
        return fields.first { $0.name.lowercased() == wanted }?.value
    }

    package mutating func append(name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements {
            append(name: name, value: value)
        }
    }
}

/// The header lines of a request in the form libcurl wants them.
@safe
struct HeaderList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    /// Nil if a name or a value would break out of its line, or if memory is
    /// out.
    init?(_ headers: HTTPHeaders, expectsContinue: Bool) {
        unsafe first = nil
        // To ask first costs a round trip, and a second where the peer does
        // not know the question, so libcurl must not do it of its own accord.
        guard append(expectsContinue ? "Expect: 100-continue" : "Expect:") else { return nil }
        // Otherwise libcurl claims that the body is a form.
        if headers["Content-Type"] == nil, !append("Content-Type:") { return nil }
        for field in headers.fields {
            guard HeaderList.isName(field.name), HeaderList.isValue(field.value) else { return nil }
            // With a colon and nothing behind, libcurl would drop the field.
            guard append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)") else { return nil }
        }
    }

    deinit {
        unsafe curl_slist_free_all(first)
    }

    private mutating func append(_ line: String) -> Bool {
        guard let longer = unsafe curl_slist_append(first, line) else { return false }
        unsafe first = longer
        return true
    }

    private static func isName(_ name: String) -> Bool {
        let separators = Array(":;".utf8)
        return !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !separators.contains($0) }
    }

    private static func isValue(_ value: String) -> Bool {
        value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
