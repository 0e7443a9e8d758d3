package import IssueProtocol

/// Turns a record's JSON into the form in which it is stored, without an object or a string for each.
///
/// Kept and used again for record after record: its scratch memory grows to
/// what a record needs and stays.
package struct RecordDecoder: Sendable {
    package let limits: RecordLimits
    let keys = RecordKeys()
    let hash: WordHash
    var fields = RecordFields()
    private var parts: [UInt8] = []
    private var template: [UInt8] = []

    package init(limits: RecordLimits, seed: UInt64) {
        self.limits = limits
        hash = WordHash(seed: seed)
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
            // The record is wrong; whether its JSON is wrong too is found out by passing it whole.
            batch.bytes.removeSubrange(byteCount...)
            try start.skipValueOfAnySize()
            scanner = start
            return error
        }
        return nil
    }

    private mutating func read(_ scanner: inout JSONScanner, into batch: inout RecordBatch) throws(RecordRejection) {
        let first = scanner.position
        fields = RecordFields()
        try readFields(&scanner)
        guard scanner.position - first <= limits.recordBytes else {
            throw RecordRejection(field: nil, reason: "the record is larger than \(limits.recordBytes) bytes")
        }
        guard let text = fields.message else {
            throw RecordRejection(field: "message", reason: "a record needs a message")
        }
        var record = DecodedRecord()
        record.occurredAt = fields.occurredAt
        record.firstOccurredAt = fields.firstOccurredAt
        record.count = fields.count
        record.severity = fields.severity
        record.isReportable = fields.isReportable

        template.removeAll(keepingCapacity: true)
        if text.hasEscapes {
            var message: [UInt8] = []
            scanner.append(text, to: &message)
            record.messageForm = MessageTemplate.append(
                messageIn: message.span, from: 0, to: message.count, limit: limits.templateBytes, template: &template,
                parts: &parts)
        } else {
            record.messageForm = MessageTemplate.append(
                messageIn: scanner.bytes, from: text.start, to: text.end, limit: limits.templateBytes,
                template: &template, parts: &parts)
        }

        let keyStart = batch.bytes.count
        appendKey(scanner, to: &batch.bytes)
        record.seriesKey = ByteRange(from: keyStart, to: batch.bytes.count)
        record.seriesHash = hash(batch.bytes.span, from: keyStart, to: batch.bytes.count)

        let messageStart = batch.bytes.count
        switch record.messageForm {
        case .template: break
        case .parts: batch.bytes.append(contentsOf: parts)
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

    private func appendKey(_ scanner: borrowing JSONScanner, to output: inout [UInt8]) {
        let start = output.count
        output.append(contentsOf: repeatElement(0, count: SeriesKey.headerSize))
        var lengths = InlineArray<10, UInt32>(repeating: SeriesKey.absent)
        append(fields.name, of: scanner, to: &output, &lengths[0])
        append(fields.version, of: scanner, to: &output, &lengths[1])
        append(fields.environment, of: scanner, to: &output, &lengths[2])
        append(fields.platform, of: scanner, to: &output, &lengths[3])
        append(fields.network, of: scanner, to: &output, &lengths[4])
        append(fields.domain, of: scanner, to: &output, &lengths[5])
        append(fields.fileID, of: scanner, to: &output, &lengths[6])
        append(fields.function, of: scanner, to: &output, &lengths[7])
        append(fields.module, of: scanner, to: &output, &lengths[8])
        append(fields.fingerprint, of: scanner, to: &output, &lengths[9])
        output.append(contentsOf: template)
        SeriesKey.store(
            fields.flags, fields.severity, code: fields.code, build: fields.build, line: fields.line,
            column: fields.column, lengths: lengths, template: template.count, in: &output, at: start)
    }

    @inline(__always)
    private func append(
        _ text: JSONText?, of scanner: borrowing JSONScanner, to output: inout [UInt8], _ length: inout UInt32
    ) {
        guard let text else { return }
        let start = output.count
        scanner.append(text, to: &output)
        length = UInt32(truncatingIfNeeded: output.count - start)
    }

    /// What few records have, as one JSON object.
    private func appendDetails(_ scanner: borrowing JSONScanner, to output: inout [UInt8]) -> ByteRange {
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
