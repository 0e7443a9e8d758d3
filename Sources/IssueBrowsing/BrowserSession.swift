package import IssueProtocol
package import Issues
package import UnixIO

/// Sequential queries of a command on one connection to the daemon. Each one blocks until its reply arrives.
///
/// Tasks use ``IssueBrowser`` instead. `Failure` is the error type of the command.
package struct BrowserSession<Failure: Error> {
    private let link: any BrowserLink
    private let failing: (CollectorConnectionError) -> Failure
    /// The timeout for an ordinary reply.
    private let timeout: Duration

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - link: The connection to the daemon.
    ///   - timeout: The timeout for an ordinary reply.
    ///   - failing: Converts an error of the connection.
    package init(
        link: any BrowserLink, timeout: Duration = .seconds(45),
        failing: @escaping (CollectorConnectionError) -> Failure
    ) {
        self.link = link
        self.timeout = timeout
        self.failing = failing
    }

    /// Returns a page of groups.
    package func list(_ parameters: ListParameters) throws(Failure) -> BrowserReply<ListReply> {
        try call(.list, parameters.json)
    }

    /// Returns a page of records.
    package func records(_ parameters: RecordsParameters) throws(Failure) -> BrowserReply<RecordsReply> {
        try call(.records, parameters.json)
    }

    /// Returns a record or a group by its id.
    package func show(_ id: String) throws(Failure) -> BrowserReply<IssueDetails> {
        try call(.show, ShowParameters(id: id).json)
    }

    /// Returns counts of records over time.
    package func histogram(_ parameters: HistogramParameters) throws(Failure) -> BrowserReply<HistogramReply> {
        try call(.histogram, parameters.json)
    }

    /// Changes the state of a group and returns it.
    package func setState(_ parameters: SetStateParameters) throws(Failure) -> BrowserReply<SetStateReply> {
        try call(.setState, parameters.json)
    }

    /// Declares a deployment.
    package func deploy(_ parameters: DeployParameters) throws(Failure) -> BrowserReply<DeployReply> {
        try call(.deploy, parameters.json)
    }

    /// Removes a declared deployment and returns it.
    package func removeDeployment(
        _ parameters: RemoveDeploymentParameters
    ) throws(Failure) -> BrowserReply<DeployReply> {
        try call(.removeDeployment, parameters.json)
    }

    /// Returns a page of deployments.
    package func deployments(_ parameters: DeploymentsParameters) throws(Failure) -> BrowserReply<DeploymentsReply> {
        try call(.deployments, parameters.json)
    }

    /// Merges groups into another one.
    package func mergeGroups(_ parameters: MergeGroupsParameters) throws(Failure) -> BrowserReply<MergeGroupsReply> {
        try call(.mergeGroups, parameters.json)
    }

    /// Takes records out of a group, or undoes the merges into it.
    package func splitGroup(_ parameters: SplitGroupParameters) throws(Failure) -> BrowserReply<SplitGroupReply> {
        try call(.splitGroup, parameters.json)
    }

    /// Gives the records of each value of a field a group of their own.
    package func splitByField(
        _ parameters: SplitByFieldParameters
    ) throws(Failure) -> BrowserReply<SplitByFieldReply> {
        try call(.splitByField, parameters.json)
    }

    /// Merges all groups that match a pattern into one, including future groups.
    package func addGroupRule(_ parameters: AddGroupRuleParameters) throws(Failure) -> BrowserReply<MergeGroupsReply> {
        try call(.addGroupRule, parameters.json)
    }

    /// Returns the corrections of the grouping.
    package func corrections(_ parameters: CorrectionsParameters) throws(Failure) -> BrowserReply<CorrectionsReply> {
        try call(.corrections, parameters.json)
    }

    /// Undoes a correction of the grouping.
    package func undoCorrection(_ id: Int64) throws(Failure) -> BrowserReply<UndoCorrectionReply> {
        try call(.undoCorrection, UndoCorrectionParameters(id: id).json)
    }

    /// Returns why a record is in its group.
    package func explain(_ id: String) throws(Failure) -> BrowserReply<GroupExplanation> {
        try call(.explain, ShowParameters(id: id).json)
    }

    /// Returns what would become of a record.
    package func explain(
        _ parameters: ExplainRecordParameters
    ) throws(Failure) -> BrowserReply<RecordForecast> {
        try call(.explainRecord, parameters.json)
    }

    /// Returns groups that may be the same issue.
    package func suggestMerges(
        _ parameters: SuggestMergesParameters
    ) throws(Failure) -> BrowserReply<SuggestMergesReply> {
        try call(.suggestMerges, parameters.json)
    }

    /// Returns a page of dead letters.
    package func deadLetters(_ parameters: DeadLettersParameters) throws(Failure) -> BrowserReply<DeadLettersReply> {
        try call(.deadLetters, parameters.json)
    }

    /// Returns the status of the daemon.
    ///
    /// - Parameter timeout: The maximum time to wait for the reply; nil for that of ordinary replies.
    package func status(timeout: Duration? = nil) throws(Failure) -> BrowserReply<DaemonStatus> {
        try call(.status, Array("{}".utf8), timeout: timeout)
    }

    /// Returns the state of the limits.
    package func limits() throws(Failure) -> BrowserReply<LimitsReply> {
        try call(.limits, Array("{}".utf8))
    }

    /// Returns what is stored, and which records retention removes next.
    package func retention() throws(Failure) -> BrowserReply<RetentionReply> {
        try call(.retention, Array("{}".utf8))
    }

    /// Forwards pending records now, and returns when they have fates or after the timeout.
    package func flush(_ parameters: FlushParameters) throws(Failure) -> BrowserReply<FlushReply> {
        try call(.flush, parameters.json, timeout: parameters.replyTimeout)
    }

    /// Sends a test message to a notifier.
    package func testNotifier(
        _ parameters: TestNotifierParameters
    ) throws(Failure) -> BrowserReply<TestNotifierReply> {
        try call(.testNotifier, parameters.json)
    }

    /// Returns the silences in effect.
    package func silences() throws(Failure) -> BrowserReply<SilencesReply> {
        try call(.listSilences, Array("{}".utf8))
    }

    /// Adds a silence and returns it.
    package func add(_ silence: IssueSilence) throws(Failure) -> BrowserReply<AddSilenceMessage> {
        try call(.addSilence, AddSilenceMessage(silence: silence).json)
    }

    /// Ends a silence and returns the others.
    package func endSilence(_ id: String) throws(Failure) -> BrowserReply<SilencesReply> {
        try call(.endSilence, EndSilenceParameters(id: id).json)
    }

    /// Passes new records to `receive` until it throws or the daemon stops.
    package func follow(
        _ parameters: RecordsParameters, receive: (BrowserReply<RecordsReply>) throws(Failure) -> Void
    ) throws(Failure) {
        try stream(.records, parameters.json, receive: receive)
    }

    /// Runs a long operation and returns its last reply. Parameters are JSON; `progress` receives each reply before the
    /// last.
    package func order<Reply>(
        _ method: CollectorMethod, _ parameters: [UInt8], progress: (Reply) -> Void = { _ in }
    ) throws(Failure) -> BrowserReply<Reply> {
        var last: BrowserReply<Reply>?
        try stream(method, parameters) { (answer: BrowserReply<Reply>) throws(Failure) in
            if let last { progress(last.value) }
            last = answer
        }
        guard let last else { throw failing(.malformed("it is empty")) }
        return last
    }

    /// Lets the daemon copy its store, and returns the copy as an open file.
    ///
    /// - Parameter progress: Receives each reply before the last one.
    /// - Returns: The last reply and the file. The file is nil if the daemon is too old to pass one.
    package func backup(
        progress: (BackupReply) -> Void
    ) throws(Failure) -> (answer: BrowserReply<BackupReply>, file: PassedFile?) {
        var last: BrowserReply<BackupReply>?
        let parameters = BackupParameters(descriptor: true).json
        let file = try stream(.backup, parameters, receivesFile: true) {
            (answer: BrowserReply<BackupReply>) throws(Failure) in
            if let last { progress(last.value) }
            last = answer
        }
        guard let last else { throw failing(.malformed("it is empty")) }
        return (last, last.value.descriptor == 0 ? file : nil)
    }

    /// Returns the failure for a reply that is well-formed but invalid.
    package func invalid(_ reason: String) -> Failure {
        failing(.malformed(reason))
    }

    @discardableResult
    private func stream<Reply>(
        _ method: CollectorMethod, _ parameters: [UInt8], receivesFile: Bool = false,
        receive: (BrowserReply<Reply>) throws(Failure) -> Void
    ) throws(Failure) -> PassedFile? {
        var failure: Failure?
        let file: PassedFile?
        do throws(CollectorConnectionError) {
            file = try link.stream(method, parameters: parameters, receivesFile: receivesFile) { json in
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
        _ method: CollectorMethod, _ parameters: [UInt8], timeout: Duration? = nil
    ) throws(Failure) -> BrowserReply<Reply> {
        let json: [UInt8]
        do throws(CollectorConnectionError) {
            json = try link.call(method, parameters: parameters, timeout: timeout ?? self.timeout)
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
}

extension FlushParameters {
    /// The timeout for the reply. The daemon applies the timeout itself; the extra time is for its reply to arrive.
    var replyTimeout: Duration { (timeout ?? .seconds(30)) + .seconds(3) }
}

/// A connection to the daemon. It sends calls and receives replies as the JSON of their parameters.
///
/// JSON rather than values, so that a command that prints replies includes fields that only a newer daemon knows.
package protocol BrowserLink: AnyObject {
    /// Calls a method and returns its reply, or throws if the reply takes longer than `timeout`. Parameters are JSON.
    func call(
        _ method: CollectorMethod, parameters: [UInt8], timeout: Duration
    ) throws(CollectorConnectionError) -> [UInt8]

    /// Calls a method with `more` and passes each reply to `receive`, without a timeout, until the last one.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - parameters: The parameters as JSON.
    ///   - receivesFile: Whether to keep a file descriptor that is passed with the replies. Otherwise it is closed.
    ///   - receive: Receives a reply as JSON. Returns false to stop.
    /// - Returns: The passed file; nil if there is none.
    func stream(
        _ method: CollectorMethod, parameters: [UInt8], receivesFile: Bool, receive: ([UInt8]) -> Bool
    ) throws(CollectorConnectionError) -> PassedFile?

    /// Sets a closure that is called if a reply takes longer than `delay`, once for each call.
    func onDelay(of delay: Duration, _ action: @escaping () -> Void)
}

extension BrowserLink {
    package func onDelay(of delay: Duration, _ action: @escaping () -> Void) {}
}

/// Connects to the given socket, or for nil to the first reachable one of the standard paths.
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

    /// Returns the elements of an array in the reply as the daemon's JSON; none if the reply has no such array.
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

    /// Connects to the given socket, or for nil to the first reachable one of the standard paths.
    package init(_ path: String?) throws(CollectorConnectionError) {
        connection = try CollectorConnection(
            paths: path.map { [$0] } ?? SocketPath.search(), trust: .socket(path))
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
        guard receivesFile else {
            try connection.stream(method.fullName, json: parameters, timeout: nil, onReply: receive)
            return nil
        }
        switch try connection.streamTakingFile(method.fullName, json: parameters, timeout: nil, onReply: receive) {
        case .some(let file): return PassedFile(file)
        case .none: return nil
        }
    }
}
