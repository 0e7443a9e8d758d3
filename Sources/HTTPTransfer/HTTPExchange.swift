import CCurl
import Glibc
import Synchronization
import UnixIO

/// Receives libcurl's callbacks for one request and its response.
///
/// It is a class because libcurl holds its address during the transfer.
final class HTTPExchange {
    /// The maximum size of all header lines, in bytes: more than any legitimate response has. libcurl limits the length
    /// of a line, but not the number of lines.
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
    private(set) var hasTooLongHeaders = false
    /// `true` once the header of the final response was received, and not only that of an interim one.
    private(set) var hasWholeHead = false
    /// `true` if the request may have been sent twice: libcurl began it again, or opened another connection after it
    /// had begun.
    private(set) var wasRepeated = false

    /// - Parameters:
    ///   - responseLimit: The maximum size of the response's body, in bytes.
    ///   - sockets: The sockets of the client. The object must outlive the client's connections.
    init(responseLimit: Int, sockets: TransferSockets) {
        self.responseLimit = max(0, responseLimit)
        self.sockets = sockets
    }

    /// `true` once the connection is established and the request has begun on it.
    var isUnderWay: Bool { !isConnecting }

    /// `true` once the request has begun on any connection.
    var hasBegun: Bool { requestsBegun > 0 }

    /// Returns the response received so far; nil if its header is not complete.
    func response(isTruncated: Bool) -> HTTPResponse? {
        guard hasWholeHead, let status else { return nil }
        return HTTPResponse(
            status: status, headers: headers, body: body, isTruncated: isTruncated,
            mayHaveArrivedTwice: wasRepeated)
    }

    /// Records that a socket was created for a new connection.
    func connectionOpens(_ socket: CInt) {
        sockets.add(socket)
        // libcurl repeats a request on its own if a kept connection ends without a response. The peer may have acted on
        // the first one.
        if hasBegun { wasRepeated = true }
        isConnecting = true
    }

    /// Records that the connection is established and the request begins.
    func requestBegins() {
        if hasBegun { wasRepeated = true }
        requestsBegun += 1
        isConnecting = false
    }

    /// Reads the three digits of a status line (RFC 9112, 4).
    private static func status(_ word: Substring) -> Int? {
        word.utf8.count == 3 && word.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(word) : nil
    }

    /// Processes a header line of the response. Returns `false` to abort.
    func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        headerBytes += line.count
        guard headerBytes <= HTTPExchange.headerLimit else {
            hasTooLongHeaders = true
            return false
        }
        let text = unsafe String(decoding: line, as: UTF8.self)
        let content = text.prefix { !$0.isNewline }
        if content.hasPrefix("HTTP/") {
            // A new head: the previous one was an interim response.
            let words = content.split(separator: " ", maxSplits: 2)
            status = words.count > 1 ? Self.status(words[1]) : nil
            headers = HTTPHeaders()
            hasWholeHead = false
        } else if content.isEmpty {
            hasWholeHead = status.map { $0 >= 200 } ?? false
        } else if let colon = content.firstIndex(of: ":") {
            headers.append(
                name: String(content[..<colon]), value: trimmed(content[content.index(after: colon)...]))
        }
        return true
    }

    /// Processes a part of the response body. Returns `false` to abort.
    func receive(bodyPart part: UnsafeRawBufferPointer) -> Bool {
        let room = responseLimit - body.count
        unsafe body.append(contentsOf: part.prefix(room))
        isOverLimit = part.count > room
        return !isOverLimit
    }

    private func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " || $0 == "\t" }
        let end = start.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { String(start[...$0]) } ?? ""
    }
}

