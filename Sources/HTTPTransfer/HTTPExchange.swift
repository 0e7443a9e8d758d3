import CCurl

/// Makes single attempts to perform a request, and interprets their results.
@safe
struct HTTPAttempt {
    private let easy: UnsafeMutableRawPointer
    private let multi: UnsafeMutableRawPointer
    private let sockets: TransferSockets
    private let origin: HTTPOrigin
    private let cancellation: HTTPCancellation?

    /// Whether, in the last attempt, the connection ended while the body was being sent, and no response was received.
    /// The peer may have rejected the request before the connection ended.
    private(set) var mayHaveMissedRejection = false

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

    /// Makes an attempt.
    ///
    /// - Parameter expectsContinue: `true` to wait for "100 Continue" before the body is sent.
    mutating func perform(_ request: HTTPRequest, expectsContinue: Bool = false) throws(HTTPTransferError)
        -> HTTPResponse
    {
        guard let headers = HeaderList(request.headers, expectsContinue: expectsContinue) else {
            throw HTTPTransferError(code: .invalidRequest, message: "A header of the request to \(origin) is invalid")
        }
        let exchange = HTTPExchange(responseLimit: request.responseLimit, sockets: sockets)
        let result = withExtendedLifetime(exchange) {
            unsafe request.body.withUnsafeBufferPointer { body in
                let error = unsafe HTTPAttempt.configure(
                    easy, for: request, body: body, headers: headers, exchange: exchange)
                return unsafe error ?? HTTPAttempt.run(easy, in: multi, sockets, cancellation)
            }
        }
        let info = unsafe TransferInfo(easy)
        let isSent = info.mayHaveSentAll(request.body.count, in: exchange)
        let isLost = result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR || result == CURLE_GOT_NOTHING
        mayHaveMissedRejection = isLost && exchange.isConnected && !isSent && exchange.status == nil

        guard let result else {
            throw HTTPTransferError(
                code: .cancelled, message: "The request to \(origin) was cancelled", bodyFullySent: isSent)
        }
        if var response = response(to: result, in: exchange) {
            if response.status >= 300 { response.proxy = ProxyName.responder(to: request, for: origin) }
            return response
        }
        throw HTTPTransferError(
            result, at: origin, through: ProxyName.text(for: request, to: origin), trusting: request.caFile,
            info: info, exchange: exchange, bodyFullySent: isSent)
    }

    /// Returns the response; nil if there is none, or if libcurl's result is an error that makes it unusable.
    private func response(to result: CURLcode, in exchange: HTTPExchange) -> HTTPResponse? {
        if result == CURLE_OK { return exchange.response(isTruncated: false) }
        guard let response = exchange.response(isTruncated: true) else { return nil }
        // An error status is valid without the rest of the body. A successful response must be complete, unless this
        // client ended the transfer because the body exceeded `responseLimit`.
        let isSuccess = (200..<300).contains(response.status)
        return exchange.isOverLimit || !isSuccess ? response : nil
    }

    /// Runs a transfer to its end. Returns the result of libcurl; nil if the transfer was cancelled.
    ///
    /// - Parameters:
    ///   - sockets: The sockets of the connections of `multi`.
    ///   - staysAdded: `true` to leave `easy` in `multi`, so that its connection stays open.
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
            // libcurl ends the wait earlier at its own deadlines. A wake-up that arrives before the wait is not lost.
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
    /// Configures libcurl for a request. Returns the first error; nil if there is none. The body, the headers and the
    /// exchange must outlive the transfer.
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
            // libcurl must not change the signal handling of the process.
            ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1),
            ccurl_set_long(easy, CURLOPT_NOPROGRESS, 1),
            ccurl_set_long(easy, CURLOPT_TCP_KEEPALIVE, 1),
            // Withholds the proxy's response to CONNECT from the exchange.
            ccurl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
            ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(request.connectTimeout)),
            ccurl_set_long(easy, CURLOPT_TIMEOUT_MS, milliseconds(request.totalTimeout)),
            ccurl_set_string(easy, CURLOPT_USERAGENT, request.userAgent),
            ccurl_set_headers(easy, headers.first),
            // Versions of TLS before 1.2 are refused, whatever the TLS library and its configuration allow.
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

    /// Returns the duration in milliseconds, rounded up, and at least 1. For libcurl, 0 means 300 seconds for
    /// connecting and no limit for the whole transfer.
    private static func milliseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        // The limit of a month prevents an overflow.
        let bounded = min(max(seconds, 0), 2_600_000)
        return max(1, Int(bounded) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}

