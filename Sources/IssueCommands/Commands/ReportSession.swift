import IssueBrowsing
package import IssueProtocol
import Issues
import UnixIO

/// One run of `report`: gathers records into calls, and says what became of each.
struct ReportSession {
    /// Half of what the daemon takes in one call.
    private static let batchRecords = 500
    /// Half of the largest message, so that its frame and the escapes have room.
    private static let batchBytes = 512 * 1024
    /// The largest record that the daemon takes.
    private static let recordBytes = 256 * 1024

    /// How to send, as the options say.
    struct Manner {
        var isQuiet: Bool
        var echoes: Bool
        /// How long to try for each call.
        var timeout: Duration
        /// Whether what no daemon takes is kept for the next run.
        var spools: Bool
        /// The UUID under which the records are numbered.
        var producer: String
        /// The key that the user has given for it, if any.
        var key: String?
    }

    private let context: CommandContext
    private let template: RecordTemplate
    private let how: Manner
    private var link: (any BrowserLink)?
    private var batch: [Entry] = []
    private var batchSize = 0
    private var nextNumber: Int64 = 1
    private var receipts: [[UInt8]] = []
    private var hasFailed = false
    /// Whether a daemon has taken too long, so that the rest is kept at once.
    private var isSpooling = false
    /// Whether the daemon may have what it has not answered.
    private var mayBeTaken = false
    /// Whether nobody reads our output any more, which is no reason to lose a report.
    private var isUnread = false

    /// A record on its way, the line it stood on, and when that was read.
    private struct Entry {
        var line: Int?
        var json: [UInt8]
        var time: Timestamp
    }

    init(context: CommandContext, template: RecordTemplate, how: Manner) {
        self.context = context
        self.template = template
        self.how = how
    }

    /// Connects, so that a missing daemon is noticed before the input is waited for.
    mutating func begin() throws(CommandFailure) {
        do throws(CollectorConnectionError) {
            link = try context.connect()
        } catch {
            guard how.spools, error.mayPass else { throw CommandFailure(error) }
            // Its own connection, and not this one, decides what becomes of each call.
        }
    }

    /// Reports one message.
    mutating func report(message: String) throws(CommandFailure) {
        try add(template.record(message: message), line: nil)
        try send()
    }

    /// Reports each line of the input, as soon as it is there.
    mutating func report(linesOf input: any CommandInput, areAllJSON: Bool) throws(CommandFailure) {
        var reader = LineReader(input, limit: Self.recordBytes)
        while let lines = reader.next() {
            for line in lines { try take(line, isJSON: areAllJSON) }
            try send()
        }
    }

    /// Prints what is left to print, and says how it went.
    mutating func finish() -> ExitCode {
        if context.format == .json, !how.isQuiet {
            var writer = JSONWriter()
            writer.openObject()
            writer.key("receipts")
            writer.openArray()
            for receipt in receipts { writer.raw(receipt) }
            writer.closeArray()
            writer.closeObject()
            output(writer.bytes)
        }
        return hasFailed ? .refused : .success
    }

