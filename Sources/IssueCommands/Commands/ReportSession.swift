import IssueBrowsing
package import IssueProtocol
import Issues
import UnixIO

/// A run of `report`: sends records in batches, and prints the id or the rejection of each record.
struct ReportSession {
    /// The maximum number of records in a call: half of the daemon's limit.
    private static let batchRecords = 500
    /// The maximum size of the records in a call, in bytes: half of the default of `MaxMessageSize=`. The rest is space
    /// for the envelope of the call and for the times that are added to saved records.
    private static let batchBytes = 512 * 1024
    /// The maximum size of a record, in bytes: the default of `MaxRecordSize=`.
    private static let recordBytes = 256 * 1024

    /// The options for sending and output.
    struct SendingOptions {
        /// Whether to print neither ids nor receipts.
        var isQuiet: Bool
        /// Whether to also print each message to standard error.
        var echoes: Bool
        /// The maximum time for each call, including retries.
        var timeout: Duration
        /// Whether to save records that the daemon does not accept in time.
        var spools: Bool
        /// The UUID under which the records are numbered.
        var producer: String
        /// The key that the user chose with `--id`; nil if none.
        var key: String?
    }

    private let context: CommandContext
    private let template: RecordTemplate
    private let options: SendingOptions
    private var link: (any BrowserLink)?
    private var batch: [Entry] = []
    private var batchSize = 0
    /// The sequence number of the next record.
    private var nextNumber: Int64 = 1
    private var receipts: [[UInt8]] = []
    /// Whether a record was rejected.
    private var hasRejection = false
    /// Whether there was a message or a line that is not blank.
    private var hasInput = false
    /// The error of the first call whose records were saved because it failed; nil if there is none. After such an
    /// error, further records are saved without an attempt to send them.
    private var spoolingError: CollectorConnectionError?
    /// Whether the daemon may have stored the records of the latest call without confirming them.
    private var mayBeStored = false
    /// Whether writing to standard output has failed. Reporting continues.
    private var hasOutputFailed = false

    /// A record to send, and the time at which it was read.
    private struct Entry {
        /// The number of the input line; nil for a message of the command line.
        var line: Int?
        var json: [UInt8]
        var time: IssueTimestamp
    }

    init(context: CommandContext, template: RecordTemplate, options: SendingOptions) {
        self.context = context
        self.template = template
        self.options = options
    }

    /// Connects to the daemon, so that an unreachable daemon is reported before input is read.
    mutating func begin() throws(CommandFailure) {
        do throws(CollectorConnectionError) {
            link = try context.connect()
        } catch {
            guard options.spools, error.isTemporary else { throw failureWithHint(error) }
            // Each call connects again and handles the failure.
        }
    }

    /// Reports one message.
    mutating func report(message: String) throws(CommandFailure) {
        hasInput = true
        try add(template.record(message: message), line: nil)
        try send()
    }

    /// Reports the lines of the input as soon as they are complete.
    ///
    /// - Parameter areAllJSON: Whether to reject lines that are not JSON objects instead of reporting them as messages.
    mutating func report(linesOf input: any CommandInput, areAllJSON: Bool) throws(CommandFailure) {
        var reader = LineReader(input, limit: Self.recordBytes)
        while let lines = reader.next() {
            for line in lines { try process(line, isJSON: areAllJSON) }
            try send()
        }
    }

    /// Prints the remaining output. If a record was rejected, throws an error without a message, because the reason has
    /// been printed already.
    mutating func finish() throws(CommandFailure) {
        if !hasInput, !options.isQuiet { context.warn("standard input is empty or blank: nothing was reported") }
        if context.format == .json, !options.isQuiet { output(PrettyJSON.document("receipts", receipts)) }
        if hasRejection { throw CommandFailure(.refused, nil) }
    }

    /// Prints the receipts so far as a JSON document, after a call has failed.
    mutating func printReceipts() {
        if context.format == .json, !options.isQuiet, !receipts.isEmpty {
            output(PrettyJSON.document("receipts", receipts))
        }
    }

