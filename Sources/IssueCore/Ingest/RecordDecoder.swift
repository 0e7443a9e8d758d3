package import IssueProtocol

/// Decodes a record's JSON into the form in which it is stored, usually without allocating memory per record.
///
/// A thread uses one decoder for all its records, so that the decoder's buffers keep their memory. Some methods are
/// `mutating` although they change nothing, because a non-mutating call would copy the decoder.
package struct RecordDecoder: Sendable {
    package let limits: RecordLimits
    var members = RecordMemberTable()
    let severities = SeverityKeys()
    let nested = NestedKeys()
    let hash: WordHash
    var fields = RecordFields()
    var times = TimeReader()
    var objectCache: ObjectCache
    var series = SeriesKeyCache()
    /// The key of the record's series, in the form of `SeriesKey`.
    var key = ByteBuffer()
    /// The short key of the record's series; see `SeriesKeyCache`.
    var shortKey = ByteBuffer()
    var template = ByteBuffer()
    var parts = ByteBuffer()
    var sentTemplate = SentTemplate()
    /// How another store split the message of the record; nil for a client's record, or if this is unknown.
    private var splitMessage: SplitMessage?
    var redactor: Redactor
    /// The message of the record without secrets; valid if `isRedacted` is set.
    private var redactedMessage = ByteBuffer()
    /// Whether the message of the record contains secrets, or marks of removed secrets.
    private var isRedacted = false
    /// Whether the keys in the series directory were made with an earlier redactor.
    private var hasNewRedactor = false
    /// Whether the batch's copy of the directory lacks series of the batch's last records.
    var lacksSeries = false

    /// - Parameters:
    ///   - limits: The limits of a record.
    ///   - seed: A random number that is kept secret; the seed of the hash tables.
    ///   - redactor: Removes secrets from the records.
    package init(limits: RecordLimits, seed: UInt64, redactor: Redactor = Redactor()) {
        self.limits = limits
        self.redactor = redactor
        hash = WordHash(seed: seed)
        objectCache = ObjectCache(seed: seed)
    }

    /// Sets the redactor for the records that follow.
    package mutating func use(_ redactor: Redactor) {
        self.redactor = redactor
        hasNewRedactor = true
    }

    /// Returns a text, such as the command of the sender's process, without its secrets.
    package mutating func redacted(_ text: String) -> String { redactor.text(text) }

    /// Returns the number of values that each rule removed since the last call; nil if none were removed.
    package mutating func takeRedactionCounts() -> RedactionCounts? { redactor.takeCounts() }

    /// Decodes the next record and adds it to a batch.
    ///
    /// - Returns: Why the record was rejected; nil if it was added. In both cases the scanner is after the record.
    /// - Throws: `JSONError` if the bytes are not valid JSON. The scanner must not be used any further.
    package mutating func decode(
        _ scanner: inout JSONScanner, into batch: inout RecordBatch
    ) throws(JSONError) -> RecordRejection? {
        defer { complete(&batch) }
        return try decodeNext(&scanner, into: &batch)
    }

    /// Decodes a record of another store. Keeps the template of that store unless the template contradicts the
    /// message, or the redactor changes the message.
    ///
    /// - Parameters:
    ///   - scanner: The JSON of the record.
    ///   - message: How the other store split the message; nil to split it as for a client's record.
    ///   - batch: The batch to which the record is added.
    /// - Returns: Why the record was rejected; nil if it was added.
    /// - Throws: `JSONError` if the bytes are not valid JSON. The scanner must not be used any further.
    package mutating func decode(
        _ scanner: inout JSONScanner, splitAs message: SplitMessage?, into batch: inout RecordBatch
    ) throws(JSONError) -> RecordRejection? {
        splitMessage = message
        defer { splitMessage = nil }
        return try decode(&scanner, into: &batch)
    }

    /// Decodes one of several records, like `decode`. After the last record, the caller must call `complete` with the
    /// batch.
    package mutating func decodeNext(
        _ scanner: inout JSONScanner, into batch: inout RecordBatch
    ) throws(JSONError) -> RecordRejection? {
        let start = scanner.startCountingKeysAndMark()
        let byteCount = batch.bytes.count
        do {
            try read(&scanner, into: &batch)
        } catch {
            // The record is invalid. If its JSON is invalid too, skipping it as a whole throws.
            batch.bytes.truncate(to: byteCount)
            scanner.rewind(to: start)
            try scanner.skipValueOfAnySize()
            return error
        }
        return nil
    }

    private mutating func read(_ scanner: inout JSONScanner, into batch: inout RecordBatch) throws(RecordRejection) {
        let first = scanner.position
        fields.forgetAll()
        objectCache.makeRoom()
        if series.isFull || hasNewRedactor {
            // First, the batch gets its copy of the old directory, to which the series numbers of its records refer.
            complete(&batch)
            series.makeRoom()
            hasNewRedactor = false
        }
        try readFields(&scanner)
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

        record.series = readSeries(scanner, &batch)

        let messageStart = batch.bytes.count
        switch record.messageForm {
        case .template: break
        case .parts: batch.bytes.append(parts)
        case .whole where isRedacted: batch.bytes.append(redactedMessage)
        case .whole: scanner.append(text, to: &batch.bytes)
        }
        record.message = ByteRange(from: messageStart, to: batch.bytes.count)

        if let range = fields.metadata {
            let metadataStart = batch.bytes.count
            redactor.append(json: scanner.bytes, range, isData: true, to: &batch.bytes)
            record.metadata = ByteRange(from: metadataStart, to: batch.bytes.count)
        }
        record.details = appendDetails(scanner, to: &batch.bytes)
        batch.records.append(record)
    }

    /// Splits a message into its template and the parts that the template leaves out.
    private mutating func readMessage(
        _ text: JSONText, _ scanner: borrowing JSONScanner
    ) -> DecodedRecord.MessageForm {
        guard text.hasEscapes else {
            return split(scanner.bytes, from: text.start, to: text.end, scanner)
        }
        var message = ByteBuffer()
        scanner.append(text, to: &message)
        return split(message.span, from: 0, to: message.count, scanner)
    }

    /// Splits a message without JSON escapes into its template and its parts, and replaces the secrets in it.
    private mutating func split(
        _ message: Span<UInt8>, from start: Int, to end: Int, _ scanner: borrowing JSONScanner
    ) -> DecodedRecord.MessageForm {
        template.truncate(to: 0)
        let sent = readSentTemplate(of: message, from: start, to: end, scanner)
        isRedacted = redactor.find(in: message, from: start, to: end)
        guard isRedacted else {
            return takeSplitMessage(message, from: start, to: end) ?? sent
                ?? MessageTemplate.append(
                    messageIn: message, from: start, to: end, limit: limits.templateBytes, template: &template,
                    parts: &parts)
        }
        template.truncate(to: 0)
        let form = redactor.append(
            messageIn: message, from: start, to: end, sent: sent == nil ? nil : sentTemplate,
            limit: limits.templateBytes, template: &template, parts: &parts, message: &redactedMessage)
        // The redactor may have found nothing but the marks of values that the other store removed. It keeps marks.
        guard splitMessage != nil, redactedMessage.count == end - start,
            redactedMessage.span.equals(from: 0, message, from: start, count: end - start)
        else { return form }
        return takeSplitMessage(message, from: start, to: end) ?? form
    }

    /// Sets `template` and `parts` to those of the other store, and returns the form of the message there. Returns nil
    /// if `splitMessage` is nil, or does not represent the message.
    private mutating func takeSplitMessage(
        _ message: Span<UInt8>, from start: Int, to end: Int
    ) -> DecodedRecord.MessageForm? {
        guard let stored = splitMessage, stored.represents(message, from: start, to: end) else { return nil }
        template.truncate(to: 0)
        template.append(contentsOf: stored.template)
        parts.truncate(to: 0)
        parts.append(contentsOf: stored.parts)
        return stored.form
    }

    /// Appends the causes, the backtrace and the context as one JSON object; nothing if the record has none of them.
    private mutating func appendDetails(_ scanner: borrowing JSONScanner, to output: inout ByteBuffer) -> ByteRange {
        guard fields.causes != nil || fields.backtrace != nil || fields.hasContext else { return .empty }
        let start = output.count
        if let causes = fields.causes {
            output.append(contentsOf: "{\"causes\":".utf8)
            redactor.append(json: scanner.bytes, causes, to: &output)
        }
        if let backtrace = fields.backtrace {
            output.append(contentsOf: (output.count == start ? "{" : ",").utf8)
            output.append(contentsOf: "\"backtrace\":".utf8)
            redactor.append(json: scanner.bytes, backtrace, isCode: true, to: &output)
        }
        if fields.hasContext { appendContext(scanner, from: start, to: &output) }
        guard output.count > start else { return .empty }
        output.append(UInt8(ascii: "}"))
        return ByteRange(from: start, to: output.count)
    }

    /// Appends the valid ids of the context to the details, which begin at `start`.
    private mutating func appendContext(_ scanner: borrowing JSONScanner, from start: Int, to output: inout ByteBuffer)
    {
        for field in IssueContext.Field.allCases {
            guard let text = fields.text(field) else { continue }
            // Copied to a scratch buffer first, because the id may be invalid.
            parts.truncate(to: 0)
            scanner.append(text, to: &parts)
            guard field.accepts(parts.span, from: 0, to: parts.count) else { continue }
            output.append(contentsOf: (output.count == start ? "{" : ",").utf8)
            output.append(contentsOf: Self.contextKeys[Int(field.rawValue)].utf8)
            if field.isHexadecimal {
                output.append(UInt8(ascii: "\""))
                // This bit makes letters lower case, and is already set in digits.
                for index in 0..<parts.count { output.append(parts.span[index] | 0x20) }
                output.append(UInt8(ascii: "\""))
            } else {
                // The text is copied with its quotation marks.
                redactor.append(json: scanner.bytes, text.start - 1..<text.end + 1, to: &output)
            }
        }
    }

    /// The keys of the ids of the context as JSON, each with a colon.
    private static let contextKeys = IssueContext.Field.allCases.map { "\"\($0.name)\":" }
}

