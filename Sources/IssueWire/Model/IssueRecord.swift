/// A report of one occurrence, as sent by the client (`Record` on the wire).
package struct IssueRecord: Equatable, Sendable {
    package var message: String
    package var severity: Severity?
    package var domain: String?
    package var code: Int64?
    /// The time of the last occurrence.
    package var occurredAt: Timestamp?
    /// The time of the first occurrence, if the record stands for several.
    package var firstOccurredAt: Timestamp?
    /// The number of occurrences that the record stands for; nil for one.
    package var count: Int64?
    package var source: SourceLocation?
    package var app: Application?
    /// The fingerprint chosen by the sender; nil to let the daemon compute it.
    package var fingerprint: String?
    package var backtrace: [Frame]
    package var causes: [Cause]
    /// A JSON object, as sent by the client.
    package var metadata: JSONValue?
    /// `false` to never forward the record; nil for `true`.
    package var reportable: Bool?

    package init(
        message: String, severity: Severity? = nil, domain: String? = nil, code: Int64? = nil,
        occurredAt: Timestamp? = nil, firstOccurredAt: Timestamp? = nil, count: Int64? = nil,
        source: SourceLocation? = nil, app: Application? = nil, fingerprint: String? = nil,
        backtrace: [Frame] = [], causes: [Cause] = [], metadata: JSONValue? = nil, reportable: Bool? = nil
    ) {
        self.message = message
        self.severity = severity
        self.domain = domain
        self.code = code
        self.occurredAt = occurredAt
        self.firstOccurredAt = firstOccurredAt
        self.count = count
        self.source = source
        self.app = app
        self.fingerprint = fingerprint
        self.backtrace = backtrace
        self.causes = causes
        self.metadata = metadata
        self.reportable = reportable
    }
}

extension IssueRecord: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var message: String?
        self.init(message: "")
        try scanner.openFields()
        while let key = try scanner.nextField() {
            if key == "message" {
                try scanner.read(&message, key)
            } else if try !readMember(key, from: &scanner) {
                try scanner.skipField(key)
            }
        }
        self.message = try message.required("message")
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writeMembers(to: &writer)
        writer.closeObject()
    }

    /// Reads a member other than the message. Returns `false` if a record has no member with this key.
    package mutating func readMember(_ key: String, from scanner: inout JSONScanner) throws(FieldError) -> Bool {
        switch key {
        case "severity": try scanner.read(&severity, key)
        case "domain": try scanner.read(&domain, key)
        case "code": try scanner.read(&code, key)
        case "occurred_at": try scanner.read(&occurredAt, key)
        case "first_occurred_at": try scanner.read(&firstOccurredAt, key)
        case "count": try scanner.read(&count, key)
        case "source": try scanner.read(&source, key)
        case "app": try scanner.read(&app, key)
        case "fingerprint": try scanner.read(&fingerprint, key)
        case "backtrace": try scanner.read(&backtrace, key)
        case "causes": try scanner.read(&causes, key)
        case "metadata":
            try scanner.read(&metadata, key)
            if let metadata, metadata.asObject == nil { throw FieldError(field: key, reason: "must be an object") }
        case "reportable": try scanner.read(&reportable, key)
        default: return false
        }
        return true
    }

    /// Writes the members without the braces of the object, so that the caller can add others.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("message", message)
        writer.member("severity", ifPresent: severity)
        writer.member("domain", ifPresent: domain)
        writer.member("code", ifPresent: code)
        writer.member("occurred_at", ifPresent: occurredAt)
        writer.member("first_occurred_at", ifPresent: firstOccurredAt)
        writer.member("count", ifPresent: count)
        writer.member("source", ifPresent: source)
        writer.member("app", ifPresent: app)
        writer.member("fingerprint", ifPresent: fingerprint)
        if !backtrace.isEmpty { writer.member("backtrace", backtrace) }
        if !causes.isEmpty { writer.member("causes", causes) }
        writer.member("metadata", ifPresent: metadata)
        writer.member("reportable", ifPresent: reportable)
    }
}

/// The application that a record claims to come from.
package struct Application: Hashable, Sendable {
    package var name: String?
    package var version: String?
    package var build: Int64?
    package var environment: String?
    package var platform: String?
    package var network: String?
    package var development: Bool?

    package init(
        name: String? = nil, version: String? = nil, build: Int64? = nil, environment: String? = nil,
        platform: String? = nil, network: String? = nil, development: Bool? = nil
    ) {
        self.name = name
        self.version = version
        self.build = build
        self.environment = environment
        self.platform = platform
        self.network = network
        self.development = development
    }
}

