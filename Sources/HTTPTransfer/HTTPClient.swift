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
        guard let headers = HeaderList(request.headers) else {
            throw HTTPTransferError(
                code: .invalidRequest, sentence: "A header of the request to \(origin) cannot be used",
                bodyFullySent: false)
        }
        // Afterwards too, so that the URL, which may hold a credential, does
        // not wait in memory for the next request.
        defer { unsafe curl_easy_reset(easy) }

        let exchange = HTTPExchange(answerLimit: request.answerLimit)
        let result = withExtendedLifetime(exchange) {
            unsafe request.body.withUnsafeBufferPointer { body in
                let refusal = unsafe HTTPClient.configure(
                    easy, for: request, body: body, headers: headers, exchange: exchange)
                return unsafe refusal ?? HTTPClient.run(easy, in: multi, cancellation)
            }
        }

        if result == CURLE_OK, let response = exchange.response(isTruncated: false) { return response }
        if let result {
            if exchange.isOverLimit, let response = exchange.response(isTruncated: true) { return response }
            // What is no success stays none without the rest of its
            // explanation; taken for a fault of the network, a refusal would be
            // asked for again and again. A success must be whole to count.
            if let response = exchange.response(isTruncated: true), !(200..<300).contains(response.status) {
                return response
            }
            throw unsafe HTTPTransferError(
                result, at: origin, facts: CurlFacts(easy), exchange: exchange, body: request.body.count)
        }
        throw unsafe HTTPTransferError(
            code: .cancelled, sentence: "The request to \(origin) was cancelled",
            bodyFullySent: CurlFacts(easy).hasSent(request.body.count, in: exchange))
    }

    private mutating func handles() -> (easy: UnsafeMutableRawPointer, multi: UnsafeMutableRawPointer)? {
        if unsafe easy == nil { unsafe easy = curl_easy_init() }
        if unsafe multi == nil { unsafe multi = curl_multi_init() }
        guard let easy = unsafe easy, let multi = unsafe multi else { return nil }
        return unsafe (easy, multi)
    }

    /// Drives one transfer to its end; nil if it was cancelled before.
    private static func run(
        _ easy: UnsafeMutableRawPointer, in multi: UnsafeMutableRawPointer, _ cancellation: HTTPCancellation?
    ) -> CURLcode? {
        unsafe cancellation?.add(multi)
        defer { unsafe cancellation?.remove(multi) }
        guard unsafe curl_multi_add_handle(multi, easy) == CURLM_OK else { return CURLE_FAILED_INIT }
        defer { unsafe curl_multi_remove_handle(multi, easy) }

        var running: CInt = 0
        repeat {
            if cancellation?.isCancelled == true { return nil }
            guard unsafe curl_multi_perform(multi, &running) == CURLM_OK else { return CURLE_FAILED_INIT }
            // libcurl shortens the wait to its own deadlines. A wake-up that
            // comes before the wait is not lost.
            if running > 0, unsafe curl_multi_poll(multi, nil, 0, 60_000, nil) != CURLM_OK {
                return CURLE_FAILED_INIT
            }
        } while running > 0

        var remaining: CInt = 0
        while let message = unsafe curl_multi_info_read(multi, &remaining) {
            if unsafe message.pointee.msg == CURLMSG_DONE { return unsafe message.pointee.data.result }
        }
        return CURLE_FAILED_INIT
    }
}
