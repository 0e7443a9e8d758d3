import CCurl
import Glibc

/// Sends one request at a time, and keeps the connection open between requests.
///
/// It blocks the thread that uses it, and may be moved to another thread. The process must ignore SIGPIPE.
@safe
package struct HTTPClient: ~Copyable, @unchecked Sendable {
    // Sendable is safe because there is a single owner, `perform` is exclusive, and libcurl does not tie a handle to a
    // thread.
    private var easy: UnsafeMutableRawPointer?
    private var multi: UnsafeMutableRawPointer?
    private let sockets = TransferSockets()

    /// Creates a client. This is cheap, because the first request initializes libcurl.
    package init() {
        unsafe easy = nil
        unsafe multi = nil
    }

    deinit {
        guard unsafe multi != nil else { return }
        // Closing may block, because the TLS library reads from a connection before it closes it.
        TransferWatchdog.shared.begin(sockets, within: .zero)
        defer { TransferWatchdog.shared.end(sockets) }
        // libcurl requires the easy handle to be cleaned up first.
        unsafe curl_easy_cleanup(easy)
        unsafe curl_multi_cleanup(multi)
    }

    /// Sends a request and waits for the response, which may have any status.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - cancellation: Cancels the request from another thread; nil if it is not cancelled.
    /// - Throws: `HTTPTransferError` if there was no complete response.
    package mutating func perform(
        _ request: HTTPRequest, cancellation: HTTPCancellation? = nil
    ) throws(HTTPTransferError) -> HTTPResponse {
        guard CurlLibrary.isReady, let (easy, multi) = unsafe handles() else {
            throw HTTPTransferError(code: .other, message: "libcurl could not be initialized", bodyFullySent: false)
        }
        guard let origin = HTTPOrigin(url: request.url) else {
            throw HTTPTransferError(
                code: .invalidRequest, message: "The URL of the request is invalid", bodyFullySent: false)
        }
        TransferWatchdog.shared.begin(sockets, within: request.totalTimeout)
        defer { TransferWatchdog.shared.end(sockets) }
        // The URL may contain a credential, so it must not stay in memory until the next request.
        defer { unsafe curl_easy_reset(easy) }

        let start = ContinuousClock.now
        var attempt = unsafe HTTPAttempt(
            easy: easy, multi: multi, sockets: sockets, origin: origin, cancellation: cancellation)
        do {
            return try attempt.perform(request)
        } catch {
            guard attempt.mayHaveMissedRefusal else { throw error }
            // A peer that rejects a request early and closes can reset the connection before its response was read. It
            // cannot have acted on an incomplete request, so the request is repeated, this time with "Expect:
            // 100-continue". If the reset were treated as a network fault, every retry would fail in the same way.
            var request = request
            request.totalTimeout -= start.duration(to: .now)
            return try attempt.perform(request, expectsContinue: true)
        }
    }

    private mutating func handles() -> (easy: UnsafeMutableRawPointer, multi: UnsafeMutableRawPointer)? {
        if unsafe easy == nil { unsafe easy = curl_easy_init() }
        if unsafe multi == nil { unsafe multi = curl_multi_init() }
        guard let easy = unsafe easy, let multi = unsafe multi else { return nil }
        return unsafe (easy, multi)
    }
}

