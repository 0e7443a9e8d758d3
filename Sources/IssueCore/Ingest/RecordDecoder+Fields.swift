import IssueProtocol

extension RecordDecoder {
    mutating func readFields(_ scanner: inout JSONScanner) throws(RecordRejection) {
        var field = ""
        do {
            guard try scanner.kind() == .object else {
                throw RecordRejection(field: nil, reason: "a record is a JSON object")
            }
            try scanner.openObject()
            while let text = try scanner.nextMember() {
                let key = scanner.key(text)
                if try scanner.null() {
                    fields.forget(key, keys)
                } else if key == keys.message {
                    field = "message"
                    fields.message = try scanner.text()
                } else if key == keys.source {
                    try readSource(&scanner, &field)
                } else if key == keys.app {
                    try readApplication(&scanner, &field)
                } else if key == keys.metadata {
                    field = "metadata"
                    fields.metadata = try value(of: .object, in: &scanner)
                } else {
                    try readScalar(key, &scanner, &field)
                }
                // What fails next is no fault of this member.
                field = ""
            }
        } catch let error as RecordRejection {
            throw error
        } catch let error as JSONError {
            throw rejection(of: field, error)
        } catch {
            preconditionFailure("Reading a record fails with a rejection or with a JSON error: \(error)")
        }
    }

    private mutating func readScalar(_ key: JSONKey, _ scanner: inout JSONScanner, _ field: inout String) throws {
        if key == keys.severity {
            field = "severity"
            fields.severity = try severity(try scanner.text(), in: scanner)
        } else if key == keys.domain {
            field = "domain"
            fields.domain = try scanner.text()
        } else if key == keys.code {
            field = "code"
            fields.code = try scanner.integer()
            fields.flags.insert(.code)
        } else if key == keys.occurredAt {
            field = "occurred_at"
            fields.occurredAt = try time(in: &scanner, field)
        } else if key == keys.firstOccurredAt {
            field = "first_occurred_at"
            fields.firstOccurredAt = try time(in: &scanner, field)
        } else if key == keys.count {
            field = "count"
            fields.count = try scanner.integer()
            guard (1...1_000_000_000).contains(fields.count) else {
                throw RecordRejection(field: field, reason: "a count lies between 1 and 1000000000")
            }
        } else if key == keys.fingerprint {
            field = "fingerprint"
            fields.fingerprint = try scanner.text()
        } else if key == keys.causes {
            field = "causes"
            fields.causes = try objects(in: &scanner) { try passCause($0, &$1) }
        } else if key == keys.backtrace {
            field = "backtrace"
            fields.backtrace = try objects(in: &scanner) { try passFrame($0, &$1) }
        } else if key == keys.reportable {
            field = "reportable"
            fields.isReportable = try scanner.bool()
            if fields.isReportable { fields.flags.insert(.reportable) } else { fields.flags.remove(.reportable) }
        } else {
            // A later version of the protocol may know it.
            _ = try scanner.skipValue()
        }
    }

    private mutating func readSource(_ scanner: inout JSONScanner, _ field: inout String) throws {
        field = "source"
        fields.forgetSource()
        try scanner.openObject()
        while let text = try scanner.nextMember() {
            let key = scanner.key(text)
            if try scanner.null() {
                fields.forget(sourceMember: key, keys)
            } else if key == keys.fileID {
                field = "source.file_id"
                fields.fileID = try scanner.text()
            } else if key == keys.line {
                field = "source.line"
                fields.line = try scanner.integer()
                fields.flags.insert(.line)
            } else if key == keys.column {
                field = "source.column"
                fields.column = try scanner.integer()
                fields.flags.insert(.column)
            } else if key == keys.function {
                field = "source.function"
                fields.function = try scanner.text()
            } else if key == keys.module {
                field = "source.module"
                fields.module = try scanner.text()
            } else {
                _ = try scanner.skipValue()
            }
            field = "source"
        }
    }