    private mutating func take(_ line: LineReader.Line, isJSON: Bool) throws(CommandFailure) {
        guard let bytes = line.bytes else {
            return try reject("longer than \(Quantity.bytes(Int64(Self.recordBytes)))", line: line.number)
        }
        guard bytes.contains(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }) else { return }
        guard isJSON || bytes.first == UInt8(ascii: "{") else { return try add(plain(bytes), line: line.number) }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(json: bytes)
        } catch {
            guard isJSON else { return try add(plain(bytes), line: line.number) }
            return try reject("\(error)", line: line.number)
        }
        guard let members = value.asObject else { return try reject("not a JSON object", line: line.number) }
        // Without --json-lines, what looks like JSON but is no record is a text like any other.
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
        if how.echoes, let message = record["message"]?.asString {
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
        if isSpooling { return try spool(entries, from: sequence, because: nil) }
        let answer: Answer<ReportReply>
        do throws(CollectorConnectionError) {
            answer = try Answer(try exchange(parameters(entries.map(\.json), from: sequence)))
        } catch {
            guard how.spools, error.mayPass else { throw failure(error, entries) }
            isSpooling = true
            return try spool(entries, from: sequence, because: error)
        }
        let elements = answer.elements(of: "receipts")
        guard elements.count == entries.count, answer.value.receipts.count == entries.count else {
            throw CommandFailure(.malformed("\(elements.count) receipts for \(entries.count) records"))
        }
        for (index, receipt) in answer.value.receipts.enumerated() {
            show(receipt, elements[index], line: entries[index].line)
        }
    }

    /// Calls `Report` until there is an answer or the time is over.
    ///
    /// The numbers make that safe: a record that the daemon has already is not
    /// stored again.
    private mutating func exchange(_ parameters: [UInt8]) throws(CollectorConnectionError) -> [UInt8] {
        let clock = context.reporting
        let deadline = clock.elapsed() + how.timeout
        mayBeTaken = false
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
                    mayBeTaken = true
                    throw error
                case .closed:
                    link = nil
                    mayBeTaken = true
                    pause = .milliseconds(100)
                // A daemon that was never there is not waited for; one that has gone may come back.
                case .unreachable where mayBeTaken: pause = .milliseconds(100)
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
        // JSON already, so that what we do not know passes through.
        for record in records { writer.raw(record) }
        writer.closeArray()
        writer.member("producer", how.producer)
        writer.member("sequence", sequence)
        writer.closeObject()
        return writer.bytes
    }

    // MARK: What could not be sent

    /// Keeps records for the next run, with the numbers that they have.
    private mutating func spool(
        _ entries: [Entry], from sequence: Int64, because failure: CollectorConnectionError?
    ) throws(CommandFailure) {
        // Sent much later, they have to say themselves when they were reported.
        let records = entries.map { entry -> [UInt8] in
            guard let value = try? JSONValue(json: entry.json), let members = value.asObject,
                value["occurred_at"]?.isNull ?? true
            else { return entry.json }
            let others = members.filter { $0.key != "occurred_at" }
            return JSONValue.object(others + [.init("occurred_at", .string(entry.time.text))]).json
        }
        let call = VarlinkCall(
            method: CollectorMethod.report.fullName, parameters: parameters(records, from: sequence))
        guard let folder = context.reporting.keep(call.message, how.producer, sequence) else {
            let reason = failure.map { self.failure($0, entries) } ?? self.failure(.timedOut, entries)
            throw CommandFailure(
                reason.code, "the issue can't be kept for the next run either: \(reason.message ?? "")")
        }
        for _ in entries { keep(Self.spooled) }
        if let failure {
            let what = entries.contains { $0.line != nil } ? "what is reported" : "the issue"
            let why = CommandFailure(failure).message ?? ""
            context.warn(
                "\(what) is kept in \(folder) until the next run of issuectl or of a program that reports: \(why)")
        }
    }

    private static let spooled = Array(#"{"spooled":true}"#.utf8)

    private func failure(_ error: CollectorConnectionError, _ entries: [Entry]) -> CommandFailure {
        var failure = CommandFailure(error)
        if mayBeTaken, error.mayPass {
            let again = how.key == nil ? "--id \(how.producer)" : "the same --id"
            let what =
                switch error {
                case .timedOut, .refused: "has not answered"
                default: "has gone and not come back"
                }
            failure.code = .tryAgain
            failure.message =
                "the daemon \(what) within \(Self.text(how.timeout)), and may have the issue: try again with \(again), "
                + "so that nothing is stored twice"
        }
        failure.message? += withoutReceipt(entries)
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
            complain(field.map { "\($0): \(reason)" } ?? reason, line: line)
        }
        keep(json)
    }

    private mutating func show(id: String) {
        if context.format == .human { output(Array(TerminalSanitizer.line(id).utf8)) }
    }

    /// A line that is not even sent; what was before it goes first, so that receipts come in the order of the lines.
    private mutating func reject(_ reason: String, line: Int?) throws(CommandFailure) {
        try send()
        complain(reason, line: line)
        keep(RecordReceipt.rejected(field: nil, reason: reason).json)
    }

    private mutating func complain(_ reason: String, line: Int?) {
        hasFailed = true
        context.warn(line.map { "line \($0) was not taken: \(reason)" } ?? "the issue was not taken: \(reason)")
    }

    private mutating func keep(_ receipt: [UInt8]) {
        guard !how.isQuiet else { return }
        switch context.format {
        case .human: break
        case .json: receipts.append(receipt)
        case .lines: output(receipt)
        }
    }

    private mutating func output(_ line: [UInt8]) {
        guard !how.isQuiet, !isUnread else { return }
        isUnread = !context.output.write(TerminalSafeJSON.escape(line) + [UInt8(ascii: "\n")])
    }

    private func withoutReceipt(_ entries: [Entry]) -> String {
        guard let first = entries.first?.line, let last = entries.last?.line else { return "" }
        return first == last ? "; line \(first) has no receipt" : "; lines \(first) to \(last) have no receipt"
    }
}