/// Writes bytes to a connection, with TLS if the scheme of the URL is `https`, without reading a response. Keeps the
/// connection for later writes.
///
/// It blocks the thread that uses it. Written bytes have been passed to the kernel, but may not have arrived. The
/// process must ignore SIGPIPE.
@safe
package struct StreamClient: ~Copyable, @unchecked Sendable {
    // Sendable is safe because there is a single owner, and libcurl does not tie a handle to a thread.
    private var easy: UnsafeMutableRawPointer?
    private var multi: UnsafeMutableRawPointer?
    private let sockets = TransferSockets()
    private let cancellation: HTTPCancellation?
    /// Receives libcurl's callbacks. It must live as long as the connection.
    private var exchange: HTTPExchange?

    /// - Parameter cancellation: Cancels connecting and writing; nil if they are not cancelled.
    package init(cancellation: HTTPCancellation? = nil) {
        unsafe easy = nil
        unsafe multi = nil
        self.cancellation = cancellation
    }

    deinit {
        guard unsafe multi != nil else { return }
        // Closing may block, because the TLS library reads from a connection before it closes it.
        TransferWatchdog.shared.begin(sockets, within: .zero)
        defer { TransferWatchdog.shared.end(sockets) }
        unsafe Self.end(easy, multi)
    }

    private static func end(_ easy: UnsafeMutableRawPointer?, _ multi: UnsafeMutableRawPointer?) {
        unsafe curl_multi_remove_handle(multi, easy)
        unsafe curl_easy_cleanup(easy)
        unsafe curl_multi_cleanup(multi)
    }

    /// Sends bytes over the existing connection, or over a new one to the address of `request`.
    ///
    /// - Throws: `HTTPTransferError`. Its `bodyFullySent` is `true` if some of the bytes may have arrived.
    package mutating func send(_ bytes: [UInt8], to request: HTTPRequest) throws(HTTPTransferError) {
        guard let origin = HTTPOrigin(url: request.url) else {
            throw HTTPTransferError(
                code: .invalidRequest, message: "The URL of the request is invalid", bodyFullySent: false)
        }
        TransferWatchdog.shared.begin(sockets, within: request.totalTimeout)
        defer { TransferWatchdog.shared.end(sockets) }
        // libcurl does not wait while the connection is read and written, so there is no handle to wake.
        unsafe cancellation?.add(nil, sockets)
        defer { cancellation?.remove(sockets) }
        // An open connection was not shut down if the cancellation came before `add`.
        if cancellation?.isCancelled == true {
            throw HTTPTransferError(
                code: .cancelled, message: "The connection to \(origin) was cancelled", bodyFullySent: false)
        }
        if exchange == nil || !isOpen { try connect(request, origin) }
        let deadline = ContinuousClock.now.advanced(by: request.totalTimeout)
        var sent = 0
        while sent < bytes.count {
            var count = 0
            let result = unsafe bytes.withUnsafeBytes { buffer in
                unsafe curl_easy_send(easy, buffer.baseAddress?.advanced(by: sent), bytes.count - sent, &count)
            }
            sent += count
            if result == CURLE_OK { continue }
            if result == CURLE_AGAIN, waitForRoom(until: deadline) { continue }
            close()
            let isCancelled = cancellation?.isCancelled == true
            throw HTTPTransferError(
                code: isCancelled ? .cancelled : result == CURLE_AGAIN ? .timeout : .connectionLost,
                message: "The connection to \(origin) ended during writing", bodyFullySent: sent > 0)
        }
    }

    private mutating func connect(_ request: HTTPRequest, _ origin: HTTPOrigin) throws(HTTPTransferError) {
        close()
        if CurlLibrary.isReady {
            unsafe easy = curl_easy_init()
            unsafe multi = curl_multi_init()
        }
        guard let easy = unsafe easy, let multi = unsafe multi, let headers = HeaderList([:], expectsContinue: false)
        else {
            close()
            throw HTTPTransferError(code: .other, message: "libcurl could not be initialized", bodyFullySent: false)
        }
        let exchange = HTTPExchange(responseLimit: 0, sockets: sockets)
        let body = unsafe UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        var result = unsafe HTTPAttempt.configure(easy, for: request, body: body, headers: headers, exchange: exchange)
        if result == nil {
            let option = unsafe ccurl_set_long(easy, CURLOPT_CONNECT_ONLY, 1)
            result = option == CURLE_OK ? nil : option
        }
        let outcome = unsafe result ?? HTTPAttempt.run(easy, in: multi, sockets, cancellation, staysAdded: true)
        guard let outcome else {
            close()
            throw HTTPTransferError(
                code: .cancelled, message: "The connection to \(origin) was cancelled", bodyFullySent: false)
        }
        guard outcome == CURLE_OK else {
            let info = unsafe TransferInfo(easy)
            close()
            throw HTTPTransferError(
                outcome, at: origin, through: ProxyName.text(for: request, to: origin), trusting: request.caFile,
                info: info, exchange: exchange, bodyFullySent: false)
        }
        self.exchange = exchange
    }

    /// `true` unless the kernel knows that the peer has ended the connection. Discards a byte that the peer has sent.
    private var isOpen: Bool {
        var byte: UInt8 = 0
        var count = 0
        let result = unsafe withUnsafeMutableBytes(of: &byte) { unsafe curl_easy_recv(easy, $0.baseAddress, 1, &count) }
        return result == CURLE_AGAIN || (result == CURLE_OK && count > 0)
    }

    /// Waits until the socket accepts more bytes. Returns `false` at the deadline or after an error.
    private func waitForRoom(until deadline: ContinuousClock.Instant) -> Bool {
        var socket: curl_socket_t = -1
        guard unsafe ccurl_get_socket(easy, &socket) == CURLE_OK, socket >= 0 else { return false }
        let left = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
        guard left > 0 else { return false }
        var entry = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&entry, 1, CInt(min(left, 3_600_000)) + 1) > 0
    }

    private mutating func close() {
        unsafe Self.end(easy, multi)
        unsafe easy = nil
        unsafe multi = nil
        exchange = nil
    }
}

