import IssueCore
import IssueProtocol
import IssueStore

/// The part of a connection that changes when calls are read and reports are answered.
///
/// It is a struct, so that a run of reports is read with a single access to the connection object. A separate access to
/// each property would cost as much as decoding a field of a record.
struct ConnectionIntake {
    var state = ConnectionState()
    var frames: FrameDecoder
    /// The records that were decoded but not handed to the writer yet.
    private(set) var batch = RecordBatch()
    /// The reports that contain the records in `batch`.
    private(set) var calls: [ReportCall] = []
    var replies = ReplyQueue()
    /// The tokens of calls that want no reply.
    var silent: Set<UInt64> = []
    /// Refuses numbered reports after a refused one until that one is resent, so that no number is skipped.
    var numbers = NumberGate()

    /// The number of records in `batch` at which they are handed to the writer.
    static let maxGathered = WriterService.maxRecords / 8

    init(messageBytes: Int) {
        frames = FrameDecoder(limit: messageBytes)
    }

    // MARK: Reading

    /// What reading a run of calls has changed.
    struct Counts {
        /// The size of the reports that have begun, in bytes, as counted against the user's limit.
        var bytes = 0
        /// The number of reports that have begun.
        var reports = 0
        var rejectedRecords = 0
        /// The number of records in reports that were refused with an error. A report that can't be read counts as one
        /// record.
        var refusedRecords = 0
    }

    /// Why `readCalls` stopped.
    enum Stop {
        /// All complete messages were read.
        case noMessage
        /// A limit was reached. There may be more messages.
        case limit
        /// A call is held until earlier ones are answered, or was dropped because the connection ends.
        case held
        /// A query has begun.
        case query(Range<Int>, VarlinkCall.Envelope)
        /// The connection must end with this error.
        case invalid(CollectorError)
    }

    /// Whether there are calls that were received but have not begun.
    var hasCalls: Bool { state.held != nil || !frames.wantsBytes }

    /// Whether the gathered reports must be handed to the writer before others are read.
    var isFull: Bool { batch.records.count >= Self.maxGathered }

    /// Reads the calls that were received, and decodes the reports among them into the batch.
    ///
    /// - Parameters:
    ///   - reader: Decodes the reports. It is passed inout, because an access through the loop for each report is
    ///     costly.
    ///   - room: No further call begins once `counts.bytes` exceeds this number.
    ///   - maxQueryBytes: The maximum size of a message other than a report.
    ///   - counts: Receives what has changed.
    /// - Returns: Why reading stopped.
    mutating func readCalls(
        with reader: inout ReportReader, upTo room: Int, maxQueryBytes: Int, _ counts: inout Counts
    ) -> Stop {
        let mayReport = state.mayReport
        var isHeld = state.held != nil
        // The number of reports that have begun since the state was last updated.
        var begun = 0
        defer { if begun > 0 { state.reportsBegan(begun) } }
        do throws(CollectorError) {
            while counts.bytes <= room, !isFull {
                guard let message = isHeld ? state.takeHeld() : try nextMessage() else { return .noMessage }
                isHeld = false
                var envelope: VarlinkCall.Envelope?
                if !ReportReader.hasDefaultStart(frames[message]) {
                    let scanned = try scan(message)
                    guard CollectorMethod(scanned, in: frames[message]) == .report else {
                        if begun > 0 { state.reportsBegan(begun) }
                        begun = 0
                        return try begin(message, scanned, maxBytes: maxQueryBytes)
                    }
                    envelope = scanned
                }
                guard mayReport else {
                    state.hold(message)
                    return .held
                }
                if try read(message, envelope, with: &reader, &counts) { begun += 1 }
            }
        } catch {
            return .invalid(error)
        }
        return .limit
    }

    private mutating func nextMessage() throws(CollectorError) -> Range<Int>? {
        do throws(FrameError) {
            return try frames.next()
        } catch {
            throw .tooLarge(limit: frames.limit)
        }
    }

    /// Parses a call except for its parameters. If that fails, replaces escapes of lone surrogates and tries again.
    ///
    /// - Throws: The error with which the connection must end, if the message is not a call.
    private mutating func scan(_ message: Range<Int>) throws(CollectorError) -> VarlinkCall.Envelope {
        do throws(CollectorError) {
            return try Self.scan(message, of: frames)
        } catch {
            guard frames.replaceLoneSurrogates(in: message) else { throw error }
            return try Self.scan(message, of: frames)
        }
    }

    private static func scan(
        _ message: Range<Int>, of frames: borrowing FrameDecoder
    ) throws(CollectorError) -> VarlinkCall.Envelope {
        do throws(VarlinkError) {
            return try VarlinkCall.Envelope(scanning: frames[message])
        } catch {
            switch error {
            case .malformed: throw .invalidParameter("call")
            case .invalid(let field): throw .invalidParameter(field.field.isEmpty ? "call" : field.field)
            }
        }
    }

