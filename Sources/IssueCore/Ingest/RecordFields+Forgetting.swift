import IssueProtocol

/// Of a key that comes twice the last value holds, and `null` is the value of what is absent.
extension RecordFields {
    mutating func forget(_ key: JSONKey, _ keys: RecordKeys) {
        if key == keys.message {
            message = nil
        } else if key == keys.severity {
            severity = .error
        } else if key == keys.domain {
            domain = nil
        } else if key == keys.code {
            code = 0
            flags.remove(.code)
        } else if key == keys.occurredAt {
            occurredAt = DecodedRecord.absent
        } else if key == keys.firstOccurredAt {
            firstOccurredAt = DecodedRecord.absent
        } else if key == keys.count {
            count = 1
        } else if key == keys.source {
            forgetSource()
        } else if key == keys.app {
            forgetApplication()
        } else if key == keys.fingerprint {
            fingerprint = nil
        } else if key == keys.backtrace {
            backtrace = nil
        } else if key == keys.causes {
            causes = nil
        } else if key == keys.metadata {
            metadata = nil
        } else if key == keys.reportable {
            isReportable = true
            flags.insert(.reportable)
        }
    }

    mutating func forgetSource() {
        fileID = nil
        line = 0
        column = 0
        function = nil
        module = nil
        flags.subtract([.line, .column])
    }

    mutating func forget(sourceMember key: JSONKey, _ keys: RecordKeys) {
        if key == keys.fileID {
            fileID = nil
        } else if key == keys.line {
            line = 0
            flags.remove(.line)
        } else if key == keys.column {
            column = 0
            flags.remove(.column)
        } else if key == keys.function {
            function = nil
        } else if key == keys.module {
            module = nil
        }
    }

    mutating func forgetApplication() {
        name = nil
        version = nil
        build = 0
        environment = nil
        platform = nil
        network = nil
        flags.subtract([.build, .development, .inDevelopment])
    }

    mutating func forget(applicationMember key: JSONKey, _ keys: RecordKeys) {
        if key == keys.name {
            name = nil
        } else if key == keys.version {
            version = nil
        } else if key == keys.build {
            build = 0
            flags.remove(.build)
        } else if key == keys.environment {
            environment = nil
        } else if key == keys.platform {
            platform = nil
        } else if key == keys.network {
            network = nil
        } else if key == keys.development {
            flags.subtract([.development, .inDevelopment])
        }
    }
}
