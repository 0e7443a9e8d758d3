import CCurl

/// The numbers libcurl keeps about a transfer that has ended.
struct CurlFacts {
    /// Bytes of the body that the kernel took.
    let uploaded: Int
    /// What the proxy answered to CONNECT; zero if none was asked.
    let proxyStatus: Int
    /// Why a connection failed, as the kernel said.
    let systemError: CInt
    /// Why a certificate was not trusted, as OpenSSL counts the reasons.
    let verification: Int

    init(_ easy: UnsafeMutableRawPointer) {
        var uploaded: curl_off_t = 0
        _ = unsafe ccurl_get_offset(easy, CURLINFO_SIZE_UPLOAD_T, &uploaded)
        self.uploaded = Int(uploaded)
        proxyStatus = unsafe CurlFacts.number(CURLINFO_HTTP_CONNECTCODE, of: easy)
        systemError = CInt(truncatingIfNeeded: unsafe CurlFacts.number(CURLINFO_OS_ERRNO, of: easy))
        verification = unsafe CurlFacts.number(CURLINFO_SSL_VERIFYRESULT, of: easy)
    }

    /// Whether the peer may hold the whole request.
    func hasSent(_ count: Int, in exchange: HTTPExchange) -> Bool {
        // libcurl counts for the last connection alone, so of an earlier one
        // the worse must be assumed.
        exchange.wasRepeated || (exchange.isUnderWay && uploaded >= count)
    }

    private static func number(_ info: CURLINFO, of easy: UnsafeMutableRawPointer) -> Int {
        var value = 0
        _ = unsafe ccurl_get_long(easy, info, &value)
        return value
    }
}