    /// Begins, holds or drops a call other than a report.
    ///
    /// - Throws: The error with which the connection must end.
    private mutating func begin(
        _ message: Range<Int>, _ envelope: VarlinkCall.Envelope, maxBytes: Int
    ) throws(CollectorError) -> Stop {
        guard message.count <= maxBytes else { throw .tooLarge(limit: maxBytes) }
        switch state.queryArrived(message, token: replies.nextToken) {
        case .begin:
            let token = replies.open()
            if envelope.oneway { silent.insert(token) }
            return .query(message, envelope)
        case .hold, .drop: return .held
        }
    }

    /// Returns the full name of a query's method, and its parameters as JSON.
    func query(_ message: Range<Int>, _ envelope: VarlinkCall.Envelope) -> (method: String, parameters: [UInt8]) {
        let text = frames[message]
        return (JSONScanner(text).string(envelope.method), text.json(in: envelope.parameters))
    }

    /// Reads one report. Refuses it if it can't be decoded, or if it would leave a gap in the numbers of its producer.
    ///
    /// - Parameter envelope: nil if `ReportReader.hasDefaultStart(_:)` is true for the message.
    /// - Returns: `true` if the report has begun.
    /// - Throws: The error with which the connection must end, if the message is not a call.
    @inline(__always)
    private mutating func read(
        _ message: Range<Int>, _ envelope: VarlinkCall.Envelope?, with reader: inout ReportReader,
        _ counts: inout Counts
    ) throws(CollectorError) -> Bool {
        let before = (records: batch.records.count, bytes: batch.bytes.count)
        var records = 1
        do throws(CollectorError) {
            let report = try Self.decode(
                message, of: frames, envelope, token: replies.nextToken, with: &reader, into: &batch)
            records = max(1, report.call.records.count)
            if let sequence = report.call.numbering?.sequence, !numbers.accepts(sequence) {
                throw .busy(retryAfter: .milliseconds(100))
            }
            let size = message.count + Self.weight(of: report.call)
            _ = replies.open(size: size)
            counts.bytes += size
            counts.reports += 1
            counts.rejectedRecords += report.call.rejected.count
            if report.oneway { silent.insert(report.call.token) }
            add(report.call)
            return true
        } catch {
            batch.truncate(records: before.records, bytes: before.bytes)
            if frames.replaceLoneSurrogates(in: message) { return try read(message, envelope, with: &reader, &counts) }
            counts.refusedRecords += records
            try refuse(message, envelope, error)
            return false
        }
    }

    /// Decodes a report in a single pass if possible. Otherwise decodes first its envelope and then its parameters.
    ///
    /// - Throws: The error with which the report is refused, or with which the connection must end if the message is
    ///   not a call.
    @inline(__always)
    private static func decode(
        _ message: Range<Int>, of frames: borrowing FrameDecoder, _ envelope: VarlinkCall.Envelope?, token: UInt64,
        with reader: inout ReportReader, into batch: inout RecordBatch
    ) throws(CollectorError) -> ReportReader.Report {
        if envelope == nil, let report = try reader.readInOnePass(frames[message], token: token, into: &batch) {
            return report
        }
        let envelope = if let envelope { envelope } else { try scan(message, of: frames) }
        guard let parameters = envelope.parameters else { throw .invalidParameter("records") }
        let call = try reader.read(frames[parameters.moved(by: message.lowerBound)], token: token, into: &batch)
        return ReportReader.Report(call: call, oneway: envelope.oneway)
    }

    /// Adds a decoded call, merging it with the previous one if possible.
    @inline(__always)
    private mutating func add(_ call: borrowing ReportCall) {
        let last = calls.count - 1
        if last < 0 || !calls[last].join(call) { calls.append(copy call) }
    }

    /// Returns the memory that a call needs in addition to its text, in bytes. The reply to a rejected record of two
    /// bytes can take a hundred bytes, and a short record is smaller than its decoded form.
    private static func weight(of call: borrowing ReportCall) -> Int {
        100 * call.rejected.count + MemoryLayout<DecodedRecord>.stride * call.records.count
    }

    /// Refuses a report with an error. If it is numbered, later numbered reports are refused until it is resent.
    ///
    /// - Throws: The error with which the connection must end, if the message is not a call.
    private mutating func refuse(
        _ message: Range<Int>, _ envelope: VarlinkCall.Envelope?, _ error: CollectorError
    ) throws(CollectorError) {
        let envelope = if let envelope { envelope } else { try Self.scan(message, of: frames) }
        if let parameters = envelope.parameters,
            let sequence = ReportReader.sequence(in: frames[parameters.moved(by: message.lowerBound)])
        {
            numbers.refused(sequence)
        }
        state.receivedMessage()
        let token = replies.open()
        replies.close(token) { if !envelope.oneway { $0.append(contentsOf: error.reply.message) } }
    }