    private mutating func process(_ line: LineReader.Line, isJSON: Bool) throws(CommandFailure) {
        guard let bytes = line.bytes else {
            hasInput = true
            return try reject("longer than \(Quantity.bytes(Int64(Self.recordBytes)))", line: line.number)
        }
        guard bytes.contains(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }) else { return }
        hasInput = true
        guard isJSON || bytes.first == UInt8(ascii: "{") else { return try add(plain(bytes), line: line.number) }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(json: bytes)
        } catch {
            guard isJSON else { return try add(plain(bytes), line: line.number) }
            return try reject("\(error)", line: line.number)
        }
        guard let members = value.asObject else { return try reject("not a JSON object", line: line.number) }
        // Without --json-lines, JSON that is not a record is treated as plain text.
        let isRecord = isJSON || value["message"]?.asString != nil
        try add(isRecord ? template.record(completing: members) : plain(bytes), line: line.number)
    }

    private func plain(_ bytes: [UInt8]) -> JSONValue {
        template.record(message: String(decoding: bytes, as: UTF8.self))
    }

    private mutating func add(_ record: JSONValue, line: Int?) throws(CommandFailure) {
        let json = record.json
        guard json.count <= Self.recordBytes else {
            return try reject("longer than \(Quantity.bytes(Int64(Self.recordBytes)))", line: line)
        }
        if options.echoes, let message = record["message"]?.asString {
            let app = record["app"]?["name"]?.asString.map { "\($0): " } ?? ""
            context.output.writeError(Array((TerminalSanitizer.line(app + message) + "\n").utf8))
        }
        if batch.count == Self.batchRecords || batchSize + json.count > Self.batchBytes { try send() }
        batch.append(Entry(line: line, json: json, time: context.reporting.now()))
        batchSize += json.count + 1
    }

    private mutating func send() throws(CommandFailure) {
        guard !batch.isEmpty else { return }
        let entries = batch
        batch = []
        batchSize = 0
        let sequence = nextNumber
        nextNumber += Int64(entries.count)
        if let spoolingError {
            mayBeStored = false
            return try spool(entries, from: sequence, because: spoolingError)
        }
        let answer: BrowserReply<ReportReply>
        do throws(CollectorConnectionError) {
            answer = try BrowserReply(try exchange(parameters(entries.map(\.json), from: sequence)))
        } catch {
            guard options.spools, error.isTemporary else { throw failure(error, entries) }
            return try spool(entries, from: sequence, because: error)
        }
        let elements = answer.elements(of: "receipts")
        guard elements.count == entries.count, answer.value.receipts.count == entries.count else {
            throw CommandFailure(
                .malformed(
                    "\(Quantity.text(elements.count, "receipt")) for \(Quantity.text(entries.count, "record"))"))
        }
        for (index, receipt) in answer.value.receipts.enumerated() {
            show(receipt, elements[index], line: entries[index].line)
        }
    }

    /// Calls `Report`. Until the timeout, repeats the call if the daemon is busy, has no space or has disconnected.
    ///
    /// Repeating the call is safe: the records are numbered, and the daemon does not store a number twice.
    private mutating func exchange(_ parameters: [UInt8]) throws(CollectorConnectionError) -> [UInt8] {
        let clock = context.reporting
        let deadline = clock.elapsed() + options.timeout
        mayBeStored = false
        while true {
            let failure: CollectorConnectionError
            let pause: Duration
            do throws(CollectorConnectionError) {
                return try connection().call(
                    .report, parameters: parameters, timeout: max(.milliseconds(1), deadline - clock.elapsed()))
            } catch {
                failure = error
                switch error {
                case .refused(.busy(let delay)): pause = max(delay, .milliseconds(10))
                case .refused(.noSpace): pause = .seconds(1)
                case .timedOut:
                    link = nil
                    mayBeStored = true
                    throw error
                case .closed:
                    link = nil
                    mayBeStored = true
                    pause = .milliseconds(100)
                // After a lost connection, the daemon may be restarting.
                case .unreachable where mayBeStored: pause = .milliseconds(100)
                default: throw error
                }
            }
            guard clock.elapsed() + pause < deadline else { throw failure }
            clock.sleep(pause)
        }
    }

    private mutating func connection() throws(CollectorConnectionError) -> any BrowserLink {
        if let link { return link }
        let made = try context.connect()
        link = made
        return made
    }

    private func parameters(_ records: [[UInt8]], from sequence: Int64) -> [UInt8] {
        var writer = JSONWriter()
        writer.openObject()
        writer.key("records")
        writer.openArray()
        // Written as raw JSON, so that unknown members are preserved.
        for record in records { writer.raw(record) }
        writer.closeArray()
        writer.member("producer", options.producer)
        writer.member("sequence", sequence)
        writer.closeObject()
        return writer.bytes
    }

    // MARK: Spooling

    /// Saves records with their numbers, so that a later program can send them.
    private mutating func spool(
        _ entries: [Entry], from sequence: Int64, because error: CollectorConnectionError
    ) throws(CommandFailure) {
        // The records may be sent much later. A record without a time gets the time at which it was read.
        let records = entries.map { entry -> [UInt8] in
            guard let value = try? JSONValue(json: entry.json), let members = value.asObject,
                value["occurred_at"]?.isNull ?? true
            else { return entry.json }
            let others = members.filter { $0.key != "occurred_at" }
            return JSONValue.object(others + [.init("occurred_at", .string(entry.time.description))]).json
        }
        let call = VarlinkCall(
            method: CollectorMethod.report.fullName, parameters: parameters(records, from: sequence))
        let folder: String
        do throws(SpillFailure) {
            folder = try context.reporting.keep(call.message, options.producer, sequence)
        } catch let unsaved {
            let unsent = failure(error, entries)
            throw CommandFailure(
                unsent.code, "the report could not be sent or saved: \(unsaved.reason); \(unsent.message ?? "")")
        }
        for _ in entries { keep(Self.spooled) }
        if spoolingError == nil {
            spoolingError = error
            let what = entries.contains { $0.line != nil } ? "the reports" : "the report"
            let why = CommandFailure(error).message ?? ""
            context.warn(
                "saved \(what) in \(folder), to be sent by your next issuectl command or reporting program; the cause: "
                    + why)
        }
    }

    private static let spooled = Array(#"{"spooled":true}"#.utf8)

    private func failure(_ error: CollectorConnectionError, _ entries: [Entry]) -> CommandFailure {
        var failure = failureWithHint(error)
        if mayBeStored, error.isTemporary {
            let again = options.key == nil ? "--id \(options.producer)" : "the same --id"
            let what =
                switch error {
                case .timedOut: "did not reply"
                case .refused: "did not confirm the report"
                default: "disconnected and did not return"
                }
            failure.code = .tryAgain
            failure.message =
                "the daemon \(what) within \(Self.text(options.timeout)), and may have stored the report: retry with "
                + "\(again) to avoid storing it twice"
        }
        failure.message? += notStored(entries, error)
        return failure
    }

    /// Returns the failure for an error. If the daemon was not reachable, the message suggests `--spool`, unless that
    /// was given or permission was denied.
    private func failureWithHint(_ error: CollectorConnectionError) -> CommandFailure {
        var failure = CommandFailure(error)
        if case .unreachable(_, let reason) = error, reason != .accessDenied, !options.spools {
            failure.message? += "; to save the report and send it later, use --spool"
        }
        return failure
    }

    private static func text(_ time: Duration) -> String {
        let (seconds, attoseconds) = time.components
        return attoseconds == 0 ? "\(seconds) s" : "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000) ms"
    }

    private mutating func show(_ receipt: RecordReceipt, _ json: [UInt8], line: Int?) {
        switch receipt {
        case .stored(let id): show(id: id)
        case .duplicate(let id): show(id: id ?? "-")
        case .rejected(let field, let reason):
            warnRejected(field.map { "\($0): \(reason)" } ?? reason, line: line)
        }
        keep(json)
    }

    private mutating func show(id: String) {
        if context.format == .human { output(Array(TerminalSanitizer.line(id).utf8)) }
    }

    /// Rejects a message or line without sending it. Earlier lines are sent first, so that receipts keep
    /// the order of the lines.
    private mutating func reject(_ reason: String, line: Int?) throws(CommandFailure) {
        try send()
        warnRejected(reason, line: line)
        keep(RecordReceipt.rejected(field: nil, reason: reason).json)
    }

    private mutating func warnRejected(_ reason: String, line: Int?) {
        hasRejection = true
        context.warn(line.map { "line \($0) was rejected: \(reason)" } ?? "the report was rejected: \(reason)")
    }

    private mutating func keep(_ receipt: [UInt8]) {
        guard !options.isQuiet else { return }
        switch context.format {
        case .human: break
        case .json: receipts.append(receipt)
        case .lines: output(receipt)
        }
    }

    private mutating func output(_ line: [UInt8]) {
        guard !options.isQuiet, !hasOutputFailed else { return }
        hasOutputFailed = !context.output.write(TerminalSafeJSON.escape(line) + [UInt8(ascii: "\n")])
    }

    /// Returns a clause about the lines that are not stored, for the error about a failed call; empty if the records
    /// do not come from lines. After the failure, no further lines are read.
    private func notStored(_ entries: [Entry], _ error: CollectorConnectionError) -> String {
        guard let first = entries.first?.line, let last = entries.last?.line else { return "" }
        var isUncertain = mayBeStored
        if case .malformed = error { isUncertain = true }
        guard isUncertain else { return "; line \(first) and all after it are not stored" }
        let some = first == last ? "line \(first) has no receipt" : "lines \(first) to \(last) have no receipt"
        return "; \(some), and all after line \(last) are not stored"
    }
}