extension RecordDecoder {
    /// Reads the members of a record and those of its source and application in a single loop.
    mutating func readFields(_ scanner: inout JSONScanner) throws(RecordRejection) {
        var container = RecordContainer.record
        // The start of the source or application being read, and the number of keys before it.
        var opened = (start: 0, keys: 0)
        // The member to name in an error.
        var member: RecordMember?
        do {
            guard try scanner.kind() == .object else {
                throw RecordRejection(field: nil, reason: "a record must be a JSON object")
            }
            try scanner.openObject()
            members.begin()
            while true {
                let known: RecordMember
                if let expected = members.skipExpectedKey(&scanner, in: container) {
                    known = expected
                } else {
                    guard let text = try scanner.nextMember() else {
                        if container == .record { return }
                        remember(container, from: opened.start, keysBefore: opened.keys, &scanner)
                        container = .record
                        member = nil
                        continue
                    }
                    guard let found = members.member(scanner.key(text), in: container) else {
                        // Unknown members are skipped: they may belong to a later version of the protocol.
                        _ = try scanner.skipValue()
                        continue
                    }
                    known = found
                }
                if try scanner.null() {
                    fields.forget(known)
                    continue
                }
                member = known
                switch known {
                case .name, .version, .environment, .platform, .network, .domain, .fileID, .function, .module,
                    .fingerprint:
                    let text = try scanner.text()
                    fields.set(known, text.count <= limits.attributeBytes ? text : cut(text, in: scanner.bytes))
                case .message, .template: fields.set(known, try scanner.text())
                case .traceID, .spanID, .requestID, .user: try readContext(known, in: &scanner)
                case .code, .build, .line, .column: fields.set(known, try scanner.integer())
                case .count: fields.set(known, try count(in: &scanner))
                case .severity: fields.severity = try severity(in: &scanner)
                case .occurredAt: fields.occurredAt = try time(in: &scanner, known)
                case .firstOccurredAt: fields.firstOccurredAt = try time(in: &scanner, known)
                case .reportable: fields.setReportable(try scanner.bool())
                case .development: fields.setDevelopment(try scanner.bool())
                case .metadata: fields.metadata = try object(in: &scanner)
                case .causes: fields.causes = try objects(in: &scanner) { try $0.passCause($1, &$2) }
                case .backtrace: fields.backtrace = try objects(in: &scanner) { try $0.passFrame($1, &$2) }
                case .parts: fields.parts = try scalars(in: &scanner)
                case .source, .app:
                    let inner: RecordContainer = known == .source ? .source : .app
                    let start = scanner.position
                    if let cached = objectCache.find(scanner.bytes, at: start, inner),
                        scanner.skipObject(cached.byteCount, keys: cached.keys)
                    {
                        fields.set(inner, .known(number: cached.number, start: start))
                        break
                    }
                    fields.forget(known)
                    opened = (scanner.position, scanner.keyCount)
                    try scanner.openObject()
                    container = inner
                    continue
                }
                member = container.member
            }
        } catch let error as RecordRejection {
            throw error
        } catch let error as JSONError {
            throw rejection(of: member, error)
        } catch {
            preconditionFailure("Unexpected error while reading a record: \(error)")
        }
    }