/// One attempt at a request, and the interpretation of its result.
@safe
struct HTTPAttempt {
    private let easy: UnsafeMutableRawPointer
    private let multi: UnsafeMutableRawPointer
    private let sockets: TransferSockets
    private let origin: HTTPOrigin
    private let cancellation: HTTPCancellation?

    /// `true` if the connection broke while the body was being sent, and no response was received. The peer may have
    /// rejected the request before that.
    private(set) var mayHaveMissedRefusal = false

    init(
        easy: UnsafeMutableRawPointer, multi: UnsafeMutableRawPointer, sockets: TransferSockets, origin: HTTPOrigin,
        cancellation: HTTPCancellation?
    ) {
        unsafe self.easy = easy
        unsafe self.multi = multi
        self.sockets = sockets
        self.origin = origin
        self.cancellation = cancellation
    }

    /// Performs the attempt.
    ///
    /// - Parameter expectsContinue: `true` to wait for "100 Continue" before the body is sent.
    mutating func perform(_ request: HTTPRequest, expectsContinue: Bool = false) throws(HTTPTransferError)
        -> HTTPResponse
    {
        guard let headers = HeaderList(request.headers, expectsContinue: expectsContinue) else {
            throw HTTPTransferError(
                code: .invalidRequest, message: "A header of the request to \(origin) is invalid",
                bodyFullySent: false)
        }
        let exchange = HTTPExchange(responseLimit: request.responseLimit, sockets: sockets)
        let result = withExtendedLifetime(exchange) {
            unsafe request.body.withUnsafeBufferPointer { body in
                let refusal = unsafe HTTPAttempt.configure(
                    easy, for: request, body: body, headers: headers, exchange: exchange)
                return unsafe refusal ?? HTTPAttempt.run(easy, in: multi, sockets, cancellation)
            }
        }
        let info = unsafe TransferInfo(easy)
        let isSent = info.hasSent(request.body.count, in: exchange)
        let isLost = result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR || result == CURLE_GOT_NOTHING
        mayHaveMissedRefusal = isLost && exchange.isUnderWay && !isSent && exchange.status == nil

        guard let result else {
            throw HTTPTransferError(
                code: .cancelled, message: "The request to \(origin) was cancelled", bodyFullySent: isSent)
        }
        if let response = response(to: result, in: exchange) { return response }
        throw HTTPTransferError(
            result, at: origin, through: ProxyName.text(for: request, to: origin), trusting: request.caFile,
            info: info, exchange: exchange, bodyFullySent: isSent)
    }

    /// Returns the response if it can be used in spite of the result of libcurl; nil otherwise.
    private func response(to result: CURLcode, in exchange: HTTPExchange) -> HTTPResponse? {
        if result == CURLE_OK { return exchange.response(isTruncated: false) }
        guard let response = exchange.response(isTruncated: true) else { return nil }
        // An error status does not depend on the rest of the body. A success must be complete, unless this client ended
        // the transfer at its limit.
        let isSuccess = (200..<300).contains(response.status)
        return exchange.isOverLimit || !isSuccess ? response : nil
    }

    /// Runs a transfer to its end. Returns nil if it was cancelled.
    ///
    /// - Parameters:
    ///   - sockets: The sockets of the connections of `multi`.
    ///   - staysAdded: `true` to keep the handle, and so the connection that was opened for it.
    static func run(
        _ easy: UnsafeMutableRawPointer, in multi: UnsafeMutableRawPointer, _ sockets: TransferSockets,
        _ cancellation: HTTPCancellation?, staysAdded: Bool = false
    ) -> CURLcode? {
        unsafe cancellation?.add(multi, sockets)
        defer { cancellation?.remove(sockets) }
        guard unsafe curl_multi_add_handle(multi, easy) == CURLM_OK else { return CURLE_FAILED_INIT }
        defer { if !staysAdded { unsafe curl_multi_remove_handle(multi, easy) } }

        var running: CInt = 0
        repeat {
            if cancellation?.isCancelled == true { return nil }
            guard unsafe curl_multi_perform(multi, &running) == CURLM_OK else { return CURLE_FAILED_INIT }
            // libcurl shortens the wait to its own deadlines. A wake-up that arrives before the wait is not lost.
            if running > 0, unsafe curl_multi_poll(multi, nil, 0, 60_000, nil) != CURLM_OK {
                return CURLE_FAILED_INIT
            }
        } while running > 0

        var remaining: CInt = 0
        while let message = unsafe curl_multi_info_read(multi, &remaining) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            let result = unsafe message.pointee.data.result
            guard result != CURLE_OK else { return result }
            // After a shutdown of the socket, libcurl reports only that the connection has ended.
            if cancellation?.isCancelled == true { return nil }
            return sockets.isOverdue ? CURLE_OPERATION_TIMEDOUT : result
        }
        return CURLE_FAILED_INIT
    }
}

