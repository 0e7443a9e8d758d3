import CCurl
import Glibc

/// The reason why a request got no response.
package struct HTTPTransferError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kinds of failures that callers handle differently.
    package enum Code: String, Equatable, Sendable, CaseIterable {
        /// The request is invalid: its URL or a header.
        case invalidRequest
        /// The host name could not be resolved.
        case resolve
        /// The connection was refused, or the host is unreachable.
        case refused
        /// The connection was not established in time.
        case connectTimeout
        /// The response was not complete in time.
        case timeout
        /// A TLS failure: an untrusted certificate, a failed handshake, or no TLS.
        case tls
        /// The connection ended before the response was complete.
        case connectionLost
        /// The response is not HTTP.
        case malformedAnswer
        /// The proxy is unreachable or rejected the request.
        case proxy
        /// The caller cancelled the request.
        case cancelled
        case other
    }

    package let code: Code
    /// A sentence composed of the peer's name and fixed text. It never contains the URL, which may hold a credential in
    /// its query, nor any text from the peer or libcurl.
    package let message: String
    /// `true` if the whole request was passed to the kernel, so that the peer may have acted on it.
    package let bodyFullySent: Bool

    package init(code: Code, message: String, bodyFullySent: Bool) {
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
    ///   - result: The result of libcurl.
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
        if result == CURLE_SSL_CACERT_BADFILE, let authorities {
            self.init(
                code: .tls, message: "The CA file \(authorities) for \(origin) cannot be used",
                bodyFullySent: bodyFullySent)
            return
        }
        let (code, message) = HTTPTransferError.reason(
            for: result, at: origin, through: proxy, info: info, exchange: exchange)
        self.init(code: code, message: message, bodyFullySent: bodyFullySent)
    }

    private static func reason(
        for result: CURLcode, at origin: HTTPOrigin, through proxy: String?, info: TransferInfo, exchange: HTTPExchange
    ) -> (Code, String) {
        let (next, behind) = proxy.map { ("the proxy \($0)", " for \(origin)") } ?? ("\(origin)", "")
        if info.proxyStatus >= 300, !exchange.hasBegun {
            return (.proxy, "The proxy \(proxy ?? "") returned \(info.proxyStatus) for \(origin)")
        }
        switch result {
        case CURLE_COULDNT_RESOLVE_HOST:
            return (.resolve, "The host name \(origin.host) could not be resolved")
        case CURLE_COULDNT_RESOLVE_PROXY:
            return (.proxy, "The name of the proxy \(proxy ?? "") for \(origin) could not be resolved")
        case CURLE_PROXY:
            return (.proxy, "The proxy \(proxy ?? "") did not forward the request to \(origin)")
        case CURLE_COULDNT_CONNECT:
            return (.refused, "Could not connect to \(next)\(behind)\(systemReason(info.systemError))")
        case CURLE_OPERATION_TIMEDOUT:
            return exchange.isUnderWay
                ? (.timeout, "\(origin) did not respond in time")
                : (.connectTimeout, "Connecting to \(next)\(behind) timed out")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION,
            CURLE_USE_SSL_FAILED, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT,
            CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED:
            return (.tls, tlsMessage(result, at: origin, verification: info.verification))
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_SEND_FAIL_REWIND:
            return (.connectionLost, "The connection to \(origin) ended before the response was complete")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_BAD_CONTENT_ENCODING:
            return (.malformedAnswer, "The response of \(origin) is not HTTP")
        case CURLE_UNSUPPORTED_PROTOCOL where exchange.hasBegun:
            // libcurl's error for a response without a status line.
            return (.malformedAnswer, "The response of \(origin) is not HTTP")
        case CURLE_WRITE_ERROR where exchange.hasTooLongHeaders:
            return (.malformedAnswer, "The response of \(origin) has too many headers")
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            return (.invalidRequest, "The URL for \(origin) is invalid")
        default:
            return (.other, "The request to \(origin) failed (libcurl error \(result.rawValue))")
        }
    }

    private static func tlsMessage(_ result: CURLcode, at origin: HTTPOrigin, verification: Int) -> String {
        if result == CURLE_SSL_CACERT_BADFILE { return "The CA file for \(origin) cannot be used" }
        guard result == CURLE_PEER_FAILED_VERIFICATION else {
            return "TLS connection to \(origin) failed: no TLS, or no secure version of it"
        }
        switch verification {
        case 0, 1:
            // OpenSSL found no fault, so the name did not match. libcurl checks the name before it stores the result,
            // whose initial value is 1.
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

    /// Returns the kernel's text for an error, which is fixed.
    private static func systemReason(_ error: CInt) -> String {
        guard error != 0, let text = unsafe strerror(error) else { return "" }
        return unsafe ": \(String(cString: text))"
    }
}
