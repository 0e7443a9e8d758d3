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

// Applications write records with each report, so records and their parts are written by code instead of the tables,
// which takes a fraction of the time.

extension IssueRecord: JSONObjectCodable {
    package static let fields = JSONFields(IssueRecord(message: "")) {
        $0.required("message", \.message)
        $0.optional("severity", \.severity)
        $0.optional("domain", \.domain)
        $0.optional("code", \.code)
        $0.optional("occurred_at", \.occurredAt)
        $0.optional("first_occurred_at", \.firstOccurredAt)
        $0.optional("count", \.count)
        $0.optional("source", \.source)
        $0.optional("app", \.app)
        $0.optional("fingerprint", \.fingerprint)
        $0.nonempty("backtrace", \.backtrace)
        $0.nonempty("causes", \.causes)
        $0.optional("metadata", \.metadata) { $0.asObject == nil ? "must be an object" : nil }
        $0.optional("reportable", \.reportable)
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
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
        writer.closeObject()
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

extension Application: JSONObjectCodable {
    package static let fields = JSONFields(Application()) {
        $0.optional("name", \.name)
        $0.optional("version", \.version)
        $0.optional("build", \.build)
        $0.optional("environment", \.environment)
        $0.optional("platform", \.platform)
        $0.optional("network", \.network)
        $0.optional("development", \.development)
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

extension Cause: JSONObjectCodable {
    package static let fields = JSONFields(Cause()) {
        $0.optional("domain", \.domain)
        $0.optional("code", \.code)
        $0.optional("message", \.message)
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

extension Frame: JSONObjectCodable {
    package static let fields = JSONFields(Frame()) {
        $0.optional("image", \.image)
        $0.optional("build_id", \.buildID)
        $0.optional("offset", \.offset)
        $0.optional("symbol", \.symbol)
        $0.optional("file", \.file)
        $0.optional("line", \.line)
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

extension SourceLocation: JSONObjectCodable {
    package static let fields = JSONFields(SourceLocation()) {
        $0.optional("file_id", \.fileID)
        $0.optional("line", \.line)
        $0.optional("column", \.column)
        $0.optional("function", \.function)
        $0.optional("module", \.module)
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
