import CCurl
import Glibc

/// Why a request got no answer.
package struct HTTPTransferError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The classes of faults a caller acts on differently.
    package enum Code: String, Equatable, Sendable, CaseIterable {
        /// The request itself cannot be made: its URL or a header is unusable.
        case invalidRequest
        /// The host's name has no address, or no resolver answered.
        case resolve
        /// No connection: refused, or no way there.
        case refused
        /// No connection in time.
        case connectTimeout
        /// A connection, but no whole answer in time.
        case timeout
        /// No trust: a certificate, a handshake, or no TLS at all.
        case tls
        /// The connection ended before the answer was whole.
        case connectionLost
        /// What came is not HTTP.
        case malformedAnswer
        /// The proxy cannot be reached or will not pass the request on.
        case proxy
        /// The caller cancelled.
        case cancelled
        case other
    }

    package let code: Code
    /// One sentence, made of the peer's name and fixed words. It never holds
    /// the URL or anything the peer or libcurl wrote, since a URL's query may
    /// hold a credential.
    package let message: String
    /// All of the request was handed to the kernel, so the peer may have acted
    /// on it although no answer came.
    package let bodyFullySent: Bool

    package init(code: Code, message: String, bodyFullySent: Bool) {
        self.code = code
        self.message = message
        self.bodyFullySent = bodyFullySent
    }

    package var description: String { message }
}

extension HTTPTransferError {
    /// Puts libcurl's many reasons into our few classes.
    ///
    /// - Parameter proxy: Host and port of the one that was asked in place of the peer.
    init(
        _ result: CURLcode, at origin: HTTPOrigin, through proxy: String?, trusting authorities: String?,
        facts: TransferInfo, exchange: HTTPExchange, bodyFullySent: Bool
    ) {
        if result == CURLE_SSL_CACERT_BADFILE, let authorities {
            self.init(
                code: .tls, message: "The file of authorities for \(origin), \(authorities), cannot be used",
                bodyFullySent: bodyFullySent)
            return
        }
        let (code, message) = HTTPTransferError.reason(
            for: result, at: origin, through: proxy, facts: facts, exchange: exchange)
        self.init(code: code, message: message, bodyFullySent: bodyFullySent)
    }

    private static func reason(
        for result: CURLcode, at origin: HTTPOrigin, through proxy: String?, facts: TransferInfo, exchange: HTTPExchange
    ) -> (Code, String) {
        let (next, behind) = proxy.map { ("the proxy \($0)", " for \(origin)") } ?? ("\(origin)", "")
        if facts.proxyStatus >= 300, !exchange.hasBegun {
            return (.proxy, "The proxy \(proxy ?? "") answered \(facts.proxyStatus) when asked for \(origin)")
        }
        switch result {
        case CURLE_COULDNT_RESOLVE_HOST:
            return (.resolve, "The name \(origin.host) has no address")
        case CURLE_COULDNT_RESOLVE_PROXY:
            return (.proxy, "The name of the proxy \(proxy ?? "") for \(origin) has no address")
        case CURLE_PROXY:
            return (.proxy, "The proxy \(proxy ?? "") did not pass on the request to \(origin)")
        case CURLE_COULDNT_CONNECT:
            return (.refused, "No connection to \(next)\(behind)\(systemReason(facts.systemError))")
        case CURLE_OPERATION_TIMEDOUT:
            return exchange.isUnderWay
                ? (.timeout, "\(origin) did not answer in time")
                : (.connectTimeout, "No connection to \(next)\(behind) in time")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION,
            CURLE_USE_SSL_FAILED, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT,
            CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED:
            return (.tls, tlsMessage(result, at: origin, verification: facts.verification))
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_SEND_FAIL_REWIND:
            return (.connectionLost, "The connection to \(origin) ended before an answer was whole")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_BAD_CONTENT_ENCODING:
            return (.malformedAnswer, "What \(origin) answered is not HTTP")
        case CURLE_UNSUPPORTED_PROTOCOL where exchange.hasBegun:
            // libcurl's word for an answer without a status line.
            return (.malformedAnswer, "What \(origin) answered is not HTTP")
        case CURLE_WRITE_ERROR where exchange.hasTooLongHeaders:
            return (.malformedAnswer, "The answer of \(origin) has too many headers")
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            return (.invalidRequest, "The URL for \(origin) cannot be used")
        default:
            return (.other, "The request to \(origin) failed (libcurl's code \(result.rawValue))")
        }
    }

    private static func tlsMessage(_ result: CURLcode, at origin: HTTPOrigin, verification: Int) -> String {
        if result == CURLE_SSL_CACERT_BADFILE { return "The file of authorities for \(origin) cannot be used" }
        guard result == CURLE_PEER_FAILED_VERIFICATION else {
            return "No TLS connection to \(origin): it speaks no TLS, or none that is safe"
        }
        switch verification {
        case 0, 1:
            // OpenSSL found no fault, so it was the name, which libcurl
            // compares before it notes the result (1 is its initial value).
            return "The certificate of \(origin) is for another name"
        case 9:
            return "The certificate of \(origin) is not valid yet"
        case 10:
            return "The certificate of \(origin) has expired"
        case 18, 19, 20, 21:
            return "The certificate of \(origin) is from an unknown authority"
        default:
            return "The certificate of \(origin) is not trusted (OpenSSL's reason \(verification))"
        }
    }

    /// The kernel's own words, which are fixed.
    private static func systemReason(_ error: CInt) -> String {
        guard error != 0, let text = unsafe strerror(error) else { return "" }
        return unsafe ": \(String(cString: text))"
    }
}
