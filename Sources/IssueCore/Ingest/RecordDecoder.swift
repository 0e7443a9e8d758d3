package import IssueProtocol

/// Turns a record's JSON into the form in which it is stored, without an object or a string for each.
///
/// Kept and used again for record after record: its scratch memory grows to
/// what a record needs and stays. All its methods change it, those too that
/// need not: one that does not is given a copy of it.
package struct RecordDecoder: Sendable {
    package let limits: RecordLimits
    var members = RecordMemberTable()
    let severities = SeverityKeys()
    let nested = NestedKeys()
    let hash: WordHash
    var fields = RecordFields()
    var times = TimeReader()
    var memo: ObjectMemo
    var series = SeriesMemo()
    /// What a series is found by, which is no part of a batch.
    var key = ByteBuffer()
    var template = ByteBuffer()
    private var parts = ByteBuffer()
    /// The source of the record, as long as nobody has looked whether it is just that.
    var guess: ObjectMemo.Guess?
    /// How many sources are not guessed, since a guess was wrong.
    var caution = 0

    private static let caution = 8

    package init(limits: RecordLimits, seed: UInt64) {
        self.limits = limits
        hash = WordHash(seed: seed)
        memo = ObjectMemo(seed: seed)
    }

    /// Reads the record that comes next and adds it to a batch.
    ///
    /// - Returns: why it was not added, or nothing. The scanner stands behind the record either way.
    /// - Throws: when the bytes are no JSON; the scanner is then of no further use.
    package mutating func decode(
        _ scanner: inout JSONScanner, into batch: inout RecordBatch
    ) throws(JSONError) -> RecordRejection? {
        scanner.startCountingKeys()
        var start = scanner
        let byteCount = batch.bytes.count
        do {
            try read(&scanner, into: &batch)
        } catch {
            guard guess == nil else {
                // Whatever was read behind it may be part of the source.
                guess = nil
                caution = Self.caution
                scanner = start
                return try decode(&scanner, into: &batch)
            }
            // The record is wrong; whether its JSON is wrong too is found out by passing it whole.
            batch.bytes.truncate(to: byteCount)
            try start.skipValueOfAnySize()
            scanner = start
            return error
        }
        return nil
    }

    private mutating func read(_ scanner: inout JSONScanner, into batch: inout RecordBatch) throws(RecordRejection) {
        let first = scanner.position
        fields.forgetAll()
        memo.makeRoom()
        series.makeRoom()
        try readFields(&scanner)
        if let guess { memo.prefetch(guess) }
        guard scanner.position - first <= limits.recordBytes else {
            throw RecordRejection(field: nil, reason: "the record is larger than \(limits.recordBytes) bytes")
        }
        guard let text = fields.text(.message) else {
            throw RecordRejection(field: "message", reason: "a record needs a message")
        }
        var record = DecodedRecord()
        record.occurredAt = fields.occurredAt
        record.firstOccurredAt = fields.firstOccurredAt
        record.count = fields.integer(.count)
        record.severity = fields.severity
        record.isReportable = fields.flags.contains(.reportable)
        record.messageForm = readMessage(text, scanner)

        if let guess { try confirm(guess, &scanner) }
        record.series = readSeries(scanner, &batch)

        let messageStart = batch.bytes.count
        switch record.messageForm {
        case .template: break
        case .parts: batch.bytes.append(parts)
        case .whole: scanner.append(text, to: &batch.bytes)
        }
        record.message = ByteRange(from: messageStart, to: batch.bytes.count)

        if let range = fields.metadata {
            let metadataStart = batch.bytes.count
            scanner.append(range, to: &batch.bytes)
            record.metadata = ByteRange(from: metadataStart, to: batch.bytes.count)
        }
        record.details = appendDetails(scanner, to: &batch.bytes)
        batch.records.append(record)
    }

    /// Takes the source to be the one that was guessed, if it is.
    @inline(__always)
    private mutating func confirm(
        _ guess: ObjectMemo.Guess, _ scanner: inout JSONScanner
    ) throws(RecordRejection) {
        guard let known = memo.find(guess, in: scanner.bytes), scanner.passObject(0, keys: known.keys) else {
            throw RecordRejection(field: nil, reason: "the source is another than was guessed")
        }
        self.guess = nil
        if case .guessed = fields.source { fields.set(.source, .known(number: known.number, start: guess.start)) }
    }

    /// Parts a message into its template and what that leaves out.
    private mutating func readMessage(
        _ text: JSONText, _ scanner: borrowing JSONScanner
    ) -> DecodedRecord.MessageForm {
        template.truncate(to: 0)
        guard text.hasEscapes else {
            return MessageTemplate.append(
                messageIn: scanner.bytes, from: text.start, to: text.end, limit: limits.templateBytes,
                template: &template, parts: &parts)
        }
        var message = ByteBuffer()
        scanner.append(text, to: &message)
        return MessageTemplate.append(
            messageIn: message.span, from: 0, to: message.count, limit: limits.templateBytes, template: &template,
            parts: &parts)
    }

    /// What few records have, as one JSON object.
    private mutating func appendDetails(_ scanner: borrowing JSONScanner, to output: inout ByteBuffer) -> ByteRange {
        guard fields.causes != nil || fields.backtrace != nil else { return .empty }
        let start = output.count
        output.append(UInt8(ascii: "{"))
        if let causes = fields.causes {
            output.append(contentsOf: "\"causes\":".utf8)
            scanner.append(causes, to: &output)
        }
        if let backtrace = fields.backtrace {
            if fields.causes != nil { output.append(UInt8(ascii: ",")) }
            output.append(contentsOf: "\"backtrace\":".utf8)
            scanner.append(backtrace, to: &output)
        }
        output.append(UInt8(ascii: "}"))
        return ByteRange(from: start, to: output.count)
    }
}
