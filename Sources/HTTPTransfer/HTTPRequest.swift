import CCurl
import CZlib
import Glibc

/// An HTTP request, and the limits of its transfer.
package struct HTTPRequest: Sendable {
    package enum Method: String, Sendable {
        /// The request is sent without its body.
        case get = "GET"
        case post = "POST"
    }

    package var method = Method.post
    package var url: String
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// The time limit for establishing the connection, including the TLS handshake.
    package var connectTimeout: Duration = .seconds(10)
    /// The time limit for the whole request, from connecting to the end of the response.
    package var totalTimeout: Duration = .seconds(30)
    /// The URL of the proxy; nil to use `https_proxy` and similar variables, empty for no proxy.
    package var proxy: String?
    /// The path of a PEM file with the certificates of trusted authorities; nil for the authorities of the system.
    package var caFile: String?
    /// The maximum size of the response body, in bytes. A longer body is truncated.
    package var responseLimit: Int = 64 * 1024
    package var userAgent: String = "issued"

    package init(url: String, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.url = url
        self.headers = headers
        self.body = body
    }
}

// A URL's query or a header may contain a credential, and a printed request may end up in a log. The description of a
// request therefore contains only the method, the origin and the size of the body.
extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        let peer = HTTPOrigin(url: url)?.description ?? "an unusable URL"
        return "\(method.rawValue) \(peer), \(body.count) bytes"
    }

    package var debugDescription: String { description }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The header fields of a request or response in their original order.
package struct HTTPHeaders: Equatable, Sendable {
    /// A header field.
    package struct Field: Equatable, Sendable {
        package var name: String
        package var value: String
    }

    package private(set) var fields: [Field] = []

    package init() {}

    /// The value of the first field with this name, ignoring case; nil if there is none.
    package subscript(name: String) -> String? {
        let wanted = name.lowercased()
        return fields.first { $0.name.lowercased() == wanted }?.value
    }

    /// Appends a field.
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

/// The response of a peer, with any status.
package struct HTTPResponse: Equatable, Sendable {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// Whether the body is incomplete: it exceeded the limit, or the status is not a success and the transfer failed
    /// before the end of the body.
    package var isTruncated: Bool
    /// Whether the request may have been sent again because a reused connection ended. If so, the peer may have
    /// received it twice.
    package var mayHaveArrivedTwice: Bool
    /// The host and port of the proxy that may have sent the response instead of the peer. Nil if the status is a
    /// success, if there was no HTTP proxy, or if the connection to the peer was encrypted.
    package var proxy: String?

    package init(
        status: Int, headers: HTTPHeaders = [:], body: [UInt8] = [], isTruncated: Bool = false,
        mayHaveArrivedTwice: Bool = false, proxy: String? = nil
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isTruncated = isTruncated
        self.mayHaveArrivedTwice = mayHaveArrivedTwice
        self.proxy = proxy
    }
}

/// The host and port of a URL. They contain no credential, so they may be shown to users.
struct HTTPOrigin: Equatable, CustomStringConvertible {
    let host: String
    let port: String

    /// Returns nil if the URL contains a zero byte or libcurl cannot parse it, or if its scheme is neither HTTP nor
    /// HTTPS.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - defaultPort: The port if the URL has none; nil for that of its scheme.
    init?(url: String, defaultPort: String? = nil) {
        // A C string would end at the zero byte and be a different URL.
        guard !url.utf8.contains(0), let handle = unsafe curl_url() else { return nil }
        defer { unsafe curl_url_cleanup(handle) }
        guard unsafe curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK,
            let scheme = unsafe HTTPOrigin.part(CURLUPART_SCHEME, of: handle),
            scheme == "http" || scheme == "https",
            let host = unsafe HTTPOrigin.part(CURLUPART_HOST, of: handle),
            let port = unsafe HTTPOrigin.part(
                CURLUPART_PORT, of: handle, flags: defaultPort == nil ? CURLU_DEFAULT_PORT : 0) ?? defaultPort
        else { return nil }
        self.host = host
        self.port = port
    }

    var description: String { "\(host):\(port)" }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer, flags: CInt = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard unsafe curl_url_get(handle, part, &text, CUnsignedInt(flags)) == CURLUE_OK, let text = unsafe text else {
            return nil
        }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text)
    }
}

