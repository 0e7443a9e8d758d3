import CCurl

extension HTTPAttempt {
    /// Tells libcurl about a request; what it refuses is returned. The body,
    /// the headers and the exchange must outlive the transfer.
    static func configure(
        _ easy: UnsafeMutableRawPointer, for request: HTTPRequest, body: UnsafeBufferPointer<UInt8>,
        headers: borrowing HeaderList, exchange: HTTPExchange
    ) -> CURLcode? {
        unsafe curl_easy_reset(easy)
        unsafe ccurl_leave_resolver_behind(easy)
        var results = unsafe [
            ccurl_set_string(easy, CURLOPT_URL, request.url),
            ccurl_allow_http_only(easy),
            ccurl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0),
            // Signals belong to the process, not to a library in it.
            ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1),
            ccurl_set_long(easy, CURLOPT_NOPROGRESS, 1),
            ccurl_set_long(easy, CURLOPT_TCP_KEEPALIVE, 1),
            // A proxy's answer to CONNECT is not the answer.
            ccurl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
            ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(request.connectTimeout)),
            ccurl_set_long(easy, CURLOPT_TIMEOUT_MS, milliseconds(request.totalTimeout)),
            ccurl_set_string(easy, CURLOPT_USERAGENT, request.userAgent),
            ccurl_set_headers(easy, headers.first),
            // Whatever the TLS library and its configuration would still allow.
            ccurl_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            ccurl_set_long(easy, CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
        ]
        unsafe results += exchange.observe(easy)
        if let proxy = request.proxy {
            unsafe results.append(ccurl_set_string(easy, CURLOPT_PROXY, proxy))
        }
        if let caFile = request.caFile {
            unsafe results.append(ccurl_set_string(easy, CURLOPT_CAINFO, caFile))
            // The file is in place of the system's authorities, not beside them.
            unsafe results.append(ccurl_set_string(easy, CURLOPT_CAPATH, nil))
        }
        unsafe results += setMethod(easy, of: request, body: body)
        return results.first { $0 != CURLE_OK }
    }

    private static func setMethod(
        _ easy: UnsafeMutableRawPointer, of request: HTTPRequest, body: UnsafeBufferPointer<UInt8>
    ) -> [CURLcode] {
        switch request.method {
        case .head:
            return unsafe [ccurl_set_long(easy, CURLOPT_NOBODY, 1)]
        case .post:
            return unsafe [ccurl_set_body(easy, body.baseAddress, body.count)]
        case .get, .put, .delete:
            if request.method == .get, body.isEmpty { return unsafe [ccurl_set_long(easy, CURLOPT_HTTPGET, 1)] }
            return unsafe [
                ccurl_set_body(easy, body.baseAddress, body.count),
                ccurl_set_string(easy, CURLOPT_CUSTOMREQUEST, request.method.rawValue),
            ]
        }
    }

    /// Rounded up, and at least one, because libcurl takes zero for no limit.
    private static func milliseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        // A month is for ever here, and far from where the product overflows.
        let bounded = min(max(seconds, 0), 2_600_000)
        return max(1, Int(bounded) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}
