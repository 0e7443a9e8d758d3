import CCurl
import Glibc

/// An HTTP request with its limits.
package struct HTTPRequest: Sendable {
    package enum Method: String, Sendable {
        /// Without a body.
        case get = "GET"
        case post = "POST"
    }

    package var method = Method.post
    package var url: String
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// The time limit for establishing the connection, including the TLS handshake.
    package var connectTimeout: Duration = .seconds(10)
    /// The time limit for the whole request. It also covers a peer that responds very slowly.
    package var totalTimeout: Duration = .seconds(30)
    /// The URL of the proxy; nil to use `https_proxy` and similar variables, empty for no proxy.
    package var proxy: String?
    /// The path of a PEM file with authorities that replace those of the system.
    package var caFile: String?
    /// The maximum number of bytes kept of the response body.
    package var answerLimit: Int = 64 * 1024
    package var userAgent: String = "issued"

    package init(url: String, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.url = url
        self.headers = headers
        self.body = body
    }
}

// A URL's query or a header may contain a credential, and anything printable ends up in a log eventually. So a request
// is printed as its method, origin and size.
extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        let peer = HTTPOrigin(url: url)?.description ?? "an unusable URL"
        return "\(method.rawValue) \(peer), \(body.count) bytes"
    }

    package var debugDescription: String { description }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The response of a peer, with any status.
package struct HTTPResponse: Equatable, Sendable {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// `true` if the body is incomplete: it exceeded the limit, or the connection ended within it after an error
    /// status.
    package var isTruncated: Bool
    /// `true` if the request was repeated because a kept connection broke after it had been sent. The peer may have
    /// received it twice.
    package var mayHaveArrivedTwice: Bool

    package init(
        status: Int, headers: HTTPHeaders = [:], body: [UInt8] = [], isTruncated: Bool = false,
        mayHaveArrivedTwice: Bool = false
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isTruncated = isTruncated
        self.mayHaveArrivedTwice = mayHaveArrivedTwice
    }
}

/// The host and port of a URL, which may be shown to users.
struct HTTPOrigin: Equatable, CustomStringConvertible {
    let host: String
    let port: String

    /// Returns nil if libcurl cannot parse the URL, or if its scheme is not HTTP or HTTPS.
    init?(url: String) {
        // A C string would end at the zero byte and be a different URL.
        guard !url.utf8.contains(0), let handle = unsafe curl_url() else { return nil }
        defer { unsafe curl_url_cleanup(handle) }
        guard unsafe curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK,
            let scheme = unsafe HTTPOrigin.part(CURLUPART_SCHEME, of: handle),
            scheme == "http" || scheme == "https",
            let host = unsafe HTTPOrigin.part(CURLUPART_HOST, of: handle),
            let port = unsafe HTTPOrigin.part(CURLUPART_PORT, of: handle)
        else { return nil }
        self.host = host
        self.port = port
    }

    var description: String { "\(host):\(port)" }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        let flags = CUnsignedInt(CURLU_DEFAULT_PORT)
        guard unsafe curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text = unsafe text else { return nil }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text)
    }
}

/// The proxy used for a request, for messages. libcurl chooses it on its own and does not report it.
enum ProxyName {
    private static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// Returns the host and port of the proxy for a request; nil if it goes directly to the peer.
    ///
    /// - Parameter environment: Returns the value of an environment variable. The variables are those that libcurl
    ///   uses.
    static func text(
        for request: HTTPRequest, to origin: HTTPOrigin, _ environment: (String) -> String? = variable
    ) -> String? {
        let scheme = request.url.prefix { $0 != ":" }.lowercased()
        // libcurl ignores HTTP_PROXY, since in a CGI program it would be a header sent by the client.
        let names = ["\(scheme)_proxy"] + (scheme == "http" ? [] : [scheme.uppercased() + "_PROXY"])
        let proxy = request.proxy ?? (names + ["all_proxy", "ALL_PROXY"]).lazy.compactMap(environment).first
        guard let proxy, !proxy.isEmpty, !isExcepted(origin, environment) else { return nil }
        // The URL may contain a password, which must not be shown.
        let start = proxy.firstRange(of: "://")?.upperBound ?? proxy.startIndex
        let url = "http://\(proxy[start...])"
        return HTTPOrigin(url: url)?.description ?? "(invalid URL)"
    }

    private static func isExcepted(_ origin: HTTPOrigin, _ environment: (String) -> String?) -> Bool {
        let exceptions = environment("no_proxy") ?? environment("NO_PROXY") ?? ""
        let host = origin.host.lowercased()
        return exceptions.split { $0 == "," || $0 == " " }.contains { exception in
            let name = exception.lowercased().drop { $0 == "." }
            return name == "*" || host == name || host.hasSuffix(".\(name)")
        }
    }
}