    private mutating func readApplication(_ scanner: inout JSONScanner, _ field: inout String) throws {
        field = "app"
        fields.forgetApplication()
        try scanner.openObject()
        while let text = try scanner.nextMember() {
            let key = scanner.key(text)
            if try scanner.null() {
                fields.forget(applicationMember: key, keys)
            } else if key == keys.name {
                field = "app.name"
                fields.name = try scanner.text()
            } else if key == keys.version {
                field = "app.version"
                fields.version = try scanner.text()
            } else if key == keys.build {
                field = "app.build"
                fields.build = try scanner.integer()
                fields.flags.insert(.build)
            } else if key == keys.environment {
                field = "app.environment"
                fields.environment = try scanner.text()
            } else if key == keys.platform {
                field = "app.platform"
                fields.platform = try scanner.text()
            } else if key == keys.network {
                field = "app.network"
                fields.network = try scanner.text()
            } else if key == keys.development {
                field = "app.development"
                fields.flags.insert(.development)
                if try scanner.bool() {
                    fields.flags.insert(.inDevelopment)
                } else {
                    fields.flags.remove(.inDevelopment)
                }
            } else {
                _ = try scanner.skipValue()
            }
            field = "app"
        }
    }

    private func severity(_ text: JSONText, in scanner: borrowing JSONScanner) throws -> Severity {
        let name = scanner.key(text)
        if name == keys.error { return .error }
        if name == keys.warning { return .warning }
        if name == keys.critical { return .critical }
        if name == keys.info { return .info }
        if name == keys.debug { return .debug }
        throw RecordRejection(field: "severity", reason: "a severity is debug, info, warning, error or critical")
    }

    private func time(in scanner: inout JSONScanner, _ field: String) throws -> Int64 {
        let text = try scanner.text()
        // No form of a time needs an escape, but a writer may use one.
        let time =
            text.hasEscapes
            ? Timestamp(scanner.string(text)) : Timestamp(scanner.bytes, from: text.start, to: text.end)
        guard let time else {
            throw RecordRejection(
                field: field, reason: "a time is written as RFC 3339 has it: 2026-11-21T10:00:00.123Z")
        }
        return time.milliseconds
    }

    private func value(of kind: JSONKind, in scanner: inout JSONScanner) throws -> Range<Int> {
        guard try scanner.kind() == kind else { throw JSONError.wrongType(at: scanner.position) }
        return try scanner.skipValue()
    }

    /// An array of objects, kept as it stands: each member that a reader will ask for must have its type now.
    private func objects(
        in scanner: inout JSONScanner, passing member: (JSONKey, inout JSONScanner) throws -> Void
    ) throws -> Range<Int> {
        guard try scanner.kind() == .array else { throw JSONError.wrongType(at: scanner.position) }
        let start = scanner.position
        try scanner.openArray()
        while try scanner.nextElement() {
            try scanner.openObject()
            while let text = try scanner.nextMember() {
                let key = scanner.key(text)
                if try !scanner.null() { try member(key, &scanner) }
            }
        }
        return start..<scanner.position
    }

    private func passCause(_ key: JSONKey, _ scanner: inout JSONScanner) throws {
        if key == keys.domain || key == keys.message {
            _ = try scanner.text()
        } else if key == keys.code {
            _ = try scanner.integer()
        } else {
            _ = try scanner.skipValue()
        }
    }

    private func passFrame(_ key: JSONKey, _ scanner: inout JSONScanner) throws {
        if key == keys.image || key == keys.buildID || key == keys.symbol || key == keys.file {
            _ = try scanner.text()
        } else if key == keys.offset || key == keys.line {
            _ = try scanner.integer()
        } else {
            _ = try scanner.skipValue()
        }
    }

    private func rejection(of field: String, _ error: JSONError) -> RecordRejection {
        let reason =
            switch error {
            case .wrongType: "the value has the wrong type"
            case .notAnInteger: "the number is no 64-bit integer"
            case .tooManyKeys(let limit): "the record has more than \(limit) keys"
            case .tooDeep: "the record is nested deeper than \(limits.depth)"
            case .truncated, .unexpectedByte, .invalidUTF8, .invalidEscape, .trailingBytes: "the JSON is malformed"
            }
        return RecordRejection(field: field.isEmpty ? nil : field, reason: reason)
    }
}
