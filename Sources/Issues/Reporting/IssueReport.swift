package import IssueWire
internal import UnixIO

/// All that is known about one reported issue.
public struct IssueReport: Sendable {
    private var storage: Storage

    // Shared by all copies: on its way a report is copied many times, and
    // hardly ever changed.
    private final class Storage: Sendable {
        let facts: Facts

        init(_ facts: Facts) {
            self.facts = facts
        }
    }

    private var facts: Facts {
        get { storage.facts }
        set { storage = Storage(newValue) }
    }

    /// What a person reads: the caller's words, the error's, or both.
    public var message: String {
        get { storage.facts.message }
        set { facts.message = newValue }
    }
    /// The error that was reported, if it was one.
    public var error: (any Error)? {
        get { storage.facts.error }
        set { facts.error = newValue }
    }
    /// How serious it is.
    public var level: IssueLevel {
        get { storage.facts.level }
        set { facts.level = newValue }
    }
    /// What else was said: by the call, and by the scopes around it.
    public var metadata: IssueMetadata {
        get { storage.facts.metadata }
        set { facts.metadata = newValue }
    }
    /// What happened shortly before, oldest first; only of errors and worse.
    public var breadcrumbs: [IssueBreadcrumb] {
        get { storage.facts.breadcrumbs }
        set { facts.breadcrumbs = newValue }
    }
    /// Where in the source code it was reported.
    public var site: IssueSite {
        get { storage.facts.site }
        set { facts.site = newValue }
    }
    /// The errors that led to this one, outermost first.
    public var causes: [IssueCause] {
        get { storage.facts.causes }
        set { facts.causes = newValue }
    }
    /// What kind of error it is; the name of the error's type unless told otherwise.
    public var domain: String? {
        get { storage.facts.domain }
        set { facts.domain = newValue }
    }
    /// The number of the error within its domain.
    public var code: Int? {
        get { storage.facts.code }
        set { facts.code = newValue }
    }
    /// When it was reported.
    public var timestamp: IssueTimestamp {
        get { storage.facts.timestamp }
        set { facts.timestamp = newValue }
    }
    /// Whether the daemon may forward it; if not, it is stored and counted only.
    public var isReportable: Bool {
        get { storage.facts.isReportable }
        set { facts.isReportable = newValue }
    }

    /// Where the calls return to that led here, innermost first.
    var addresses: [UInt] { storage.facts.addresses }
    /// The caller's own words, without the error's.
    package var note: String? { storage.facts.note }

