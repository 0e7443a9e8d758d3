/// A report of one or more occurrences, as sent by a client or as stored (`Record` on the wire). Nil properties and
/// empty lists are absent on the wire.
package struct IssueRecord: Equatable, Sendable {
    package var message: String
    /// The severity; nil for `error`.
    package var severity: IssueLevel?
    package var domain: String?
    package var code: Int64?
    /// The time of the last occurrence; nil for the time of receipt.
    package var occurredAt: IssueTimestamp?
    /// The time of the first occurrence, if the record represents several.
    package var firstOccurredAt: IssueTimestamp?
    /// The number of occurrences that the record represents; nil for one.
    package var count: Int64?
    package var source: SourceLocation?
    package var app: Application?
    /// The fingerprint chosen by the sender; nil to let the daemon compute it.
    package var fingerprint: String?
    package var backtrace: [BacktraceFrame]
    package var causes: [IssueCause]
    /// A JSON object.
    package var metadata: JSONValue?
    /// Whether the record may be forwarded; nil for `true`.
    package var reportable: Bool?
    /// The message with `{}` in place of each value, and with all other braces doubled; nil if unknown.
    package var template: String?
    /// The values that replace each `{}` of the template, in order: strings, numbers and booleans.
    package var parts: [JSONValue]
    /// The ids of the trace, span, request and user. On the wire, they are members of the record itself.
    package var context: IssueContext

    package init(
        message: String, severity: IssueLevel? = nil, domain: String? = nil, code: Int64? = nil,
        occurredAt: IssueTimestamp? = nil, firstOccurredAt: IssueTimestamp? = nil, count: Int64? = nil,
        source: SourceLocation? = nil, app: Application? = nil, fingerprint: String? = nil,
        backtrace: [BacktraceFrame] = [], causes: [IssueCause] = [], metadata: JSONValue? = nil,
        reportable: Bool? = nil, template: String? = nil, parts: [JSONValue] = [],
        context: IssueContext = IssueContext()
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
        self.template = template
        self.parts = parts
        self.context = context
    }
}

// Applications encode a record for each report. Records and most types in them therefore implement `write(to:)` by
// hand, which is faster than writing with `visit`.

extension IssueRecord: JSONObjectCodable {
    package static var initial: Self { Self(message: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.required("message", &message)
        try members.optional("severity", &severity)
        try members.optional("domain", &domain)
        try members.optional("code", &code)
        try members.optional("occurred_at", &occurredAt)
        try members.optional("first_occurred_at", &firstOccurredAt)
        try members.optional("count", &count)
        try members.optional("source", &source)
        try members.optional("app", &app)
        try members.optional("fingerprint", &fingerprint)
        try members.nonempty("backtrace", &backtrace)
        try members.nonempty("causes", &causes)
        try members.optional("metadata", &metadata) { $0.asObject == nil ? "must be an object" : nil }
        try members.optional("reportable", &reportable)
        try members.optional("template", &template)
        try members.nonempty("parts", &parts)
        guard parts.allSatisfy(\.isScalar) else {
            throw FieldError(field: "parts", reason: "must be strings, numbers and booleans")
        }
        try context.visit(&members)
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
        writer.member("template", ifPresent: template)
        if !parts.isEmpty { writer.member("parts", parts) }
        context.writeMembers(to: &writer)
        writer.closeObject()
    }
}

extension IssueRecord {
    /// Sets the context, the causes and the backtrace from the JSON object that the store keeps them in.
    package mutating func setDetails(_ details: JSONValue) {
        context = IssueContext(details)
        causes = details["causes"].flatMap { try? [IssueCause](json: $0.json) } ?? []
        backtrace = details["backtrace"].flatMap { try? [BacktraceFrame](json: $0.json) } ?? []
    }
}

extension JSONValue {
    /// Whether the value may be an element of `parts`.
    fileprivate var isScalar: Bool {
        switch self {
        case .bool, .integer, .number, .string: true
        case .null, .array, .object: false
        }
    }
}

/// The severity of an issue.
public enum IssueLevel: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Useful only for debugging.
    case debug
    /// Informational; not a fault.
    case info
    /// A possible problem.
    case warning
    /// A failure.
    case error
    /// A failure that needs attention immediately.
    case critical

    /// The number of the level in the database, and its position in the order: 0 for ``debug`` to 4 for ``critical``.
    package var rank: UInt8 {
        switch self {
        case .debug: 0
        case .info: 1
        case .warning: 2
        case .error: 3
        case .critical: 4
        }
    }

    /// Returns the level with a rank; nil if no such level exists.
    package init?(rank: UInt8) {
        guard let match = Self.allCases.first(where: { $0.rank == rank }) else { return nil }
        self = match
    }

