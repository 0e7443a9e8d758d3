/// One request: what is sent, to whom, and how long it may take.
package struct HTTPRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    package var method: Method
    package var url: String
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// Until the connection stands, the TLS handshake included.
    package var connectTimeout: Duration = .seconds(10)
    /// For everything, so that a peer that answers byte by byte is no way out.
    package var totalTimeout: Duration = .seconds(30)
    /// Nil leaves it to `https_proxy` and its like, an empty text means none.
    package var proxy: String?
    /// The authorities to trust in place of the system's, as a PEM file.
    package var caFile: String?
    /// How many bytes of the answer's body are kept at most.
    package var answerLimit: Int = 64 * 1024
    package var userAgent: String = "issued"

    package init(method: Method, url: String, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

// A URL's query or a header may hold a credential, and whatever can be printed
// ends up in a log some day: so a request prints as method, origin and size.
extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        let peer = HTTPOrigin(url: url)?.description ?? "an unusable URL"
        return "\(method.rawValue) \(peer), \(body.count) bytes"
    }

    package var debugDescription: String { description }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
