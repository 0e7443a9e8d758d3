/// All that is known about one reported issue.
public struct IssueReport: Sendable {
    /// What a person reads: the caller's words, the error's, or both.
    public var message: String
    /// The error that was reported, if it was one.
    public var error: (any Error)?
    /// How serious it is.
    public var level: IssueLevel
    /// What else was said: by the call, and by the scopes around it.
    public var metadata: IssueMetadata
    /// What happened shortly before, oldest first; only of errors and worse.
    public var breadcrumbs: [IssueBreadcrumb]
    /// Where in the source code it was reported.
    public var site: IssueSite
    /// The errors that led to this one, outermost first.
    public var causes: [IssueCause]
    /// What kind of error it is; the name of the error's type unless told otherwise.
    public var domain: String?
    /// The number of the error within its domain.
    public var code: Int?
    /// When it was reported.
    public var timestamp: IssueTimestamp
    /// Whether the daemon may forward it; if not, it is stored and counted only.
    public var isReportable: Bool

    /// The caller's own words, without the error's.
    package var note: String?
    /// The error's own words, without the caller's.
    private var ownWords = ""

    /// Describes an issue in words.
    ///
    /// The metadata of the scopes around the call is added; see
    /// ``withIssueMetadata(_:operation:)-(_,()->R)``.
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
    /// ``withIssueMetadata(_:operation:)-(_,()->R)``.
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
        let note = note.flatMap { $0.isEmpty ? nil : $0 }
        self.note = note
        self.level = level
        let scope = ReportingScope.current
        self.metadata = scope.metadata.merging(metadata)
        breadcrumbs = level >= .error ? scope.trail.crumbs : []
        self.site = site
        message = note ?? Self.wordless
        causes = []
        isReportable = true
        timestamp = .now
        if let error { take(error, ErrorReading(error)) }
    }

    /// Puts another error in the place of this one, which becomes its first cause.
    mutating func replaceError(by error: any Error) {
        let replaced = IssueCause(domain: domain, code: code, message: self.error == nil ? message : ownWords)
        // A responder that has nothing to say of an error answers with the same.
        let reading = ErrorReading(error)
        guard reading.cause != replaced else { return }
        let older = causes
        // The words of a message are the error that it climbed as.
        if self.error == nil { note = nil }
        take(error, reading)
        causes += [replaced] + older
    }

    private mutating func take(_ error: any Error, _ reading: ErrorReading) {
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