    /// Returns `true` if a level is lower than another.
    ///
    /// - Parameters:
    ///   - left: A level.
    ///   - right: Another level.
    /// - Returns: True if `left` is less severe than `right`.
    public static func < (left: Self, right: Self) -> Bool {
        left.rank < right.rank
    }
}

extension IssueLevel: JSONStringEnum {}

/// The application that a record claims to come from. A nil property is absent on the wire.
package struct Application: Hashable, JSONObjectCodable, Sendable {
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

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("name", &name)
        try members.optional("version", &version)
        try members.optional("build", &build)
        try members.optional("environment", &environment)
        try members.optional("platform", &platform)
        try members.optional("network", &network)
        try members.optional("development", &development)
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

/// An error that caused the reported error, or that a responder replaced with the reported error.
public struct IssueCause: Hashable, Sendable {
    /// The kind of the error, usually its type's qualified name. Nil if unknown.
    public var domain: String?
    /// The number of the error within its domain. Nil if it has none.
    public var code: Int?
    /// The text of the error. Empty if unknown.
    public var message: String

    /// Creates a cause.
    ///
    /// - Parameters:
    ///   - domain: The kind of the error. Nil if unknown.
    ///   - code: The number of the error within its domain. Nil if it has none.
    ///   - message: The text of the error.
    public init(domain: String? = nil, code: Int? = nil, message: String) {
        self.domain = domain
        self.code = code
        self.message = message
    }
}

extension IssueCause: JSONObjectCodable {
    package static var initial: Self { Self(message: "") }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("domain", &domain)
        try members.optional("code", &code)
        try members.nonempty("message", &message)
    }
}

/// A call in a backtrace: a location in a binary, and names if the sender knew them (`Frame` on the wire).
public struct BacktraceFrame: Hashable, Sendable {
    /// The name of the binary. Nil if unknown.
    public var image: String?
    /// The build ID of the binary, to find its symbols. Nil if unknown.
    public var buildID: String?
    /// The offset in bytes of the return address from the start of the symbol or, if there is no symbol, from the load
    /// address of the binary. Nil if unknown.
    public var offset: UInt64?
    /// The function. Nil if unknown.
    public var symbol: String?
    /// The source file. Nil if unknown.
    public var file: String?
    /// The line in the source file. Nil if unknown.
    public var line: Int?

    package init(
        image: String? = nil, buildID: String? = nil, offset: UInt64? = nil, symbol: String? = nil,
        file: String? = nil, line: Int? = nil
    ) {
        self.image = image
        self.buildID = buildID
        self.offset = offset
        self.symbol = symbol
        self.file = file
        self.line = line
    }

    /// The symbol, offset and source location, separated by spaces, for users. If there is no symbol, the build ID
    /// follows, since it is needed to find the symbol. Empty if none of these is known.
    package var location: String {
        let parts = [
            symbol, offset.map { "+ 0x\(String($0, radix: 16))" },
            file.map { file in "at \(file)\(line.map { ":\($0)" } ?? "")" },
            symbol == nil ? buildID.map { "[\($0)]" } : nil,
        ]
        return parts.compactMap(\.self).joined(separator: " ")
    }
}

extension BacktraceFrame: CustomStringConvertible {
    /// The known properties in one line. The build ID is included only if the symbol is unknown.
    public var description: String {
        let location = location
        return TerminalSanitizer.line((image ?? "?") + (location.isEmpty ? "" : " \(location)"))
    }
}

extension BacktraceFrame: JSONObjectCodable {
    package static var initial: Self { Self() }

    /// The offset on the wire, where integers are signed.
    private var signedOffset: Int64? {
        get { offset.map { Int64(bitPattern: $0) } }
        set { offset = newValue.map { UInt64(bitPattern: $0) } }
    }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("image", &image)
        try members.optional("build_id", &buildID)
        try members.optional("offset", &signedOffset)
        try members.optional("symbol", &symbol)
        try members.optional("file", &file)
        try members.optional("line", &line)
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("image", ifPresent: image)
        writer.member("build_id", ifPresent: buildID)
        writer.member("offset", ifPresent: signedOffset)
        writer.member("symbol", ifPresent: symbol)
        writer.member("file", ifPresent: file)
        writer.member("line", ifPresent: line)
        writer.closeObject()
    }
}

/// The source location that a record names (`Source` on the wire). A nil property is absent on the wire.
package struct SourceLocation: Hashable, JSONObjectCodable, Sendable {
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

    package static var initial: Self { Self() }

    package mutating func visit(_ members: inout JSONMembers) throws(FieldError) {
        try members.optional("file_id", &fileID)
        try members.optional("line", &line)
        try members.optional("column", &column)
        try members.optional("function", &function)
        try members.optional("module", &module)
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
