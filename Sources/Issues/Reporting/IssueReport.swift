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
    static let wordless = "Issue reported"

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
            message: note ?? Self.wordless, level: level, metadata: scope.scope.metadata.merging(metadata),
            breadcrumbs: level >= .error ? scope.scope.trail.crumbs : [], site: site, timestamp: .now, note: note,
            addresses: BacktraceChoice.addresses(for: level, above: mark))
        if let error { facts.take(error, ErrorReading(error)) }
        storage = Storage(facts)
    }

    /// Whether another one tells nothing that this one does not, but for the time.
    func saysTheSame(as other: IssueReport) -> Bool {
        storage.facts.saysTheSame(as: other.storage.facts)
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
