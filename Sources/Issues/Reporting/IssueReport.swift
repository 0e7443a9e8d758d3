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
    /// Where in the source code it was reported.
    public var site: IssueSite
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
        if let error {
            let description = String(describing: error)
            message = note.map { "\($0): \(description)" } ?? description
            // The qualified name, since every module may have its own NetworkError.
            domain = String(reflecting: type(of: error))
            isReportable = !(error is CancellationError)
        } else {
            message = note ?? Self.wordless
            domain = nil
            isReportable = true
        }
        self.error = error
        self.note = note
        self.level = level
        self.metadata = ReportingScope.current.metadata.merging(metadata)
        self.site = site
        code = nil
        timestamp = .now
    }
}