extension HTTPExchange {
    /// Registers this exchange for libcurl's callbacks and returns the results of the calls. The exchange must outlive
    /// the transfer.
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
                    unsafe HTTPExchange.from(context)?.connectionOpens(socket)
                    return CInt(CURL_SOCKOPT_OK)
                }, context),
            // A connection may be closed long after this exchange.
            ccurl_set_on_close(
                easy,
                { context, socket in
                    guard let context = unsafe context else { return -1 }
                    return unsafe Unmanaged<TransferSockets>.fromOpaque(context).takeUnretainedValue().close(socket)
                }, Unmanaged.passUnretained(sockets).toOpaque()),
            ccurl_set_on_request(
                easy,
                { context, _, _, _, _ in
                    unsafe HTTPExchange.from(context)?.requestBegins()
                    return CInt(CURL_PREREQFUNC_OK)
                }, context),
        ]
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> HTTPExchange? {
        unsafe context.map { unsafe Unmanaged<HTTPExchange>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// The open sockets of a client. Another thread may shut them down, which ends every call that reads or writes them.
final class TransferSockets: Sendable {
    private struct State {
        var open: Set<CInt> = []
        var isOverdue = false
    }

    private let state = Mutex(State())

    /// `true` if the watchdog has ended the current transfer or, between transfers, the last one.
    var isOverdue: Bool { state.withLock { $0.isOverdue } }

    /// Adds a socket. libcurl closes it with ``close(_:)``.
    func add(_ socket: CInt) {
        state.withLock { _ = $0.open.insert(socket) }
    }

    /// Closes a socket, and returns the result of close(2).
    func close(_ socket: CInt) -> CInt {
        // Removed first: afterwards, another file may have the same number.
        state.withLock { _ = $0.open.remove(socket) }
        return Glibc.close(socket)
    }

    /// Shuts down all connections in both directions. The descriptors stay open, since libcurl still uses them.
    func shutDown() {
        state.withLock { state in
            for socket in state.open {
                _ = shutdown(socket, CInt(SHUT_RDWR))
                // Discards the received bytes. The TLS library could need many seconds to process them. For TCP,
                // MSG_TRUNC discards them without copying: see tcp(7).
                let flags = CInt(MSG_TRUNC | MSG_DONTWAIT)
                while recv(socket, nil, 1 << 20, flags) > 0 {}
            }
        }
    }

    fileprivate func begin() {
        state.withLock { $0.isOverdue = false }
    }

    fileprivate func end() {
        state.withLock { $0.isOverdue = true }
        shutDown()
    }
}

/// Ends transfers that libcurl does not end in time.
///
/// libcurl checks its time limits only between calls of the TLS library. A peer that sends TLS messages without data,
/// such as session tickets, faster than the library processes them keeps libcurl in one such call forever.
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

    /// The time that libcurl has to end a transfer after its limit.
    static let grace: Duration = .seconds(1)

    private let state = Monitor(State())

    /// Begins to watch a transfer. Each client has at most one at a time.
    ///
    /// - Parameters:
    ///   - sockets: The sockets of the client.
    ///   - limit: The time limit of the transfer. Its sockets are shut down ``grace`` later, and again after each
    ///     further ``grace`` until ``end(_:)`` is called.
    func begin(_ sockets: TransferSockets, within limit: Duration) {
        sockets.begin()
        let deadline = MonotonicClock.now.advanced(by: max(limit, .zero)).advanced(by: Self.grace)
        let (isNew, isEarlier) = state.withLock { state in
            state.entries[ObjectIdentifier(sockets)] = Entry(deadline: deadline, sockets: sockets)
            let isNew = !state.isRunning
            state.isRunning = true
            // The thread may wake for a transfer that has already ended, which is cheaper than a signal per transfer.
            let isEarlier = state.wakesAt.map { deadline < $0 } ?? true
            if isEarlier { state.wakesAt = deadline }
            return (isNew, isEarlier)
        }
        if isEarlier { state.signal() }
        guard isNew, (try? Thread.start(name: "http-watch", body: run)) == nil else { return }
        // Without a thread, only libcurl's own limits apply. The next transfer tries to start one again.
        state.withLock { $0.isRunning = false }
    }

    /// Ends the watch of a transfer.
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
                    // Called with the lock held. Otherwise the client's next transfer could be ended instead.
                    entry.sockets.end()
                    // Repeated in case libcurl has opened another connection.
                    state.entries[id]?.deadline = now.advanced(by: Self.grace)
                }
            }
        }
    }
}

/// Cancels transfers from another thread: those that are running, and all later ones. The programs of notifiers use it,
/// too.
package final class HTTPCancellation: Sendable {
    @safe
    private struct RunningTransfer: @unchecked Sendable {
        /// The argument of `curl_multi_wakeup`, the only function of libcurl that may be called while another thread
        /// uses the handle. Nil for a transfer that does not wait in libcurl.
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

    /// Cancels all transfers, now and later. May be called on any thread.
    package func cancel() {
        state.withLock { state in
            state.isCancelled = true
            // Transfers are removed under the same lock, so the handle is valid. The call only writes to an eventfd.
            for transfer in state.transfers {
                if let multi = unsafe transfer.multi { _ = unsafe curl_multi_wakeup(multi) }
                // In case the transfer is in a call of the TLS library.
                transfer.sockets.shutDown()
            }
        }
    }

    /// Adds a transfer. The caller must then check `isCancelled`, since an earlier `cancel()` did not reach it.
    ///
    /// - Parameters:
    ///   - multi: The handle in which libcurl waits; nil if the transfer does not wait in libcurl.
    ///   - sockets: The sockets to shut down.
    func add(_ multi: UnsafeMutableRawPointer?, _ sockets: TransferSockets) {
        let transfer = unsafe RunningTransfer(multi: multi, sockets: sockets)
        state.withLock { $0.transfers.append(transfer) }
    }

    /// Removes the transfer of these sockets that was added last.
    func remove(_ sockets: TransferSockets) {
        state.withLock { state in
            if let index = state.transfers.lastIndex(where: { $0.sockets === sockets }) {
                state.transfers.remove(at: index)
            }
        }
    }
}

/// The header fields of a request or response in their original order. Names are case-insensitive.
package struct HTTPHeaders: Equatable, Sendable {
    /// A header field.
    package struct Field: Equatable, Sendable {
        package var name: String
        package var value: String
    }

    package private(set) var fields: [Field] = []

    package init() {}

    /// The first value of a header; nil if it is missing.
    package subscript(name: String) -> String? {
        let wanted = name.lowercased()
        return fields.first { $0.name.lowercased() == wanted }?.value
    }

    /// Appends a field.
    package mutating func append(name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements {
            append(name: name, value: value)
        }
    }
}

/// The header lines of a request as a libcurl list.
@safe
struct HeaderList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    /// Creates the list. Returns nil if a name or value contains characters that would end its line, or if memory is
    /// exhausted.
    init?(_ headers: HTTPHeaders, expectsContinue: Bool) {
        unsafe first = nil
        // Waiting for "100 Continue" costs a round trip, and a delay if the peer does not support it. So libcurl must
        // not do it on its own.
        guard append(expectsContinue ? "Expect: 100-continue" : "Expect:") else { return nil }
        // Otherwise libcurl would declare the body to be a form.
        if headers["Content-Type"] == nil, !append("Content-Type:") { return nil }
        for field in headers.fields {
            guard HeaderList.isName(field.name), HeaderList.isValue(field.value) else { return nil }
            // libcurl would drop a field with a colon and an empty value.
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