/// The parts of the process that `report` uses besides input and output: time, names, and a place for unsent calls.
package struct ReportSurroundings {
    /// The time of day.
    package var now: () -> Timestamp
    /// Time that only goes forward, from any start.
    package var elapsed: () -> Duration
    package var sleep: (Duration) -> Void
    /// Returns a new random UUID.
    package var makeProducer: () -> String
    /// The name of the program that called this one; nil if it is unknown.
    package var caller: String?
    /// Keeps a call for the next run of a program that reports as this user.
    ///
    /// Takes the message, the producer and its first number. Returns the
    /// folder, or nil if the call can't be kept.
    package var keep: (_ call: [UInt8], _ producer: String, _ sequence: Int64) -> String?
    /// Sends what earlier runs have kept, to the socket that was named or those in the usual places.
    package var sendKept: (_ socket: String?) -> Void

    package init(
        now: @escaping () -> Timestamp, elapsed: @escaping () -> Duration, sleep: @escaping (Duration) -> Void,
        makeProducer: @escaping () -> String, caller: String?,
        keep: @escaping (_ call: [UInt8], _ producer: String, _ sequence: Int64) -> String?,
        sendKept: @escaping (_ socket: String?) -> Void
    ) {
        self.now = now
        self.elapsed = elapsed
        self.sleep = sleep
        self.makeProducer = makeProducer
        self.caller = caller
        self.keep = keep
        self.sendKept = sendKept
    }
}

/// The default application name of a report.
package enum CallerName {
    /// Programs that run any others, so their name says nothing about the origin of an issue.
    private static let runners: Set<String> = [
        "ash", "atd", "bash", "busybox", "cron", "crond", "csh", "dash", "doas", "env", "fish", "flock", "init",
        "ionice", "ksh", "login", "mksh", "nice", "nohup", "runuser", "screen", "setpriv", "sh", "sshd", "stdbuf",
        "su", "sudo", "systemd", "tcsh", "time", "timeout", "tmux", "xargs", "zsh",
    ]

    /// The parent's name, as of a script; else that of the service; else our own.
    package static func name(parent: String?, unit: String?) -> String {
        if let parent, !parent.isEmpty, !runners.contains(String(parent.prefix { $0 != ":" && $0 != " " })) {
            return parent
        }
        let suffix = ".service"
        if let unit, unit.hasSuffix(suffix), unit.count > suffix.count, !unit.hasPrefix("user@") {
            return String(unit.dropLast(suffix.count))
        }
        return "issuectl"
    }

    static func ofThisProcess() -> String {
        let parent = (try? ProcessMetadata.read(pid: CurrentProcess.parentPID)) ?? nil
        let own = (try? ProcessMetadata.read(pid: CurrentProcess.pid)) ?? nil
        return name(parent: parent?.command, unit: own?.unit)
    }
}

/// Derives a producer's id from a key that the user chose.
package enum ReportID {
    /// Returns the key itself if it is a UUID, otherwise a UUID derived from it.
    package static func producer(for key: String) -> String {
        let lowercase = key.lowercased()
        return isUUID(lowercase) ? lowercase : uuid(FNV1a.hash(key.utf8))
    }

    private static func isUUID(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return false }
        return bytes.enumerated().allSatisfy { index, byte in
            switch index {
            case 8, 13, 18, 23: byte == UInt8(ascii: "-")
            case _:
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
        }
    }

    /// Returns a UUID of version 8, which leaves its bits to the application (RFC 9562, 5.8).
    private static func uuid(_ bits: UInt128) -> String {
        let version: UInt128 = 0xF << 76
        let variant: UInt128 = 0x3 << 62
        var marked = bits & ~version & ~variant
        marked |= UInt128(0x8) << 76
        marked |= UInt128(0x2) << 62
        let digits = String(marked, radix: 16)
        let padded = Array(String(repeating: "0", count: 32 - digits.count) + digits)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(padded[$0]) }.joined(separator: "-")
    }
}

/// The hash FNV-1a with 128 bits: draft-eastlake-fnv.
///
/// It is not collision-resistant, but a user who makes two keys collide harms only themselves.
private enum FNV1a {
    static func hash(_ bytes: some Sequence<UInt8>) -> UInt128 {
        let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013B
        var hash: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D
        for byte in bytes { hash = (hash ^ UInt128(byte)) &* prime }
        return hash
    }
}