    /// Returns the beginning of a text, at most `attributeBytes` long. No character or escape is split.
    private func cut(_ text: JSONText, in bytes: Span<UInt8>) -> JSONText {
        let limit = text.start + limits.attributeBytes
        var end = text.hasEscapes ? text.start : limit
        while text.hasEscapes {
            let size = Self.size(ofEscapeOrByteAt: end, in: bytes)
            guard end + size <= limit else { break }
            end += size
        }
        while end > text.start, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return JSONText(start: text.start, end: end, hasEscapes: text.hasEscapes)
    }

    private static func size(ofEscapeOrByteAt index: Int, in bytes: Span<UInt8>) -> Int {
        guard bytes[index] == UInt8(ascii: "\\") else { return 1 }
        guard bytes[index + 1] == UInt8(ascii: "u") else { return 2 }
        // D800 to DBFF are the first half of a character that takes two escapes.
        let isHalf = bytes[index + 2] | 0x20 == UInt8(ascii: "d") && "89abAB".utf8.contains(bytes[index + 3])
        return isHalf ? 12 : 6
    }

    private mutating func remember(
        _ container: RecordContainer, from start: Int, keysBefore: Int, _ scanner: inout JSONScanner
    ) {
        fields.set(container, .read)
        guard let read = fields.object(container, from: start),
            let number = objectCache.remember(
                scanner.bytes, start..<scanner.position, container, keys: scanner.keyCount - keysBefore, read)
        else { return }
        fields.set(container, .known(number: number, start: start))
    }