    /// Describes an issue in words.
    ///
    /// The metadata of the scopes around the call is added; see
    /// `withIssueMetadata`.
    public init(
        _ message: String, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column, function: StaticString? = #function
    ) {
        self.init(
            note: message, level: level, metadata: metadata,
            site: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
    }

    /// Describes a caught error, in its own words and those of the caller.
    ///
    /// The metadata of the scopes around the call is added; see
    /// `withIssueMetadata`.
    public init(
        _ error: any Error, _ message: String? = nil, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column, function: StaticString? = #function
    ) {
        self.init(
            error: error, note: message, level: level, metadata: metadata,
            site: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
    }

    /// The message where nobody gave one.
    static let defaultMessage = "Issue reported"

    package init(
        error: (any Error)? = nil, note: String?, level: IssueLevel, metadata: IssueMetadata, site: IssueSite
    ) {
        self.init(
            error: error, note: note, level: level, metadata: metadata, site: site, in: ReportingScope.here,
            at: CallStack.Mark())
    }

    init(
        error: (any Error)? = nil, note: String?, level: IssueLevel, metadata: IssueMetadata, site: IssueSite,
        in scope: ReportingScope.Box, at mark: CallStack.Mark
    ) {
        let note = note.flatMap { $0.isEmpty ? nil : $0 }
        var facts = Facts(
            message: note ?? Self.defaultMessage, level: level, metadata: scope.scope.metadata.merging(metadata),
            breadcrumbs: level >= .error ? scope.scope.trail.crumbs : [], site: site, timestamp: .now, note: note,
            addresses: BacktraceChoice.addresses(for: level, above: mark))
        if let error { facts.take(error, ErrorReading(error)) }
        storage = Storage(facts)
    }

    /// Whether another one tells nothing that this one does not, but for the time.
    func isDuplicate(as other: IssueReport) -> Bool {
        storage.facts.isDuplicate(as: other.storage.facts)
    }

    /// Puts another error in the place of this one, which becomes its first cause.
    mutating func replaceError(by error: any Error) {
        // A responder that has nothing to say of an error answers with the same.
        let reading = ErrorReading(error)
        var facts = facts
        guard facts.replaceError(by: error, reading) else { return }
        self.facts = facts
    }
}

extension IssueReport: CustomStringConvertible {
    /// Where, how serious, what, and the metadata, in a line.
    public var description: String { StandardErrorLine.line(self, saying: message) }
}

extension IssueReport {
    /// What a report holds.
    struct Facts: Sendable {
        var message: String
        var error: (any Error)?
        var level: IssueLevel
        var metadata: IssueMetadata
        var breadcrumbs: [IssueBreadcrumb]
        var site: IssueSite
        var causes: [IssueCause] = []
        var domain: String?
        var code: Int?
        var timestamp: IssueTimestamp
        var isReportable = true
        /// The caller's own words, without the error's.
        var note: String?
        /// Where the calls return to that led here, innermost first.
        var addresses: [UInt] = []
        /// The error's own words, without the caller's.
        var ownWords = ""

        /// Whether others tell nothing that these do not, but for the time.
        func isDuplicate(as other: Facts) -> Bool {
            // Most differ in their place, which is quickest to see.
            site.line == other.site.line && site.column == other.site.column && level == other.level
                && message == other.message && metadata == other.metadata && domain == other.domain
                && code == other.code && causes == other.causes && isReportable == other.isReportable
                && breadcrumbs == other.breadcrumbs && site.fileID.description == other.site.fileID.description
        }

        /// Puts another error in the place of this one; false where it is the same.
        mutating func replaceError(by error: any Error, _ reading: ErrorReading) -> Bool {
            let replaced = IssueCause(domain: domain, code: code, message: self.error == nil ? message : ownWords)
            guard reading.cause != replaced else { return false }
            let older = causes
            // The words of a message are the error that it climbed as.
            if self.error == nil { note = nil }
            take(error, reading)
            // Who wraps the old error has named it, and what lies beneath it.
            causes += ([replaced] + older).filter { !causes.contains($0) }
            return true
        }

        mutating func take(_ error: any Error, _ reading: ErrorReading) {
            message = note.map { "\($0): \(reading.message)" } ?? reading.message
            ownWords = reading.message
            domain = reading.domain
            code = reading.code
            metadata = reading.facts.merging(metadata)
            causes = CauseWalk(error, reading).causes
            isReportable = reading.isReportable
            self.error = error
        }
    }
}

/// The place in the source code that reported an issue.
public struct IssueSite: Sendable {
    /// The module and the file, such as `Shop/Cart.swift`.
    public var fileID: StaticString
    /// The path of the file on the machine that compiled it.
    public var filePath: StaticString
    /// The line, counted from 1.
    public var line: UInt
    /// The column, counted from 1.
    public var column: UInt
    /// The function, where the reporting call knows it.
    public var function: StaticString?

    /// The place that calls this, unless told otherwise.
    public init(
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column, function: StaticString? = nil
    ) {
        self.fileID = fileID
        self.filePath = filePath
        self.line = line
        self.column = column
        self.function = function
    }
}

extension IssueSite {
    /// The line and the file as one word, such as `42_Cart.swift`.
    public var name: String {
        let path = fileID.description
        return "\(line)_\(path.split(separator: "/").last.map(String.init) ?? path)"
    }
}

extension IssueSite: CustomStringConvertible {
    /// The file and the line, such as `Shop/Cart.swift:42`.
    public var description: String {
        "\(fileID):\(line)"
    }
}

/// A moment of the wall clock, to the millisecond.
public struct IssueTimestamp: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var wire: Timestamp

    /// A moment by its milliseconds since 1970-01-01T00:00:00Z.
    public init(millisecondsSince1970: Int64) {
        wire = Timestamp(milliseconds: millisecondsSince1970)
    }

    package init(_ wire: Timestamp) {
        self.wire = wire
    }

    /// This moment.
    public static var now: IssueTimestamp {
        IssueTimestamp(millisecondsSince1970: WallClock.nowMilliseconds)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    public var millisecondsSince1970: Int64 { wire.milliseconds }

    /// RFC 3339 in UTC, such as `2026-11-21T10:00:00.123Z`.
    public var description: String { wire.text }

    /// Orders moments from the earliest to the latest.
    public static func < (left: Self, right: Self) -> Bool {
        left.wire < right.wire
    }
}

/// How serious an issue is, in the five steps that the daemon knows.
public enum IssueLevel: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Of use only while looking for a fault.
    case debug
    /// Worth knowing, and no fault.
    case info
    /// Something that deserves a look.
    case warning
    /// Something that went wrong.
    case error
    /// Something that went wrong and cannot wait.
    case critical

    /// The level that a severity stands for.
    public init(_ severity: IssueSeverity) {
        switch severity {
        case .warning: self = .warning
        case .error: self = .error
        }
    }

    /// The nearer of the two severities, for reporters that know no others.
    public var severity: IssueSeverity {
        switch self {
        case .debug, .info, .warning: .warning
        case .error, .critical: .error
        }
    }

    /// Orders levels from the mildest to the worst.
    public static func < (left: Self, right: Self) -> Bool {
        left.wire < right.wire
    }

    package init(_ wire: Severity) {
        switch wire {
        case .debug: self = .debug
        case .info: self = .info
        case .warning: self = .warning
        case .error: self = .error
        case .critical: self = .critical
        }
    }

    package var wire: Severity {
        switch self {
        case .debug: .debug
        case .info: .info
        case .warning: .warning
        case .error: .error
        case .critical: .critical
        }
    }
}

/// How serious an issue is, in the two steps that test frameworks know.
///
/// Where more steps are wanted, a report takes an ``IssueLevel`` instead.
public enum IssueSeverity: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Something that deserves a look and fails no test.
    case warning
    /// Something that went wrong.
    case error

    /// Orders severities from the mildest to the worst.
    public static func < (left: Self, right: Self) -> Bool {
        left == .warning && right == .error
    }
}
