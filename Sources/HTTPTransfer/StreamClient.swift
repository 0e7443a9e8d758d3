import CCurl
import Glibc

/// Writes bytes to a TLS connection without reading a response, and keeps the connection for later writes.
///
/// It blocks the thread that uses it. Written bytes have been passed to the kernel; whether they arrived is unknown.
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

    /// Sends bytes to the address of a request, over the existing connection or a new one.
    ///
    /// - Throws: `HTTPTransferError` with `bodyFullySent` if some of the bytes may have arrived.
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

    /// `true` unless the peer has ended the connection, as far as the kernel knows.
    private var isOpen: Bool {
        var byte: UInt8 = 0
        var count = 0
        let result = unsafe withUnsafeMutableBytes(of: &byte) { unsafe curl_easy_recv(easy, $0.baseAddress, 1, &count) }
        return result == CURLE_AGAIN || (result == CURLE_OK && count > 0)
    }

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