/// Receives libcurl's callbacks for one request and its response.
///
/// It is a class because libcurl holds its address during the transfer.
final class HTTPExchange {
    /// The maximum size of all header lines together, in bytes. Legitimate responses are far below it. Not every
    /// version of libcurl limits the number of lines.
    private static let headerLimit = 64 * 1024

    private let responseLimit: Int
    private let sockets: TransferSockets
    private var headerBytes = 0
    private var isConnecting = true
    private var requestsBegun = 0

    private(set) var status: Int?
    private(set) var headers = HTTPHeaders()
    private(set) var body: [UInt8] = []
    private(set) var isOverLimit = false
    /// Whether the header lines exceeded their maximum size.
    private(set) var hasOversizedHeaders = false
    /// Whether the header of the final response is complete. The header of an interim response does not count.
    private(set) var hasFinalHeader = false
    /// Whether the request may have been sent twice: libcurl started it again, or opened another connection after the
    /// request had started.
    private(set) var wasRepeated = false

    /// - Parameters:
    ///   - responseLimit: The maximum size of the response's body, in bytes.
    ///   - sockets: The sockets of the client. They must outlive the client's connections.
    init(responseLimit: Int, sockets: TransferSockets) {
        self.responseLimit = max(0, responseLimit)
        self.sockets = sockets
    }

    /// Whether the connection is established and the request has started on it.
    var isConnected: Bool { !isConnecting }

    /// Whether the request has started on any connection.
    var hasBegun: Bool { requestsBegun > 0 }

    /// Returns the response received so far; nil if its header is not complete.
    func response(isTruncated: Bool) -> HTTPResponse? {
        guard hasFinalHeader, let status else { return nil }
        return HTTPResponse(
            status: status, headers: headers, body: body, isTruncated: isTruncated,
            mayHaveArrivedTwice: wasRepeated)
    }

    /// Records that a socket was created for a new connection.
    func socketCreated(_ socket: CInt) {
        sockets.add(socket)
        // libcurl repeats a request on its own if a reused connection ends without a response. The peer may have acted
        // on the first request.
        if hasBegun { wasRepeated = true }
        isConnecting = true
    }

    /// Records that the connection is established and the request has started.
    func requestStarted() {
        if hasBegun { wasRepeated = true }
        requestsBegun += 1
        isConnecting = false
    }

    /// Returns the status in the second word of a status line (RFC 9112, section 4); nil unless the word consists of
    /// exactly three digits.
    private static func status(_ word: Substring) -> Int? {
        word.utf8.count == 3 && word.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(word) : nil
    }

    /// Processes a header line of the response. Returns `false` to abort the transfer.
    func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        headerBytes += line.count
        guard headerBytes <= HTTPExchange.headerLimit else {
            hasOversizedHeaders = true
            return false
        }
        let text = unsafe String(decoding: line, as: UTF8.self)
        let content = text.prefix { !$0.isNewline }
        if content.hasPrefix("HTTP/") {
            // A new header begins. Any header before it belonged to an interim response.
            let words = content.split(separator: " ", maxSplits: 2)
            status = words.count > 1 ? Self.status(words[1]) : nil
            headers = HTTPHeaders()
            hasFinalHeader = false
        } else if content.isEmpty {
            hasFinalHeader = status.map { $0 >= 200 } ?? false
        } else if let colon = content.firstIndex(of: ":") {
            headers.append(
                name: String(content[..<colon]), value: trimmed(content[content.index(after: colon)...]))
        }
        return true
    }

    /// Processes a part of the response body. Returns `false` to abort the transfer.
    func receive(bodyPart part: UnsafeRawBufferPointer) -> Bool {
        let remaining = responseLimit - body.count
        unsafe body.append(contentsOf: part.prefix(remaining))
        isOverLimit = part.count > remaining
        return !isOverLimit
    }

    private func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " || $0 == "\t" }
        let end = start.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { String(start[...$0]) } ?? ""
    }
}

