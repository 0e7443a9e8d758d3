import IssueBrowsing
import IssueProtocol
import Issues

/// One run of `report`: gathers records into calls, and says what became of each.
struct ReportSession {
    /// Half of what the daemon takes in one call.
    private static let batchRecords = 500
    /// Half of the largest message, so that its frame and the escapes have room.
    private static let batchBytes = 512 * 1024
    /// The largest record that the daemon takes.
    private static let recordBytes = 256 * 1024

    private let collector: Collector
    private let context: CommandContext
    private let template: RecordTemplate
    private let isQuiet: Bool
    private let echoes: Bool
    private var batch: [Entry] = []
    private var batchSize = 0
    private var receipts: [[UInt8]] = []
    private var hasFailed = false
    /// Whether nobody reads our output any more, which is no reason to lose a report.
    private var isUnread = false

    /// A record on its way, and the line it stood on.
    private struct Entry {
        var line: Int?
        var json: [UInt8]
    }

    init(collector: Collector, context: CommandContext, template: RecordTemplate, isQuiet: Bool, echoes: Bool) {
        self.collector = collector
        self.context = context
        self.template = template
        self.isQuiet = isQuiet
        self.echoes = echoes
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
        if context.format == .json, !isQuiet {
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
        if echoes, let message = record["message"]?.asString {
            let app = record["app"]?["name"]?.asString.map { "\($0): " } ?? ""
            context.output.writeError(Array((HarmlessText.line(app + message) + "\n").utf8))
        }
        if batch.count == Self.batchRecords || batchSize + json.count > Self.batchBytes { try send() }
        batch.append(Entry(line: line, json: json))
        batchSize += json.count + 1
    }

    private mutating func send() throws(CommandFailure) {
        guard !batch.isEmpty else { return }
        let entries = batch
        batch = []
        batchSize = 0
        let answer: Answer<ReportReply>
        do throws(CommandFailure) {
            answer = try collector.report(entries.map(\.json))
        } catch {
            throw CommandFailure(error.code, error.message.map { $0 + withoutReceipt(entries) })
        }
        let elements = answer.elements(of: "receipts")
        guard elements.count == entries.count, answer.value.receipts.count == entries.count else {
            throw collector.senseless("\(elements.count) receipts for \(entries.count) records")
        }
        for (index, receipt) in answer.value.receipts.enumerated() {
            show(receipt, elements[index], line: entries[index].line)
        }
    }

    private mutating func show(_ receipt: RecordReceipt, _ json: [UInt8], line: Int?) {
        switch receipt {
        case .stored(let id): show(id: id)
        // Only a numbered record can be one, and ours have no numbers; still each has its line.
        case .duplicate(let id): show(id: id ?? "-")
        case .rejected(let field, let reason):
            complain(field.map { "\($0): \(reason)" } ?? reason, line: line)
        }
        keep(json)
    }

    private mutating func show(id: String) {
        if context.format == .human { output(Array(HarmlessText.line(id).utf8)) }
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
        guard !isQuiet else { return }
        switch context.format {
        case .human: break
        case .json: receipts.append(receipt)
        case .lines: output(receipt)
        }
    }

    private mutating func output(_ line: [UInt8]) {
        guard !isQuiet, !isUnread else { return }
        isUnread = !context.output.write(TerminalSafeJSON.escape(line) + [UInt8(ascii: "\n")])
    }

    private func withoutReceipt(_ entries: [Entry]) -> String {
        guard let first = entries.first?.line, let last = entries.last?.line else { return "" }
        return first == last ? "; line \(first) has no receipt" : "; lines \(first) to \(last) have no receipt"
    }
}
