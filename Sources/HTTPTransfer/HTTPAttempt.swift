import CCurl

/// One try at a request, and what its end means.
@safe
struct HTTPAttempt {
    private let easy: UnsafeMutableRawPointer
    private let multi: UnsafeMutableRawPointer
    private let origin: HTTPOrigin
    private let cancellation: HTTPCancellation?

    /// The connection broke while the body was being written, and no answer
    /// was seen.
    private(set) var mayHaveMissedRefusal = false

    init(
        easy: UnsafeMutableRawPointer, multi: UnsafeMutableRawPointer, origin: HTTPOrigin,
        cancellation: HTTPCancellation?
    ) {
        unsafe self.easy = easy
        unsafe self.multi = multi
        self.origin = origin
        self.cancellation = cancellation
    }

    /// `asksFirst` has the peer say whether it wants the body before it is
    /// sent.
    mutating func perform(_ request: HTTPRequest, asksFirst: Bool = false) throws(HTTPTransferError) -> HTTPResponse {
        guard let headers = HeaderList(request.headers, asksFirst: asksFirst) else {
            throw HTTPTransferError(
                code: .invalidRequest, sentence: "A header of the request to \(origin) cannot be used",
                bodyFullySent: false)
        }
        let exchange = HTTPExchange(answerLimit: request.answerLimit)
        let result = withExtendedLifetime(exchange) {
            unsafe request.body.withUnsafeBufferPointer { body in
                let refusal = unsafe HTTPAttempt.configure(
                    easy, for: request, body: body, headers: headers, exchange: exchange)
                return unsafe refusal ?? HTTPAttempt.run(easy, in: multi, cancellation)
            }
        }
        let facts = unsafe CurlFacts(easy)
        let isSent = facts.hasSent(request.body.count, in: exchange)
        let isLost = result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR || result == CURLE_GOT_NOTHING
        mayHaveMissedRefusal = isLost && exchange.isUnderWay && !isSent && exchange.status == nil

        guard let result else {
            throw HTTPTransferError(
                code: .cancelled, sentence: "The request to \(origin) was cancelled", bodyFullySent: isSent)
        }
        if let response = response(to: result, in: exchange) { return response }
        throw HTTPTransferError(
            result, at: origin, through: ProxyName.text(for: request, to: origin), trusting: request.caFile,
            facts: facts, exchange: exchange, bodyFullySent: isSent)
    }

    private func response(to result: CURLcode, in exchange: HTTPExchange) -> HTTPResponse? {
        if result == CURLE_OK { return exchange.response(isTruncated: false) }
        guard let response = exchange.response(isTruncated: true) else { return nil }
        // What is no success stays none without the rest of its explanation. A
        // success must be whole to count, unless it was us who stopped.
        let isSuccess = (200..<300).contains(response.status)
        return exchange.isOverLimit || !isSuccess ? response : nil
    }

    /// Drives one transfer to its end; nil if it was cancelled before.
    ///
    /// - Parameter isKept: Whether the handle stays, and with it the connection that was made for it.
    static func run(
        _ easy: UnsafeMutableRawPointer, in multi: UnsafeMutableRawPointer, _ cancellation: HTTPCancellation?,
        isKept: Bool = false
    ) -> CURLcode? {
        unsafe cancellation?.add(multi)
        defer { unsafe cancellation?.remove(multi) }
        guard unsafe curl_multi_add_handle(multi, easy) == CURLM_OK else { return CURLE_FAILED_INIT }
        defer { if !isKept { unsafe curl_multi_remove_handle(multi, easy) } }

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
