package import IssueProtocol
package import Issues
package import UnixIO

/// Sequential queries of a command on one connection to the daemon. Each one blocks until its reply arrives.
///
/// Tasks use ``IssueBrowser`` instead. `Failure` is the error type of the command. If a call fails or its reply is
/// invalid, the error is the one that `makeFailure` returns.
package struct BrowserSession<Failure: Error> {
    private let link: any BrowserLink
    private let makeFailure: (CollectorConnectionError) -> Failure
    /// The default timeout of `call`.
    private let timeout: Duration
    private let sleep: (Duration) -> Void

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - link: The connection to the daemon.
    ///   - timeout: The default timeout of `call`. Other functions have no timeout.
    ///   - sleep: Waits before a call is repeated; see `call`. By default, calls are repeated without waiting.
    ///   - makeFailure: Converts an error of the connection.
    package init(
        link: any BrowserLink, timeout: Duration = .seconds(45), sleep: @escaping (Duration) -> Void = { _ in },
        makeFailure: @escaping (CollectorConnectionError) -> Failure
    ) {
        self.link = link
        self.timeout = timeout
        self.sleep = sleep
        self.makeFailure = makeFailure
    }

    /// Calls a method and returns its reply.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - parameters: Its parameters.
    ///   - timeout: The maximum time to wait for the reply. Nil uses the session's timeout.
    ///   - pauses: The minimum times to wait before each repetition of the call if the daemon is busy; the daemon may
    ///     ask for a longer time. All attempts together take at most `timeout`.
    package func call<Parameters, Reply>(
        _ call: CollectorCall<Parameters, Reply>, _ parameters: Parameters, timeout: Duration? = nil,
        repeatingAfter pauses: [Duration] = []
    ) throws(Failure) -> BrowserReply<Reply> {
        let deadline = MonotonicClock.now.advanced(by: timeout ?? self.timeout)
        var pauses = pauses[...]
        while true {
            let json: [UInt8]
            let now = MonotonicClock.now
            do throws(CollectorConnectionError) {
                json = try link.call(call.method, parameters: parameters.json, timeout: now.duration(to: deadline))
            } catch {
                guard case .refused(.busy(let delay)) = error, let pause = pauses.popFirst().map({ max($0, delay) }),
                    pause < MonotonicClock.now.duration(to: deadline)
                else { throw makeFailure(error) }
                sleep(pause)
                continue
            }
            return try answer(json)
        }
    }

    /// Calls a method without parameters and returns its reply.
    package func call<Reply>(
        _ call: CollectorCall<NoParameters, Reply>, timeout: Duration? = nil
    ) throws(Failure) -> BrowserReply<Reply> {
        try self.call(call, NoParameters(), timeout: timeout)
    }

    /// Runs a long operation and returns its last reply. `progress` receives each earlier reply.
    package func runOperation<Parameters, Reply>(
        _ call: CollectorCall<Parameters, Reply>, _ parameters: Parameters, progress: (Reply) -> Void = { _ in }
    ) throws(Failure) -> BrowserReply<Reply> {
        try run(call, parameters, receivesFile: false, progress: progress).answer
    }

    /// Requests a copy of the daemon's store as an open file.
    ///
    /// - Parameter progress: Receives each reply before the last one.
    /// - Returns: The last reply and the file. The file is nil if the daemon is too old to pass one.
    package func backup(
        progress: (BackupReply) -> Void
    ) throws(Failure) -> (answer: BrowserReply<BackupReply>, file: PassedFile?) {
        let (answer, file) = try run(
            CollectorCalls.backup, BackupParameters(descriptor: true), receivesFile: true, progress: progress)
        return (answer, answer.value.descriptor == 0 ? file : nil)
    }

    /// Returns the error for a reply that is well-formed JSON, but invalid for the given reason.
    package func invalid(_ reason: String) -> Failure {
        makeFailure(.malformed(reason))
    }

    private func run<Parameters, Reply>(
        _ call: CollectorCall<Parameters, Reply>, _ parameters: Parameters, receivesFile: Bool,
        progress: (Reply) -> Void
    ) throws(Failure) -> (answer: BrowserReply<Reply>, file: PassedFile?) {
        var last: BrowserReply<Reply>?
        let file = try stream(call, parameters, receivesFile: receivesFile) { answer throws(Failure) in
            if let last { progress(last.value) }
            last = answer
        }
        guard let last else { throw makeFailure(.malformed("it is empty")) }
        return (last, file)
    }

    /// Calls a method with Varlink's `more`, which allows any number of replies, and passes each reply to `receive`.
    /// Returns after the last reply.
    ///
    /// If `receive` throws, the function throws that error, and the connection cannot be used again.
    ///
    /// - Parameter receivesFile: `true` to keep a file that is passed with the replies.
    /// - Returns: The passed file; nil if none was passed or kept.
    @discardableResult
    package func stream<Parameters, Reply>(
        _ call: CollectorCall<Parameters, Reply>, _ parameters: Parameters, receivesFile: Bool = false,
        receive: (BrowserReply<Reply>) throws(Failure) -> Void
    ) throws(Failure) -> PassedFile? {
        var failure: Failure?
        let file: PassedFile?
        do throws(CollectorConnectionError) {
            file = try link.stream(call.method, parameters: parameters.json, receivesFile: receivesFile) { json in
                do throws(Failure) {
                    try receive(try answer(json))
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
        } catch {
            throw makeFailure(error)
        }
        if let failure { throw failure }
        return file
    }

    private func answer<Reply>(_ json: [UInt8]) throws(Failure) -> BrowserReply<Reply> {
        do throws(CollectorConnectionError) {
            return try BrowserReply(json)
        } catch {
            throw makeFailure(error)
        }
    }
}

extension FlushParameters {
    /// The timeout for the reply. It is longer than `timeout`, which the daemon applies itself, so that the daemon's
    /// reply has time to arrive.
    package var replyTimeout: Duration { (timeout ?? .seconds(30)) + .seconds(3) }
}

/// A connection to the daemon. It sends calls and receives replies as the JSON of their parameters.
///
/// Replies are not decoded here, so that a command that prints them includes fields that only a newer daemon knows.
package protocol BrowserLink: AnyObject {
    /// Calls a method and returns its reply, or throws if the reply takes longer than `timeout`. The parameters and the
    /// reply are JSON.
    func call(
        _ method: CollectorMethod, parameters: [UInt8], timeout: Duration
    ) throws(CollectorConnectionError) -> [UInt8]

    /// Calls a method with Varlink's `more`, which allows any number of replies, and passes each reply to `receive`.
    /// There is no timeout.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - parameters: The parameters as JSON.
    ///   - receivesFile: `true` to keep a file descriptor that is passed with the replies. Otherwise it is closed.
    ///   - receive: Receives a reply as JSON. Returns false to stop.
    /// - Returns: The passed file; nil if none was passed or kept.
    func stream(
        _ method: CollectorMethod, parameters: [UInt8], receivesFile: Bool, receive: ([UInt8]) -> Bool
    ) throws(CollectorConnectionError) -> PassedFile?

    /// Sets a closure that is called once for each call whose reply takes longer than `delay`. Has no effect on calls
    /// with a timeout that is not longer than `delay`, or on `stream`. The default implementation does nothing.
    func onDelay(of delay: Duration, _ action: @escaping () -> Void)
}

extension BrowserLink {
    package func onDelay(of delay: Duration, _ action: @escaping () -> Void) {}
}

/// Connects to the socket at a path. If the path is nil, connects to the socket of `ISSUED_SOCKET` or, if that is not
/// set, to the first of the standard paths with a reachable and trusted server.
package typealias LinkFactory = (String?) throws(CollectorConnectionError) -> any BrowserLink

/// A reply in two forms: the daemon's JSON and the decoded value.
package struct BrowserReply<Value: JSONCodable> {
    package var json: [UInt8]
    package var value: Value

    /// Decodes a reply. Throws `malformed` if it is invalid.
    package init(_ json: [UInt8]) throws(CollectorConnectionError) {
        self.json = json
        do throws(FieldError) {
            value = try Value(json: json)
        } catch {
            throw .malformed("\(error)")
        }
    }

    /// Returns the elements of the reply's array `member` as the daemon's JSON; empty if there is no such array.
    package func elements(of member: String) -> [[UInt8]] {
        (try? Self.elements(of: member, in: json)) ?? []
    }

    private static func elements(of member: String, in json: [UInt8]) throws(JSONError) -> [[UInt8]] {
        var scanner = JSONScanner(json.span)
        var elements: [[UInt8]] = []
        try scanner.openObject()
        while let key = try scanner.nextMember() {
            guard scanner.string(key) == member, try scanner.kind() == .array else {
                _ = try scanner.skipValue()
                continue
            }
            try scanner.openArray()
            while try scanner.nextElement() { elements.append(Array(json[try scanner.skipValue()])) }
        }
        return elements
    }
}

extension BrowserReply: Sendable where Value: Sendable {}

/// A connection over the daemon's socket.
package final class SocketLink: BrowserLink {
    private var connection: CollectorConnection

    /// Connects to a socket as ``LinkFactory`` describes.
    package init(_ path: String?) throws(CollectorConnectionError) {
        connection = try CollectorConnection(
            paths: SocketPath.candidates(path), trust: .socket(path))
    }

    package func onDelay(of delay: Duration, _ action: @escaping () -> Void) {
        connection.delayNotice = (delay, action)
    }

    package func call(
        _ method: CollectorMethod, parameters: [UInt8], timeout: Duration
    ) throws(CollectorConnectionError) -> [UInt8] {
        try connection.call(method.fullName, json: parameters, timeout: timeout)
    }

    package func stream(
        _ method: CollectorMethod, parameters: [UInt8], receivesFile: Bool, receive: ([UInt8]) -> Bool
    ) throws(CollectorConnectionError) -> PassedFile? {
        try connection.stream(method.fullName, json: parameters, receivesFile: receivesFile, onReply: receive)
    }
}