extension HTTPExchange {
    /// Registers this exchange for libcurl's callbacks, and returns the results of the registrations. The exchange must
    /// outlive the transfer.
    func observe(_ easy: UnsafeMutableRawPointer) -> [CURLcode] {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        return unsafe [
            ccurl_set_on_header(
                easy,
                { bytes, _, count, context in
                    let line = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
                    return unsafe HTTPExchange.from(context)?.receive(headerLine: line) == true ? count : 0
                }, context),
            ccurl_set_on_body(
                easy,
                { bytes, _, count, context in
                    let part = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
                    return unsafe HTTPExchange.from(context)?.receive(bodyPart: part) == true ? count : 0
                }, context),
            ccurl_set_on_socket(
                easy,
                { context, socket, _ in
                    unsafe HTTPExchange.from(context)?.socketCreated(socket)
                    return CInt(CURL_SOCKOPT_OK)
                }, context),
            // The context is `sockets`, because a connection may be closed long after the end of this exchange.
            ccurl_set_on_close(
                easy,
                { context, socket in
                    guard let context = unsafe context else { return -1 }
                    return unsafe Unmanaged<TransferSockets>.fromOpaque(context).takeUnretainedValue().close(socket)
                }, Unmanaged.passUnretained(sockets).toOpaque()),
            ccurl_set_on_request(
                easy,
                { context, _, _, _, _ in
                    unsafe HTTPExchange.from(context)?.requestStarted()
                    return CInt(CURL_PREREQFUNC_OK)
                }, context),
        ]
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> HTTPExchange? {
        unsafe context.map { unsafe Unmanaged<HTTPExchange>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// The header lines of a request as a libcurl list.
@safe
struct HeaderList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    /// Creates the list. Returns nil if memory is exhausted or a field is invalid. A valid name is not empty and
    /// consists of printable ASCII characters except spaces, `:` and `;`. A valid value contains no ASCII control
    /// characters except tabs.
    init?(_ headers: HTTPHeaders, expectsContinue: Bool) {
        unsafe first = nil
        // Waiting for "100 Continue" costs a round trip, and a delay if the peer does not support it. The empty field
        // prevents libcurl from waiting on its own.
        guard append(expectsContinue ? "Expect: 100-continue" : "Expect:") else { return nil }
        // Without this, libcurl would declare the body to be a form.
        if headers["Content-Type"] == nil, !append("Content-Type:") { return nil }
        for field in headers.fields {
            guard HeaderList.isName(field.name), HeaderList.isValue(field.value) else { return nil }
            // libcurl would drop a field with a colon and an empty value. The semicolon makes it send an empty field.
            guard append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)") else { return nil }
        }
    }

    deinit {
        unsafe curl_slist_free_all(first)
    }

    private mutating func append(_ line: String) -> Bool {
        guard let longer = unsafe curl_slist_append(first, line) else { return false }
        unsafe first = longer
        return true
    }

    private static func isName(_ name: String) -> Bool {
        let separators = Array(":;".utf8)
        return !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !separators.contains($0) }
    }

    private static func isValue(_ value: String) -> Bool {
        value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}

/// Properties of a transfer that has ended.
struct TransferInfo {
    /// The number of bytes of the body that were sent on the last connection.
    let uploaded: Int
    /// The proxy's status for CONNECT; zero if there was no CONNECT.
    let proxyStatus: Int
    /// The kernel's errno of a failed connection.
    let systemError: CInt
    /// OpenSSL's result of verifying the certificate.
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
    ///
    /// - Parameter count: The size of the request's body, in bytes.
    func mayHaveSentAll(_ count: Int, in exchange: HTTPExchange) -> Bool {
        // libcurl counts only the bytes sent on the last connection. An earlier one may have carried the whole body.
        exchange.wasRepeated || (exchange.isConnected && uploaded >= count)
    }

    private static func number(_ info: CURLINFO, of easy: UnsafeMutableRawPointer) -> Int {
        var value = 0
        _ = unsafe ccurl_get_long(easy, info, &value)
        return value
    }
}