extension HTTPAttempt {
    /// Configures libcurl for a request, and returns the first error. The body, the headers and the exchange must
    /// outlive the transfer.
    static func configure(
        _ easy: UnsafeMutableRawPointer, for request: HTTPRequest, body: UnsafeBufferPointer<UInt8>,
        headers: borrowing HeaderList, exchange: HTTPExchange
    ) -> CURLcode? {
        unsafe curl_easy_reset(easy)
        unsafe ccurl_leave_resolver_behind(easy)
        var results = unsafe [
            ccurl_set_string(easy, CURLOPT_URL, request.url),
            request.method == .get
                ? ccurl_set_long(easy, CURLOPT_HTTPGET, 1) : ccurl_set_body(easy, body.baseAddress, body.count),
            ccurl_allow_http_only(easy),
            ccurl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0),
            // Signals belong to the process, not to a library.
            ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1),
            ccurl_set_long(easy, CURLOPT_NOPROGRESS, 1),
            ccurl_set_long(easy, CURLOPT_TCP_KEEPALIVE, 1),
            // Excludes the proxy's response to CONNECT.
            ccurl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
            ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(request.connectTimeout)),
            ccurl_set_long(easy, CURLOPT_TIMEOUT_MS, milliseconds(request.totalTimeout)),
            ccurl_set_string(easy, CURLOPT_USERAGENT, request.userAgent),
            ccurl_set_headers(easy, headers.first),
            // Regardless of what the TLS library and its configuration allow.
            ccurl_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            ccurl_set_long(easy, CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
        ]
        unsafe results += exchange.observe(easy)
        if let proxy = request.proxy {
            unsafe results.append(ccurl_set_string(easy, CURLOPT_PROXY, proxy))
        }
        if let caFile = request.caFile {
            unsafe results.append(ccurl_set_string(easy, CURLOPT_CAINFO, caFile))
            // The file replaces the system's authorities.
            unsafe results.append(ccurl_set_string(easy, CURLOPT_CAPATH, nil))
        }
        return results.first { $0 != CURLE_OK }
    }

    /// Returns the duration rounded up, and at least 1, since libcurl interprets zero as no limit.
    private static func milliseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        // A month is long enough here, and far from overflow.
        let bounded = min(max(seconds, 0), 2_600_000)
        return max(1, Int(bounded) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}

/// The global initialization of libcurl. It takes milliseconds, so it happens once and only when needed.
enum CurlLibrary {
    static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}

/// Properties of a completed transfer.
struct TransferInfo {
    /// The bytes of the body that were passed to the kernel.
    let uploaded: Int
    /// The proxy's status for CONNECT; zero if there was no CONNECT.
    let proxyStatus: Int
    /// The kernel's errno of a failed connection.
    let systemError: CInt
    /// OpenSSL's code for a certificate that was not trusted.
    let verification: Int

    init(_ easy: UnsafeMutableRawPointer) {
        var uploaded: curl_off_t = 0
        _ = unsafe ccurl_get_offset(easy, CURLINFO_SIZE_UPLOAD_T, &uploaded)
        self.uploaded = Int(uploaded)
        proxyStatus = unsafe TransferInfo.number(CURLINFO_HTTP_CONNECTCODE, of: easy)
        systemError = CInt(truncatingIfNeeded: unsafe TransferInfo.number(CURLINFO_OS_ERRNO, of: easy))
        verification = unsafe TransferInfo.number(CURLINFO_SSL_VERIFYRESULT, of: easy)
    }

    /// Returns `true` if the peer may have received the whole request.
    func hasSent(_ count: Int, in exchange: HTTPExchange) -> Bool {
        // libcurl counts only the last connection. For an earlier one, the worst case is assumed.
        exchange.wasRepeated || (exchange.isUnderWay && uploaded >= count)
    }

    private static func number(_ info: CURLINFO, of easy: UnsafeMutableRawPointer) -> Int {
        var value = 0
        _ = unsafe ccurl_get_long(easy, info, &value)
        return value
    }
}