/// Determines the proxy of a request, so that messages can name it. libcurl chooses the proxy itself and does not
/// report its choice.
enum ProxyName {
    private static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// Returns the host and port of the proxy for a request, or `(invalid URL)`; nil if the request goes directly to
    /// the peer.
    ///
    /// - Parameter environment: Returns the value of an environment variable; nil if it is not set. Called only for
    ///   variables that libcurl reads.
    static func text(
        for request: HTTPRequest, to origin: HTTPOrigin, _ environment: (String) -> String? = variable
    ) -> String? {
        guard let proxy = url(for: request, to: origin, environment) else { return nil }
        // The URL may contain a password, which must not be shown.
        let start = proxy.firstRange(of: "://")?.upperBound ?? proxy.startIndex
        // For libcurl, the default port depends on the scheme of the proxy.
        let port = proxy.lowercased().hasPrefix("https://") ? "443" : "1080"
        return HTTPOrigin(url: "http://\(proxy[start...])", defaultPort: port)?.description ?? "(invalid URL)"
    }

    /// Returns the host and port of the proxy that may respond to a request instead of the peer; nil if no proxy can.
    static func responder(
        to request: HTTPRequest, for origin: HTTPOrigin, _ environment: (String) -> String? = variable
    ) -> String? {
        // With TLS, the proxy only forwards bytes. A SOCKS proxy does not speak HTTP.
        guard request.url.lowercased().hasPrefix("http:"),
            let proxy = url(for: request, to: origin, environment), !proxy.lowercased().hasPrefix("socks")
        else { return nil }
        return text(for: request, to: origin, environment)
    }

    /// Returns the URL of the proxy, which may contain a password; nil if there is none.
    private static func url(
        for request: HTTPRequest, to origin: HTTPOrigin, _ environment: (String) -> String?
    ) -> String? {
        let scheme = request.url.prefix { $0 != ":" }.lowercased()
        // libcurl ignores HTTP_PROXY, because in a CGI program the variable contains the client's `Proxy` header.
        let names = ["\(scheme)_proxy"] + (scheme == "http" ? [] : [scheme.uppercased() + "_PROXY"])
        let proxy = request.proxy ?? value(of: names + ["all_proxy", "ALL_PROXY"], environment)
        guard let proxy, !proxy.isEmpty, !isExcepted(origin, environment) else { return nil }
        return proxy
    }

    /// Returns the first value that is not empty. For libcurl, an empty variable is not set.
    private static func value(of names: [String], _ environment: (String) -> String?) -> String? {
        for name in names {
            if let value = environment(name), !value.isEmpty { return value }
        }
        return nil
    }

    private static func isExcepted(_ origin: HTTPOrigin, _ environment: (String) -> String?) -> Bool {
        let exceptions = value(of: ["no_proxy", "NO_PROXY"], environment) ?? ""
        let host = origin.host.lowercased()
        return exceptions.split { $0 == "," || $0 == " " }.contains { exception in
            let name = exception.lowercased().drop { $0 == "." }
            return name == "*" || host == name || host.hasSuffix(".\(name)")
        }
    }
}