extension Application: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "name": try scanner.read(&name, key)
            case "version": try scanner.read(&version, key)
            case "build": try scanner.read(&build, key)
            case "environment": try scanner.read(&environment, key)
            case "platform": try scanner.read(&platform, key)
            case "network": try scanner.read(&network, key)
            case "development": try scanner.read(&development, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("name", ifPresent: name)
        writer.member("version", ifPresent: version)
        writer.member("build", ifPresent: build)
        writer.member("environment", ifPresent: environment)
        writer.member("platform", ifPresent: platform)
        writer.member("network", ifPresent: network)
        writer.member("development", ifPresent: development)
        writer.closeObject()
    }
}

/// An underlying error of the reported one.
package struct Cause: Hashable, Sendable {
    package var domain: String?
    package var code: Int64?
    package var message: String?

    package init(domain: String? = nil, code: Int64? = nil, message: String? = nil) {
        self.domain = domain
        self.code = code
        self.message = message
    }
}

extension Cause: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "domain": try scanner.read(&domain, key)
            case "code": try scanner.read(&code, key)
            case "message": try scanner.read(&message, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("domain", ifPresent: domain)
        writer.member("code", ifPresent: code)
        writer.member("message", ifPresent: message)
        writer.closeObject()
    }
}

/// One frame of a backtrace, as an address or as a symbol.
package struct Frame: Hashable, Sendable {
    package var image: String?
    package var buildID: String?
    /// The offset of the return address in the image.
    package var offset: Int64?
    package var symbol: String?
    package var file: String?
    package var line: Int64?

    package init(
        image: String? = nil, buildID: String? = nil, offset: Int64? = nil, symbol: String? = nil,
        file: String? = nil, line: Int64? = nil
    ) {
        self.image = image
        self.buildID = buildID
        self.offset = offset
        self.symbol = symbol
        self.file = file
        self.line = line
    }
}

extension Frame {
    /// The symbol, offset and source location in one line, for users; empty if all are unknown.
    ///
    /// The build ID follows if there is no symbol, since it is needed to find one.
    package var location: String {
        let parts = [
            symbol, offset.map { "+ 0x\(String(UInt64(bitPattern: $0), radix: 16))" },
            file.map { file in "at \(file)\(line.map { ":\($0)" } ?? "")" },
            symbol == nil ? buildID.map { "[\($0)]" } : nil,
        ]
        return parts.compactMap(\.self).joined(separator: " ")
    }
}

extension Frame: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "image": try scanner.read(&image, key)
            case "build_id": try scanner.read(&buildID, key)
            case "offset": try scanner.read(&offset, key)
            case "symbol": try scanner.read(&symbol, key)
            case "file": try scanner.read(&file, key)
            case "line": try scanner.read(&line, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("image", ifPresent: image)
        writer.member("build_id", ifPresent: buildID)
        writer.member("offset", ifPresent: offset)
        writer.member("symbol", ifPresent: symbol)
        writer.member("file", ifPresent: file)
        writer.member("line", ifPresent: line)
        writer.closeObject()
    }
}

/// The source location that a record names (`Source` on the wire).
package struct SourceLocation: Hashable, Sendable {
    package var fileID: String?
    package var line: Int64?
    package var column: Int64?
    package var function: String?
    package var module: String?

    package init(
        fileID: String? = nil, line: Int64? = nil, column: Int64? = nil, function: String? = nil, module: String? = nil
    ) {
        self.fileID = fileID
        self.line = line
        self.column = column
        self.function = function
        self.module = module
    }
}

extension SourceLocation: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        self.init()
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "file_id": try scanner.read(&fileID, key)
            case "line": try scanner.read(&line, key)
            case "column": try scanner.read(&column, key)
            case "function": try scanner.read(&function, key)
            case "module": try scanner.read(&module, key)
            default: try scanner.skipField(key)
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("file_id", ifPresent: fileID)
        writer.member("line", ifPresent: line)
        writer.member("column", ifPresent: column)
        writer.member("function", ifPresent: function)
        writer.member("module", ifPresent: module)
        writer.closeObject()
    }
}

/// The severity of a record.
package enum Severity: UInt8, CaseIterable, Comparable, Hashable, Sendable {
    case debug
    case info
    case warning
    case error
    case critical

    /// The name of the severity on the wire and in tables.
    package var name: String {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        case .critical: "critical"
        }
    }

    /// Returns the severity with a name, or nil if no such severity exists.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }
}
