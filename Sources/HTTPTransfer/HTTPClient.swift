import CCurl
import Glibc
import Synchronization
import UnixIO

/// Sends one request at a time, and keeps the connection open for the next request.
///
/// `perform` blocks the calling thread. The client may be used on different threads in turn. The process must ignore
/// SIGPIPE.
@safe
package struct HTTPClient: ~Copyable, @unchecked Sendable {
    // Sendable is safe because there is a single owner, `perform` is exclusive, and libcurl does not tie a handle to a
    // thread.
    private var easy: UnsafeMutableRawPointer?
    private var multi: UnsafeMutableRawPointer?
    private let sockets = TransferSockets()

    /// Creates a client. This is cheap, because libcurl is initialized only by the first request.
    package init() {
        unsafe easy = nil
        unsafe multi = nil
    }

    deinit {
        guard unsafe multi != nil else { return }
        // This may block, because the TLS library reads from a connection before closing it.
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
    ///   - cancellation: Cancels the request from another thread; nil if the request cannot be cancelled.
    /// - Returns: The response. If `isTruncated` is set, its body is incomplete.
    /// - Throws: `HTTPTransferError` if there was no usable response.
    package mutating func perform(
        _ request: HTTPRequest, cancellation: HTTPCancellation? = nil
    ) throws(HTTPTransferError) -> HTTPResponse {
        guard CurlLibrary.isReady, let (easy, multi) = unsafe handles() else {
            throw HTTPTransferError(code: .other, message: "libcurl could not be initialized")
        }
        guard let origin = HTTPOrigin(url: request.url) else {
            throw HTTPTransferError(code: .invalidRequest, message: "The URL of the request is invalid")
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
            guard attempt.mayHaveMissedRejection else { throw error }
            // A peer that rejects a request early and closes the connection can reset it before the response is read.
            // The peer cannot have acted on an incomplete request, so the request is repeated with "Expect:
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

/// Writes bytes to a connection without interpreting a response, and keeps the connection open for later writes. Uses
/// TLS if the scheme of the URL is `https`.
///
/// `send` blocks the calling thread. After it succeeds, the bytes have been passed to the kernel, but may not have
/// arrived. The process must ignore SIGPIPE.
@safe
package struct StreamClient: ~Copyable, @unchecked Sendable {
    // Sendable is safe because there is a single owner, and libcurl does not tie a handle to a thread.
    private var easy: UnsafeMutableRawPointer?
    private var multi: UnsafeMutableRawPointer?
    private let sockets = TransferSockets()
    private let cancellation: HTTPCancellation?
    /// Receives libcurl's callbacks. It must live as long as the connection.
    private var exchange: HTTPExchange?

    /// Creates a client. It connects at the first call of `send`.
    ///
    /// - Parameter cancellation: Cancels connecting and writing from another thread; nil if they cannot be cancelled.
    package init(cancellation: HTTPCancellation? = nil) {
        unsafe easy = nil
        unsafe multi = nil
        self.cancellation = cancellation
    }

    deinit {
        guard unsafe multi != nil else { return }
        // This may block, because the TLS library reads from a connection before closing it.
        TransferWatchdog.shared.begin(sockets, within: .zero)
        defer { TransferWatchdog.shared.end(sockets) }
        unsafe Self.cleanUp(easy, multi)
    }

    private static func cleanUp(_ easy: UnsafeMutableRawPointer?, _ multi: UnsafeMutableRawPointer?) {
        unsafe curl_multi_remove_handle(multi, easy)
        unsafe curl_easy_cleanup(easy)
        unsafe curl_multi_cleanup(multi)
    }

    /// Sends bytes over the open connection or, if there is none, over a new one to the address of `request`. The
    /// method, headers, body and response limit of `request` are ignored.
    ///
    /// - Throws: `HTTPTransferError`. Its `bodyFullySent` is `true` if some of the bytes may have arrived.
    package mutating func send(_ bytes: [UInt8], to request: HTTPRequest) throws(HTTPTransferError) {
        guard let origin = HTTPOrigin(url: request.url) else {
            throw HTTPTransferError(code: .invalidRequest, message: "The URL of the request is invalid")
        }
        let deadline = ContinuousClock.now.advanced(by: request.totalTimeout)
        TransferWatchdog.shared.begin(sockets, within: request.totalTimeout)
        defer { TransferWatchdog.shared.end(sockets) }
        // libcurl does not wait while the connection is read and written, so there is no handle to wake.
        unsafe cancellation?.add(nil, sockets)
        defer { cancellation?.remove(sockets) }
        // If `cancel()` was called before `add`, an open connection was not shut down.
        if cancellation?.isCancelled == true {
            throw HTTPTransferError(code: .cancelled, message: "The connection to \(origin) was cancelled")
        }
        if exchange == nil || !checkOpen() { try connect(request, origin) }
        var sent = 0
        while sent < bytes.count {
            var count = 0
            let result = unsafe bytes.withUnsafeBytes { buffer in
                unsafe curl_easy_send(easy, buffer.baseAddress?.advanced(by: sent), bytes.count - sent, &count)
            }
            sent += count
            if result == CURLE_OK { continue }
            if result == CURLE_AGAIN, waitUntilWritable(deadline: deadline) { continue }
            close()
            // After the deadline, the watchdog may have shut down the connection.
            let isTimeout = result == CURLE_AGAIN || ContinuousClock.now >= deadline
            let (code, message): (HTTPTransferError.Code, String) =
                if cancellation?.isCancelled == true {
                    (.cancelled, "The connection to \(origin) was cancelled")
                } else if isTimeout {
                    (.timeout, "\(origin) did not accept the data in time")
                } else {
                    (.connectionLost, "The connection to \(origin) ended while data was being sent")
                }
            throw HTTPTransferError(code: code, message: message, bodyFullySent: sent > 0)
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
            throw HTTPTransferError(code: .other, message: "libcurl could not be initialized")
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
            throw HTTPTransferError(code: .cancelled, message: "The connection to \(origin) was cancelled")
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

    /// Returns `false` if the peer is known to have ended the connection, or if reading fails. Discards a byte that the
    /// peer has sent.
    private func checkOpen() -> Bool {
        var byte: UInt8 = 0
        var count = 0
        let result = unsafe withUnsafeMutableBytes(of: &byte) { unsafe curl_easy_recv(easy, $0.baseAddress, 1, &count) }
        return result == CURLE_AGAIN || (result == CURLE_OK && count > 0)
    }

    /// Waits until the socket accepts more bytes or has an error. Returns `false` at the deadline or if waiting fails.
    private func waitUntilWritable(deadline: ContinuousClock.Instant) -> Bool {
        var socket: curl_socket_t = -1
        guard unsafe ccurl_get_socket(easy, &socket) == CURLE_OK, socket >= 0 else { return false }
        while true {
            let left = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
            guard left > 0 else { return false }
            var entry = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
            let ready = unsafe poll(&entry, 1, CInt(min(left, 3_600_000)) + 1)
            // A signal interrupts the wait.
            guard ready == 0 || (ready < 0 && errno == EINTR) else { return ready > 0 }
        }
    }

    private mutating func close() {
        unsafe Self.cleanUp(easy, multi)
        unsafe easy = nil
        unsafe multi = nil
        exchange = nil
    }
}

/// The global initialization of libcurl.
enum CurlLibrary {
    /// Whether libcurl was initialized. The first access initializes it, which takes milliseconds.
    static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}

/// Cancels running and later transfers from another thread. A notifier that runs a program checks `isCancelled` to kill
/// the program.
package final class HTTPCancellation: Sendable {
    @safe
    private struct RunningTransfer: @unchecked Sendable {
        /// The argument of `curl_multi_wakeup`, the only function of libcurl that may be called while another thread
        /// uses the handle. Nil if the transfer does not wait in libcurl.
        let multi: UnsafeMutableRawPointer?
        let sockets: TransferSockets
    }

    private struct State {
        var isCancelled = false
        var transfers: [RunningTransfer] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Cancels all running and later transfers. May be called on any thread.
    package func cancel() {
        state.withLock { state in
            state.isCancelled = true
            // Transfers are removed under the same lock, so the handle is valid. Waking it only writes to an eventfd.
            for transfer in state.transfers {
                if let multi = unsafe transfer.multi { _ = unsafe curl_multi_wakeup(multi) }
                // The transfer may be in a call of the TLS library, which the wake-up does not end.
                transfer.sockets.shutDown()
            }
        }
    }

    /// Adds a transfer. The caller must then check `isCancelled`, because an earlier `cancel()` did not affect the
    /// transfer.
    ///
    /// - Parameters:
    ///   - multi: The handle in which libcurl waits; nil if the transfer does not wait in libcurl.
    ///   - sockets: The sockets to shut down.
    func add(_ multi: UnsafeMutableRawPointer?, _ sockets: TransferSockets) {
        let transfer = unsafe RunningTransfer(multi: multi, sockets: sockets)
        state.withLock { $0.transfers.append(transfer) }
    }

    /// Removes the most recently added transfer of these sockets.
    func remove(_ sockets: TransferSockets) {
        state.withLock { state in
            if let index = state.transfers.lastIndex(where: { $0.sockets === sockets }) {
                state.transfers.remove(at: index)
            }
        }
    }
}

/// The open sockets of a client. Another thread may shut them down, which ends all calls that read or write them.
final class TransferSockets: Sendable {
    private struct State {
        var open: Set<CInt> = []
        var isOverdue = false
    }

    private let state = Mutex(State())

    /// Whether the watchdog has ended the current transfer or, between transfers, the last one.
    var isOverdue: Bool { state.withLock { $0.isOverdue } }

    /// Adds a socket. libcurl closes it with ``close(_:)``.
    func add(_ socket: CInt) {
        state.withLock { _ = $0.open.insert(socket) }
    }

    /// Closes a socket, and returns the result of close(2).
    func close(_ socket: CInt) -> CInt {
        // Removed first, because another file may get the same number as soon as the socket is closed.
        state.withLock { _ = $0.open.remove(socket) }
        return Glibc.close(socket)
    }

    /// Shuts down all connections in both directions. The descriptors stay open, because libcurl still uses them.
    func shutDown() {
        state.withLock { state in
            for socket in state.open {
                _ = shutdown(socket, CInt(SHUT_RDWR))
                // Discards the received bytes, because the TLS library could need many seconds to process them. For
                // TCP, MSG_TRUNC discards bytes without copying them; see tcp(7).
                let flags = CInt(MSG_TRUNC | MSG_DONTWAIT)
                while recv(socket, nil, 1 << 20, flags) > 0 {}
            }
        }
    }

    fileprivate func transferBegan() {
        state.withLock { $0.isOverdue = false }
    }

    /// Ends the transfer, which has exceeded its time limit.
    fileprivate func endOverdue() {
        state.withLock { $0.isOverdue = true }
        shutDown()
    }
}

/// Ends transfers that libcurl does not end in time.
///
/// libcurl checks its time limits only between calls of the TLS library. A peer can keep libcurl in one such call
/// forever, by sending TLS messages without data, such as session tickets, faster than the library processes them.
final class TransferWatchdog: Sendable {
    private struct Entry {
        var deadline: KernelInstant
        let sockets: TransferSockets
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        /// The time at which the thread wakes; nil if it waits for a transfer to begin.
        var wakesAt: KernelInstant?
        var isRunning = false
    }

    static let shared = TransferWatchdog()

    /// The time after a transfer's limit during which libcurl may still end the transfer itself.
    static let grace: Duration = .seconds(1)

    private let state = Monitor(State())

    /// Begins to watch a transfer. Each client has at most one at a time.
    ///
    /// - Parameters:
    ///   - sockets: The sockets of the client.
    ///   - limit: The time limit of the transfer. The sockets are shut down ``grace`` after the limit, and again after
    ///     every further ``grace`` until ``end(_:)`` is called.
    func begin(_ sockets: TransferSockets, within limit: Duration) {
        sockets.transferBegan()
        let deadline = MonotonicClock.now.advanced(by: max(limit, .zero)).advanced(by: Self.grace)
        let (isNew, isEarlier) = state.withLock { state in
            state.entries[ObjectIdentifier(sockets)] = Entry(deadline: deadline, sockets: sockets)
            let isNew = !state.isRunning
            state.isRunning = true
            // The thread may wake for a transfer that has already ended. This is cheaper than a signal for each
            // transfer.
            let isEarlier = state.wakesAt.map { deadline < $0 } ?? true
            if isEarlier { state.wakesAt = deadline }
            return (isNew, isEarlier)
        }
        if isEarlier { state.signal() }
        guard isNew, (try? Thread.start(name: "http-watch", body: run)) == nil else { return }
        // Without a thread, only libcurl's own limits apply. The next transfer tries to start one again.
        state.withLock { $0.isRunning = false }
    }

    /// Stops watching a transfer.
    func end(_ sockets: TransferSockets) {
        state.withLock { _ = $0.entries.removeValue(forKey: ObjectIdentifier(sockets)) }
    }

    private func run() {
        while true {
            let earliest = state.withLock { state in
                let earliest = state.entries.values.map(\.deadline).min()
                state.wakesAt = earliest
                return earliest
            }
            _ = state.wait(deadline: earliest) { $0.wakesAt == earliest ? nil : true }
            let now = MonotonicClock.now
            state.withLock { state in
                for (id, entry) in state.entries where entry.deadline <= now {
                    // Without the lock, this could end the client's next transfer instead.
                    entry.sockets.endOverdue()
                    // Repeated in case libcurl has opened another connection.
                    state.entries[id]?.deadline = now.advanced(by: Self.grace)
                }
            }
        }
    }
}