/// The reason why a request got no usable response, or why `StreamClient` could not send bytes.
package struct HTTPTransferError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kinds of failures that callers handle differently.
    package enum Code: String, Equatable, Sendable, CaseIterable {
        /// The URL or a header of the request is invalid.
        case invalidRequest
        /// The host name could not be resolved.
        case resolve
        /// The peer or the proxy refused the connection or is unreachable.
        case refused
        /// The connection was not established in time.
        case connectTimeout
        /// After connecting, the transfer was not complete in time.
        case timeout
        /// A TLS failure: an untrusted certificate, a failed handshake, a peer without TLS, or an unusable CA file.
        case tls
        /// The connection ended before the transfer was complete.
        case connectionLost
        /// The response is not HTTP, or has too many headers.
        case malformedResponse
        /// The proxy's name could not be resolved, or the proxy did not forward the request.
        case proxy
        /// The proxy requires a user and a password, or rejects them (407).
        case proxyAuthentication
        /// The caller cancelled the request.
        case cancelled
        case other
    }

    package let code: Code
    /// A description for users, without a full stop at the end. It contains neither the query of the URL, which may
    /// contain a credential, nor text from the peer or libcurl.
    package let message: String
    /// Whether the whole request may have been passed to the kernel, so that the peer may have acted on it. In an error
    /// of `StreamClient`, whether some of the bytes may have arrived.
    package let bodyFullySent: Bool

    package init(code: Code, message: String, bodyFullySent: Bool = false) {
        self.code = code
        self.message = message
        self.bodyFullySent = bodyFullySent
    }

    package var description: String { message }
}

extension HTTPTransferError {
    /// Creates the error for a result of libcurl.
    ///
    /// - Parameters:
    ///   - result: The result; not `CURLE_OK`.
    ///   - origin: The peer.
    ///   - proxy: The host and port of the proxy; nil if none was used.
    ///   - authorities: The path of the CA file; nil for the system's authorities.
    ///   - info: Properties of the transfer.
    ///   - exchange: The state of the exchange.
    ///   - bodyFullySent: `true` if the peer may have received the whole request.
    init(
        _ result: CURLcode, at origin: HTTPOrigin, through proxy: String?, trusting authorities: String?,
        info: TransferInfo, exchange: HTTPExchange, bodyFullySent: Bool
    ) {
        let (next, behind) = proxy.map { ("the proxy \($0)", " for \(origin)") } ?? ("\(origin)", "")
        let (code, message): (Code, String) =
            switch result {
            case _ where info.proxyStatus >= 300 && !exchange.hasBegun:
                (
                    info.proxyStatus == 407 ? .proxyAuthentication : .proxy,
                    "The proxy \(proxy ?? "") returned \(info.proxyStatus) for \(origin)"
                )
            case CURLE_COULDNT_RESOLVE_HOST:
                (.resolve, "The host name \(origin.host) could not be resolved")
            case CURLE_COULDNT_RESOLVE_PROXY:
                (.proxy, "The name of the proxy \(proxy ?? "") for \(origin) could not be resolved")
            case CURLE_PROXY:
                (.proxy, "The proxy \(proxy ?? "") did not forward the request to \(origin)")
            case CURLE_COULDNT_CONNECT:
                (.refused, "Could not connect to \(next)\(behind)\(Self.systemReason(info.systemError))")
            case CURLE_OPERATION_TIMEDOUT:
                exchange.isConnected
                    ? (.timeout, "\(origin) did not respond in time")
                    : (.connectTimeout, "Connecting to \(next)\(behind) timed out")
            case CURLE_SSL_CACERT_BADFILE:
                (.tls, "The CA file \(authorities.map { "\($0) " } ?? "")for \(origin) cannot be used")
            case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION,
                CURLE_USE_SSL_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
                CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT, CURLE_SSL_ENGINE_NOTFOUND,
                CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED:
                (.tls, Self.tlsMessage(result, at: origin, verification: info.verification))
            case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_SEND_FAIL_REWIND:
                (.connectionLost, "The connection to \(origin) ended before the response was complete")
            case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_BAD_CONTENT_ENCODING:
                (.malformedResponse, "The response from \(origin) is not HTTP")
            case CURLE_UNSUPPORTED_PROTOCOL where exchange.hasBegun:
                // libcurl's error for a response without a status line.
                (.malformedResponse, "The response from \(origin) is not HTTP")
            case CURLE_WRITE_ERROR where exchange.hasOversizedHeaders:
                (.malformedResponse, "The response from \(origin) has too many headers")
            case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
                (.invalidRequest, "The URL for \(origin) is invalid")
            default:
                (.other, "The request to \(origin) failed (libcurl error \(result.rawValue))")
            }
        self.init(code: code, message: message, bodyFullySent: bodyFullySent)
    }

