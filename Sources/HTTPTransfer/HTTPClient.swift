import CCurl

/// Makes one request after another, and keeps the connection between them.
///
/// It may move to another thread, and blocks the thread that uses it. The
/// process must ignore SIGPIPE, as daemons do.
@safe
package struct HTTPClient: ~Copyable, @unchecked Sendable {
    // Sendable holds because there is one owner, `perform` is exclusive, and
    // libcurl ties a handle to no thread.
    private var easy: UnsafeMutableRawPointer?
    private var multi: UnsafeMutableRawPointer?

    /// Costs nothing: libcurl is started by the first request.
    package init() {
        unsafe easy = nil
        unsafe multi = nil
    }

    deinit {
        // The easy handle first, as libcurl asks.
        unsafe curl_easy_cleanup(easy)
        unsafe curl_multi_cleanup(multi)
    }

    /// Sends a request and waits for the answer, which may have any status.
    package mutating func perform(
        _ request: HTTPRequest, cancellation: HTTPCancellation? = nil
    ) throws(HTTPTransferError) -> HTTPResponse {
        guard CurlLibrary.isReady, let (easy, multi) = unsafe handles() else {
            throw HTTPTransferError(code: .other, sentence: "libcurl cannot be started", bodyFullySent: false)
        }
        guard let origin = HTTPOrigin(url: request.url) else {
            throw HTTPTransferError(
                code: .invalidRequest, sentence: "The URL of the request cannot be used", bodyFullySent: false)
        }
        // Afterwards too, so that the URL, which may hold a credential, does
        // not wait in memory for the next request.
        defer { unsafe curl_easy_reset(easy) }

        let start = ContinuousClock.now
        var attempt = unsafe HTTPAttempt(easy: easy, multi: multi, origin: origin, cancellation: cancellation)
        do {
            return try attempt.perform(request)
        } catch {
            guard attempt.mayHaveMissedRefusal else { throw error }
            // A peer that refuses early and closes can reset the connection
            // before its answer was read. It cannot have acted on half a
            // request, so it is asked once more, and this time before the body
            // goes out; taken for a fault of the network, a refusal would be
            // met again and again.
            var request = request
            request.totalTimeout -= start.duration(to: .now)
            return try attempt.perform(request, asksFirst: true)
        }
    }

    private mutating func handles() -> (easy: UnsafeMutableRawPointer, multi: UnsafeMutableRawPointer)? {
        if unsafe easy == nil { unsafe easy = curl_easy_init() }
        if unsafe multi == nil { unsafe multi = curl_multi_init() }
        guard let easy = unsafe easy, let multi = unsafe multi else { return nil }
        return unsafe (easy, multi)
    }
}
