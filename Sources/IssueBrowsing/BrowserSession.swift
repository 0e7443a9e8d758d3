package import IssueProtocol
package import Issues
package import UnixIO

/// The questions to a daemon on one connection, one after the other; each blocks until its answer is there.
///
/// `Failure` is how the caller says what went wrong: to a program, or to a
/// person at a terminal.
package struct BrowserSession<Failure: Error> {
    private let link: any BrowserLink
    private let failing: (CollectorConnectionError) -> Failure

    /// How long an ordinary answer may take.
    private static var timeout: Duration { .seconds(45) }

    package init(link: any BrowserLink, failing: @escaping (CollectorConnectionError) -> Failure) {
        self.link = link
        self.failing = failing
    }

    package func list(_ parameters: ListParameters) throws(Failure) -> BrowserReply<ListReply> {
        try call(.list, parameters.json)
    }

    package func records(_ parameters: RecordsParameters) throws(Failure) -> BrowserReply<RecordsReply> {
        try call(.records, parameters.json)
    }

    package func show(_ id: String) throws(Failure) -> BrowserReply<ShowReply> {
        try call(.show, ShowParameters(id: id).json)
    }

    package func histogram(_ parameters: HistogramParameters) throws(Failure) -> BrowserReply<HistogramReply> {
        try call(.histogram, parameters.json)
    }

    package func setState(_ parameters: SetStateParameters) throws(Failure) -> BrowserReply<SetStateReply> {
        try call(.setState, parameters.json)
    }

    package func deadLetters(_ parameters: DeadLettersParameters) throws(Failure) -> BrowserReply<DeadLettersReply> {
        try call(.deadLetters, parameters.json)
    }

    package func status() throws(Failure) -> BrowserReply<DaemonStatus> {
        try call(.status, Array("{}".utf8))
    }

    package func flush(_ parameters: FlushParameters) throws(Failure) -> BrowserReply<FlushReply> {
        try call(.flush, parameters.json, timeout: Self.timeout(for: parameters.timeout))
    }

    package func await(_ parameters: AwaitParameters) throws(Failure) -> BrowserReply<AwaitReply> {
        try call(.await, parameters.json, timeout: Self.timeout(for: parameters.timeout))
    }

    /// New records as they come, until the receiver throws or the daemon ends.
    package func follow(
        _ parameters: RecordsParameters, receive: (BrowserReply<RecordsReply>) throws(Failure) -> Void
    ) throws(Failure) {
        try stream(.records, parameters.json, receive: receive)
    }

    /// Has something done that takes long, and answers the last reply; the ones before say how far it is.
    package func order<Reply>(
        _ method: CollectorMethod, _ parameters: [UInt8], progress: (Reply) -> Void = { _ in }
    ) throws(Failure) -> BrowserReply<Reply> {
        var last: BrowserReply<Reply>?
        try stream(method, parameters) { (answer: BrowserReply<Reply>) throws(Failure) in
            if let last { progress(last.value) }
            last = answer
        }
        guard let last else { throw failing(.malformed("it is missing")) }
        return last
    }

    /// Has the daemon copy its store, and returns the copy as an open file.
    ///
    /// - Returns: The last reply, and the file: nil if the daemon is too old to pass one.
    package func backup(
        progress: (BackupReply) -> Void
    ) throws(Failure) -> (answer: BrowserReply<BackupReply>, file: PassedFile?) {
        var last: BrowserReply<BackupReply>?
        let parameters = BackupParameters(descriptor: true).json
        let file = try stream(.backup, parameters, takesFile: true) {
            (answer: BrowserReply<BackupReply>) throws(Failure) in
            if let last { progress(last.value) }
            last = answer
        }
        guard let last else { throw failing(.malformed("it is missing")) }
        return (last, last.value.descriptor == 0 ? file : nil)
    }

    /// The failure for an answer that can be read and makes no sense.
    package func invalid(_ reason: String) -> Failure {
        failing(.malformed(reason))
    }

    @discardableResult
    private func stream<Reply>(
        _ method: CollectorMethod, _ parameters: [UInt8], takesFile: Bool = false,
        receive: (BrowserReply<Reply>) throws(Failure) -> Void
    ) throws(Failure) -> PassedFile? {
        var failure: Failure?
        let file: PassedFile?
        do throws(CollectorConnectionError) {
            file = try link.stream(method, parameters: parameters, takesFile: takesFile) { json in
                do throws(Failure) {
                    try receive(try answer(json))
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
        } catch {
            throw failing(error)
        }
        if let failure { throw failure }
        return file
    }

    private func call<Reply>(
        _ method: CollectorMethod, _ parameters: [UInt8], timeout: Duration = Self.timeout
    ) throws(Failure) -> BrowserReply<Reply> {
        let json: [UInt8]
        do throws(CollectorConnectionError) {
            json = try link.call(method, parameters: parameters, timeout: timeout)
        } catch {
            throw failing(error)
        }
        return try answer(json)
    }

    private func answer<Reply>(_ json: [UInt8]) throws(Failure) -> BrowserReply<Reply> {
        do throws(CollectorConnectionError) {
            return try BrowserReply(json)
        } catch {
            throw failing(error)
        }
    }

    // The daemon keeps the time itself; what is added is for its answer to arrive.
    private static func timeout(for timeout: Duration?) -> Duration {
        (timeout ?? .seconds(30)) + .seconds(15)
    }
}

/// The way of a question to the daemon: calls go out and replies come back, both as the JSON of their parameters.
///
/// JSON on purpose, not values: who prints what the daemon said prints fields
/// too that only a newer one knows.
package protocol BrowserLink: AnyObject {
    /// Calls a method and waits for its reply.
    func call(
        _ method: CollectorMethod, parameters: [UInt8], timeout: Duration
    ) throws(CollectorConnectionError) -> [UInt8]

    /// Calls with `more`, and hands over each reply, however late, until there is none or the receiver answers false.
    ///
    /// - Parameter takesFile: `true` to keep the open file that comes along with the replies; otherwise it is closed.
    /// - Returns: That file, if one came.
    func stream(
        _ method: CollectorMethod, parameters: [UInt8], takesFile: Bool, receive: ([UInt8]) -> Bool
    ) throws(CollectorConnectionError) -> PassedFile?
}

/// Opens the way to the socket that was named, or to the first that answers.
package typealias BrowserLinking = (String?) throws(CollectorConnectionError) -> any BrowserLink

/// A reply in both forms: as the daemon wrote it, and as values.
package struct BrowserReply<Value: JSONCodable> {
    package var json: [UInt8]
    package var value: Value

    package init(_ json: [UInt8]) throws(CollectorConnectionError) {
        self.json = json
        do throws(FieldError) {
            value = try Value(json: json)
        } catch {
            throw .malformed("\(error)")
        }
    }

    /// The elements of an array in the reply, each as the daemon wrote it.
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

/// The way to the daemon over its socket.
package final class SocketLink: BrowserLink {
    private var connection: CollectorConnection

    /// Connects to the socket that was named, or to the first that answers in the usual places.
    package init(_ path: String?) throws(CollectorConnectionError) {
        connection = try CollectorConnection(
            paths: path.map { [$0] } ?? SocketPath.search(), trust: .socket(path))
    }

    package func call(
        _ method: CollectorMethod, parameters: [UInt8], timeout: Duration
    ) throws(CollectorConnectionError) -> [UInt8] {
        try connection.call(method.fullName, json: parameters, timeout: timeout)
    }

    package func stream(
        _ method: CollectorMethod, parameters: [UInt8], takesFile: Bool, receive: ([UInt8]) -> Bool
    ) throws(CollectorConnectionError) -> PassedFile? {
        guard takesFile else {
            try connection.stream(method.fullName, json: parameters, timeout: nil, onReply: receive)
            return nil
        }
        switch try connection.streamTakingFile(method.fullName, json: parameters, timeout: nil, onReply: receive) {
        case .some(let file): return PassedFile(file)
        case .none: return nil
        }
    }
}

/// An open file that the daemon has passed along with a reply.
///
/// It is whatever the other side has opened: look at its status before it is read.
package final class PassedFile: Sendable {
    package let descriptor: FileDescriptor

    package init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }
}