    /// Handles the incomplete message, if one is left after reading. If the message is larger than `maxQueryBytes` and
    /// begins like a call other than a report, the connection must end.
    ///
    /// - Parameter now: The current time. Evaluated only for the first part of a message.
    /// - Returns: The error with which the connection must end; nil if there is none.
    mutating func keepPartialMessage(maxQueryBytes: Int, at now: @autoclosure () -> MonotonicInstant)
        -> CollectorError?
    {
        guard state.mayReceive else { return nil }
        guard frames.hasPartialFrame else {
            // Either nothing is left, or complete messages that may not begin yet.
            state.receivedMessage()
            return nil
        }
        if state.partialSince == nil { state.receivedPart(at: now()) }
        guard frames.pendingCount > maxQueryBytes, !state.isReceivingReport else { return nil }
        let message = frames.partialFrame
        if ReportReader.hasDefaultStart(frames[message]) {
            state.recognisedReport()
            return nil
        }
        guard let method = CollectorMethod.method(ofMessageBeginningWith: frames[message]) else { return nil }
        guard method == .report else { return .tooLarge(limit: maxQueryBytes) }
        state.recognisedReport()
        return nil
    }

    /// The number of bytes that were received but belong to no call that has begun.
    var receivedBytes: Int { frames.pendingCount + (state.held?.count ?? 0) }

    /// Gives the shared buffer back to the loop, and releases memory that the received bytes do not need.
    mutating func settle(_ readBuffer: inout [UInt8]) {
        let distance = frames.giveBack(&readBuffer, keepingFrom: state.held?.lowerBound)
        if distance > 0 { state.moved(by: distance) }
        // No further calls begin, so the received bytes are not needed.
        if !state.isOpen { frames = FrameDecoder(limit: frames.limit) }
    }

    // MARK: Handing over and answering

    /// Hands the decoded reports to the writer.
    ///
    /// - Parameter submit: Submits the reports, and returns an empty batch for those that follow.
    mutating func submit(of process: ReportingProcess, _ submit: (Submission) -> RecordBatch) {
        guard !calls.isEmpty else { return }
        batch = submit(Submission(process: process, batch: batch, calls: calls))
        calls = []
    }

    /// Writes the replies to committed reports, except to those for which the client wants no reply.
    ///
    /// - Parameters:
    ///   - outcomes: The outcomes of commits, including those for other connections.
    ///   - range: The range of this connection's outcomes.
    /// - Returns: The bytes that the reports no longer use, and whether a held call may begin now.
    mutating func answer(
        _ outcomes: [CallOutcome], _ range: Range<Int>, with receipts: inout ReceiptWriter
    ) -> (bytes: Int, action: ConnectionState.AnsweredAction) {
        var (bytes, count) = (0, 0)
        for index in range {
            let outcome = outcomes[index]
            for call in 0..<outcome.calls {
                let token = outcome.token &+ UInt64(call)
                let isSilent = !silent.isEmpty && silent.remove(token) != nil
                bytes += replies.close(token) { output in
                    if !isSilent { receipts.append(outcome.receipts, part: call, of: outcome.calls, to: &output) }
                }
            }
            count += outcome.calls
        }
        return (bytes, state.reportsAnswered(count))
    }

    /// Writes the error with which the writer has refused a report, unless the client wants no reply.
    ///
    /// - Returns: The bytes that the report no longer uses, and whether a held call may begin now.
    mutating func refuse(_ refusal: Refusal, _ error: CollectorError) -> (
        bytes: Int, action: ConnectionState.AnsweredAction
    ) {
        if let sequence = refusal.sequence { numbers.refused(sequence) }
        let isSilent = silent.remove(refusal.token) != nil
        let bytes = replies.close(refusal.token) { if !isSilent { $0.append(contentsOf: error.reply.message) } }
        return (bytes, state.reportsAnswered(1))
    }

    /// Ends the query. Writes its last reply, unless the client wants no reply.
    ///
    /// - Returns: `false` if there is no query.
    mutating func finish(_ reply: [UInt8]) -> Bool {
        guard let token = state.queryEnded() else { return false }
        let isSilent = silent.remove(token) != nil
        replies.close(token) { if !isSilent { $0.append(contentsOf: reply) } }
        return true
    }

    /// Writes an error that is not the reply to a call, and stops receiving.
    mutating func end(with error: CollectorError) -> ConnectionState.QueueAction {
        let token = replies.open()
        replies.close(token) { $0.append(contentsOf: error.reply.message) }
        return state.drain()
    }

    /// Releases memory that an idle connection does not need.
    mutating func releaseMemory() {
        replies.releaseMemory()
        // A reused batch keeps the largest capacity that it has needed.
        if calls.isEmpty, batch.bytes.capacity > 16 << 10 || batch.records.capacity > 256 { batch = RecordBatch() }
    }
}

extension Range<Int> {
    fileprivate func moved(by distance: Int) -> Range<Int> { (lowerBound + distance)..<(upperBound + distance) }
}
