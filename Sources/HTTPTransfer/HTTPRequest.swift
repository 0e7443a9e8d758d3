import CCurl
import Glibc

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

/// What a peer answered, whatever the status says.
package struct HTTPResponse: Equatable, Sendable {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// The body is not whole: it was longer than the limit, or the connection
    /// ended within it after a status that is no success.
    package var isTruncated: Bool
    /// A kept connection turned out to be dead after the request had gone out
    /// on it, so the request was made again: the peer may have it twice.
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

/// The part of a URL that may be shown: who is asked, not what for.
struct HTTPOrigin: Equatable, CustomStringConvertible {
    let host: String
    let port: String

    /// Nil for a URL that libcurl cannot read, and for a scheme other than
    /// HTTP's.
    init?(url: String) {
        // A C string would end at the zero, and be another URL.
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

/// The proxy that stands before a peer, for people: libcurl asks it by itself and does not say so.
package enum ProxyName {
    /// Host and port of the proxy through which a request goes; nothing where it goes straight to its peer.
    static func text(for request: HTTPRequest, to origin: HTTPOrigin) -> String? {
        text(for: request, to: origin, variable)
    }

    private static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// The passwords in the URLs of proxies that the environment names, decoded.
    package static func environmentPasswords() -> [[UInt8]] {
        let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        return names.compactMap(variable).compactMap(password)
    }

    /// The password in the URL of a proxy, decoded, or nil when it has none.
    static func password(in proxy: String) -> [UInt8]? {
        let start = proxy.firstRange(of: "://")?.upperBound ?? proxy.startIndex
        let authority = proxy[start...].prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") else {
            return nil
        }
        let text = Array(authority[authority.index(after: colon)..<at].utf8)
        var password: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "%"), index + 2 < text.count,
                let high = Character(Unicode.Scalar(text[index + 1])).hexDigitValue,
                let low = Character(Unicode.Scalar(text[index + 2])).hexDigitValue
            {
                password.append(UInt8(high << 4 | low))
                index += 3
            } else {
                password.append(text[index])
                index += 1
            }
        }
        return password.isEmpty ? nil : password
    }

    /// - Parameter environment: What a variable says; libcurl goes by the usual ones.
    static func text(
        for request: HTTPRequest, to origin: HTTPOrigin, _ environment: (String) -> String?
    ) -> String? {
        let scheme = request.url.prefix { $0 != ":" }.lowercased()
        // HTTP_PROXY is what a CGI is told by a stranger, so libcurl does not read it.
        let names = ["\(scheme)_proxy"] + (scheme == "http" ? [] : [scheme.uppercased() + "_PROXY"])
        let proxy = request.proxy ?? (names + ["all_proxy", "ALL_PROXY"]).lazy.compactMap(environment).first
        guard let proxy, !proxy.isEmpty, !isExcepted(origin, environment) else { return nil }
        // It may hold a password, which must not be shown.
        let start = proxy.firstRange(of: "://")?.upperBound ?? proxy.startIndex
        let place = "http://\(proxy[start...])"
        return HTTPOrigin(url: place)?.description ?? "(of a name that can't be read)"
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