    private mutating func count(in scanner: inout JSONScanner) throws -> Int64 {
        let count = try scanner.integer()
        guard (1...1_000_000_000).contains(count) else {
            throw RecordRejection(field: "count", reason: "must be between 1 and 1000000000")
        }
        return count
    }

    private mutating func severity(in scanner: inout JSONScanner) throws -> IssueLevel {
        guard let severity = severities.severity(scanner.key(try scanner.text())) else {
            throw RecordRejection(
                field: "severity", reason: "must be debug, info, warning, error or critical")
        }
        return severity
    }

    private mutating func time(in scanner: inout JSONScanner, _ member: RecordMember) throws -> Int64 {
        let text = try scanner.text()
        // A time needs no escapes, but may contain some.
        let time =
            text.hasEscapes
            ? IssueTimestamp(scanner.string(text))?.millisecondsSince1970
            : times.milliseconds(scanner.bytes, from: text.start, to: text.end)
        guard let time else {
            throw RecordRejection(
                field: member.path, reason: "must be an RFC 3339 time such as 2026-11-21T10:00:00.123Z")
        }
        return time
    }

    /// Reads an id of the context. A value that is not a string counts as absent.
    private mutating func readContext(_ member: RecordMember, in scanner: inout JSONScanner) throws {
        if try scanner.kind() == .string {
            fields.set(member, try scanner.text())
            fields.hasContext = true
        } else {
            _ = try scanner.skipValue()
            fields.forget(member)
        }
    }

    private mutating func object(in scanner: inout JSONScanner) throws -> Range<Int> {
        guard try scanner.kind() == .object else { throw JSONError.wrongType(at: scanner.position) }
        return try scanner.skipValue()
    }

    /// Reads an array of objects and returns its range.
    ///
    /// - Parameter member: Reads the value of a member that is not null, and throws if its type is wrong.
    private mutating func objects(
        in scanner: inout JSONScanner, passing member: (inout Self, JSONKey, inout JSONScanner) throws -> Void
    ) throws -> Range<Int> {
        guard try scanner.kind() == .array else { throw JSONError.wrongType(at: scanner.position) }
        let start = scanner.position
        try scanner.openArray()
        while try scanner.nextElement() {
            try scanner.openObject()
            while let text = try scanner.nextMember() {
                let key = scanner.key(text)
                if try !scanner.null() { try member(&self, key, &scanner) }
            }
        }
        return start..<scanner.position
    }

    /// Returns the range of an array of strings, numbers and booleans.
    private mutating func scalars(in scanner: inout JSONScanner) throws -> Range<Int> {
        guard try scanner.kind() == .array else { throw JSONError.wrongType(at: scanner.position) }
        let start = scanner.position
        try scanner.openArray()
        while try scanner.nextElement() {
            switch try scanner.kind() {
            case .string: _ = try scanner.text()
            case .number: _ = try scanner.number()
            case .bool: _ = try scanner.bool()
            case .null, .array, .object: throw JSONError.wrongType(at: scanner.position)
            }
        }
        return start..<scanner.position
    }

    private mutating func passCause(_ key: JSONKey, _ scanner: inout JSONScanner) throws {
        if key == nested.domain || key == nested.message {
            _ = try scanner.text()
        } else if key == nested.code {
            _ = try scanner.integer()
        } else {
            _ = try scanner.skipValue()
        }
    }

    private mutating func passFrame(_ key: JSONKey, _ scanner: inout JSONScanner) throws {
        if key == nested.image || key == nested.buildID || key == nested.symbol || key == nested.file {
            _ = try scanner.text()
        } else if key == nested.offset || key == nested.line {
            _ = try scanner.integer()
        } else {
            _ = try scanner.skipValue()
        }
    }

    private mutating func rejection(of member: RecordMember?, _ error: JSONError) -> RecordRejection {
        let reason =
            switch error {
            case .wrongType: "the value has the wrong type"
            case .notAnInteger: "the number is not a 64-bit integer"
            case .tooManyKeys(let limit): "the record has more than \(limit) keys"
            case .tooDeep: "the record is nested deeper than \(limits.depth) levels"
            case .truncated, .unexpectedByte, .invalidUTF8, .invalidEscape, .trailingBytes: "the JSON is malformed"
            }
        return RecordRejection(field: member?.path, reason: reason)
    }
}