    private static func tlsMessage(_ result: CURLcode, at origin: HTTPOrigin, verification: Int) -> String {
        guard result == CURLE_PEER_FAILED_VERIFICATION else {
            return "TLS handshake with \(origin) failed; the peer may not use TLS, or only a version before 1.2"
        }
        switch verification {
        case 0, 1:
            // OpenSSL found no fault, so the host name did not match. libcurl checks the name before it stores the
            // result, so the result may still have its initial value, 1.
            return "The certificate of \(origin) is for another host name"
        case 9:
            return "The certificate of \(origin) is not valid yet"
        case 10:
            return "The certificate of \(origin) has expired"
        case 18, 19, 20, 21:
            return "The certificate of \(origin) was issued by an unknown authority"
        default:
            return "The certificate of \(origin) is not trusted (OpenSSL error \(verification))"
        }
    }

    /// Returns a colon and the C library's text for a system error; empty for 0. The text contains nothing from the
    /// peer.
    private static func systemReason(_ error: CInt) -> String {
        guard error != 0, let text = unsafe strerror(error) else { return "" }
        return unsafe ": \(String(cString: text))"
    }
}

/// Compresses the body of one request with gzip, part by part.
@safe
package struct GzipCompressor: ~Copyable, @unchecked Sendable {
    // Sendable is safe because there is a single owner, and zlib does not tie a stream to a thread. The stream is on
    // the heap because zlib requires that its address does not change.
    private let stream: UnsafeMutablePointer<z_stream>

    /// The number of bytes by which the output grows at a time.
    private static let pieceBytes = 64 << 10

    /// Creates a compressor. It uses about 256 KiB of memory.
    ///
    /// - Parameter level: The compression level, from 1 to 9; 0 stores the bytes uncompressed.
    /// - Throws: `outOfMemory` if zlib cannot be set up.
    package init(level: Int) throws(GzipError) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        guard unsafe czlib_gzip_deflate_init(stream, CInt(min(max(level, 0), 9))) == Z_OK else {
            // deflateEnd on an uninitialised stream is harmless.
            throw .outOfMemory
        }
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Compresses the next part of the body, of less than 4 GiB, and appends the output that is complete. Later calls
    /// append the rest.
    ///
    /// - Throws: `failed` if the part is too large or the body has ended.
    package mutating func append(_ bytes: [UInt8], to output: inout [UInt8]) throws(GzipError) {
        try run(bytes, Z_NO_FLUSH, to: &output)
    }

    /// Ends the body and appends the remaining output. No further part can be appended.
    ///
    /// - Throws: `failed` if zlib fails.
    package mutating func finish(into output: inout [UInt8]) throws(GzipError) {
        try run([], Z_FINISH, to: &output)
    }

    private mutating func run(_ bytes: [UInt8], _ flush: CInt, to output: inout [UInt8]) throws(GzipError) {
        guard let count = UInt32(exactly: bytes.count) else { throw .failed }
        var result = Z_OK
        unsafe bytes.withUnsafeBufferPointer { input in
            // zlib only reads the input, although it is not declared const.
            unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            unsafe stream.pointee.avail_in = count
            repeat {
                output.append(addingCapacity: Self.pieceBytes) { piece in
                    unsafe piece.withUnsafeMutableBufferPointer { buffer, initialized in
                        unsafe stream.pointee.next_out = buffer.baseAddress
                        unsafe stream.pointee.avail_out = UInt32(buffer.count)
                        result = unsafe deflate(stream, flush)
                        initialized = unsafe buffer.count - Int(stream.pointee.avail_out)
                    }
                }
            } while unsafe result == Z_OK && stream.pointee.avail_out == 0
        }
        // Z_BUF_ERROR means that there was nothing left to do.
        let hasSucceeded = flush == Z_FINISH ? result == Z_STREAM_END : result == Z_OK || result == Z_BUF_ERROR
        guard hasSucceeded else { throw .failed }
    }
}

/// The reason why bytes could not be compressed.
package enum GzipError: Error, Equatable, Sendable {
    case outOfMemory
    /// The body has already ended, or a part is larger than zlib accepts at once.
    case failed
}
