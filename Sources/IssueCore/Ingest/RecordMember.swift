import IssueProtocol

/// A member that a record, its source or its application may have on the wire.
enum RecordMember: UInt8, CaseIterable, Sendable {
    // The texts of a series, in the order of `SeriesKey`.
    case name, version, environment, platform, network, domain, fileID, function, module, fingerprint
    case message

    // The integers of a series, in the order of `SeriesKey`.
    case code, build, line, column
    case count

    case severity, occurredAt, firstOccurredAt, reportable, development
    case source, app, metadata, causes, backtrace

    static let textCount = 11
    static let integerCount = 5

    /// Where a text is kept among the record's.
    @inline(__always)
    var textPlace: Int { Int(rawValue) }

    /// Where an integer is kept among the record's.
    @inline(__always)
    var integerPlace: Int { Int(rawValue) - Self.textCount }

    /// The object that it stands in.
    var container: RecordContainer {
        switch self {
        case .fileID, .line, .column, .function, .module: .source
        case .name, .version, .build, .environment, .platform, .network, .development: .app
        case .message, .severity, .domain, .code, .occurredAt, .firstOccurredAt, .count, .source, .app, .fingerprint,
            .backtrace, .causes, .metadata, .reportable:
            .record
        }
    }

    /// What it is called on the wire.
    var key: StaticString {
        switch self {
        case .message: "message"
        case .severity: "severity"
        case .domain: "domain"
        case .code: "code"
        case .occurredAt: "occurred_at"
        case .firstOccurredAt: "first_occurred_at"
        case .count: "count"
        case .source: "source"
        case .app: "app"
        case .fingerprint: "fingerprint"
        case .backtrace: "backtrace"
        case .causes: "causes"
        case .metadata: "metadata"
        case .reportable: "reportable"
        case .fileID: "file_id"
        case .line: "line"
        case .column: "column"
        case .function: "function"
        case .module: "module"
        case .name: "name"
        case .version: "version"
        case .build: "build"
        case .environment: "environment"
        case .platform: "platform"
        case .network: "network"
        case .development: "development"
        }
    }

    /// How a receipt names it.
    var path: String {
        switch container {
        case .record: "\(key)"
        case .source: "source.\(key)"
        case .app: "app.\(key)"
        }
    }
}
