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
    package let sentence: String
    /// All of the request was handed to the kernel, so the peer may have acted
    /// on it although no answer came.
    package let bodyFullySent: Bool

    package init(code: Code, sentence: String, bodyFullySent: Bool) {
        self.code = code
        self.sentence = sentence
        self.bodyFullySent = bodyFullySent
    }

    package var description: String { sentence }
}
