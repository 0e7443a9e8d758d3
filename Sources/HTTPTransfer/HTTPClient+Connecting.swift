import CCurl

extension HTTPClient {
    /// Whether a connection to where a request would go comes about, its proxy and its TLS included.
    ///
    /// Nothing is sent on it, and it is closed again.
    package mutating func connects(to request: HTTPRequest, cancellation: HTTPCancellation? = nil) -> Bool {
        guard CurlLibrary.isReady, let (easy, multi) = unsafe handles(), let origin = HTTPOrigin(url: request.url)
        else { return false }
        defer { unsafe curl_easy_reset(easy) }
        let attempt = unsafe HTTPAttempt(easy: easy, multi: multi, origin: origin, cancellation: cancellation)
        return attempt.connects(as: request)
    }
}