/// What `report` needs from the process besides input and output: clocks, names, and storage for unsent calls.
package struct ReportEnvironment {
    /// Returns the wall clock time.
    package var now: () -> IssueTimestamp
    /// Returns the time of a monotonic clock.
    package var elapsed: () -> Duration
    package var sleep: (Duration) -> Void
    /// Returns a new random UUID.
    package var makeProducer: () -> String
    /// The default application name, see `CallerName`; nil if there is none.
    package var caller: String?
    /// Saves a call. The user's next `issuectl` command or reporting program sends it.
    ///
    /// Takes the encoded call, the producer and the number of the first record. Returns the folder.
    var keep: (_ call: [UInt8], _ producer: String, _ sequence: Int64) throws(SpillFailure) -> String
    /// Sends the calls that earlier runs have kept, to the given socket or to the default ones.
    package var sendSpooled: (_ socket: String?) -> Void
}

extension ReportEnvironment {
    /// The maximum time to send saved calls at the end of a run.
    private static let sendingTime: Duration = .seconds(1)

    /// The environment of this process.
    static func process() -> ReportEnvironment {
        let folder = SpillFolder.standard(application: SpillFolder.commandName)
        let start = MonotonicClock.now
        return ReportEnvironment(
            now: { IssueTimestamp(millisecondsSince1970: WallClock.nowMilliseconds) },
            elapsed: { start.duration(to: MonotonicClock.now) },
            sleep: { time in
                let nothing = Monitor(())
                _ = nothing.wait(deadline: MonotonicClock.now.advanced(by: time)) { _ -> Bool? in nil }
            },
            makeProducer: ProducerName.random, caller: CallerName.ofThisProcess(),
            keep: { (call, producer, sequence) throws(SpillFailure) in
                guard let folder else {
                    throw SpillFailure(
                        "STATE_DIRECTORY, XDG_STATE_HOME and HOME name no folder for unsent reports, or issuectl is "
                            + "privileged")
                }
                // If the call cannot be saved, the user is told now. With `issues: 0`, no later run reports the loss.
                try folder.keep(call, of: producer, from: sequence, issues: 0)
                return folder.path
            },
            sendSpooled: { socket in
                guard let folder, !folder.isEmpty else { return }
                let deadline = MonotonicClock.now.advanced(by: sendingTime)
                SpillSender(
                    folder: folder, sockets: SocketPath.candidates(socket), trust: .socket(socket),
                    deadline: deadline, isStopped: { MonotonicClock.now >= deadline }, pause: { _ in false }
                ).run()
            })
    }
}
