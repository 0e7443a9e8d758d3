package import IssueWire
internal import UnixIO

/// A reported issue: its message, error, level, metadata, location and context.
public struct IssueReport: Sendable {
    private var storage: Storage

    // Shared by all copies, since a report is often copied and rarely changed.
    private final class Storage: Sendable {
        let content: Content

        init(_ content: Content) {
            self.content = content
        }
    }

    private var content: Content {
        get { storage.content }
        set {
            var content = newValue
            // The new content may contain values that the rules of redaction replace.
            content.isRedacted = false
            storage = Storage(content)
        }
    }

    /// Whether the application's rules of redaction were applied, and nothing has changed since.
    var isRedacted: Bool { storage.content.isRedacted }

    /// Returns the report with a change made by redaction, and marks it as redacted.
    func replacing(_ change: (inout Content) -> Void) -> IssueReport {
        var (report, content) = (self, storage.content)
        change(&content)
        content.isRedacted = true
        report.storage = Storage(content)
        return report
    }

    /// The text of the issue: the caller's message, the error's message, or both. A default text if there is neither.
    public var message: String {
        get { storage.content.message }
        set {
            var content = content
            if !newValue.utf8.elementsEqual(content.message.utf8) {
                content.values = IssueText.Values(isKnown: false)
                content.note = newValue
            }
            content.message = newValue
            self.content = content
        }
    }
    /// The constant text of the message or of its beginning, with `{}` for each value and with literal braces doubled.
    /// Nil if it is unknown, for example because the message was not reported as an ``IssueText``, or if it is too long
    /// or has too many values to be sent.
    public var template: String? { parts?.template }
    /// The reported error. Nil if only a message was reported.
    public var error: (any Error)? {
        get { storage.content.error }
        set { content.error = newValue }
    }
    /// The level of the issue.
    public var level: IssueLevel {
        get { storage.content.level }
        set { content.level = newValue }
    }
    /// The metadata of the reporting call, of the scopes around it, and of the error.
    public var metadata: IssueMetadata {
        get { storage.content.metadata }
        set { content.metadata = newValue }
    }
    /// The events before the issue, oldest first. By default, empty for levels below ``IssueLevel/error``.
    public var breadcrumbs: [IssueBreadcrumb] {
        get { storage.content.breadcrumbs }
        set { content.breadcrumbs = newValue }
    }
    /// The source location that reported the issue.
    public var site: IssueSite {
        get { storage.content.site }
        set { content.site = newValue }
    }
    /// The ids of the trace, the request and the user. Missing ids are taken from `withIssueContext` and
    /// ``IssueReporters/context`` when the report is created.
    public var context: IssueContext {
        get { storage.content.context }
        set { content.context = newValue }
    }
    /// The errors that caused the reported error, outermost first.
    public var causes: [IssueCause] {
        get { storage.content.causes }
        set { content.causes = newValue }
    }
    /// The kind of the error: its domain or, if it has none, the name of its type. Nil if only a message or an
    /// ``IssueMessage`` was reported.
    public var domain: String? {
        get { storage.content.domain }
        set { content.domain = newValue }
    }
    /// The number of the error within its domain. Nil if the error has none.
    public var code: Int? {
        get { storage.content.code }
        set { content.code = newValue }
    }
    /// The text that the issue is grouped by instead of its message and location. Nil or an empty string lets the
    /// daemon compute the fingerprint; an issue without a text is then grouped by its location.
    public var fingerprint: String? {
        get { storage.content.fingerprint }
        set { content.fingerprint = newValue }
    }
    /// The time of the report.
    public var timestamp: IssueTimestamp {
        get { storage.content.timestamp }
        set { content.timestamp = newValue }
    }
    /// Whether the daemon may forward the issue. If false, it is stored and counted, but never forwarded.
    public var isReportable: Bool {
        get { storage.content.isReportable }
        set { content.isReportable = newValue }
    }
    /// The fingerprint to send: the one that was set or, for an issue without a text, the location. Nil lets the daemon
    /// compute it.
    var sentFingerprint: String? {
        if let fingerprint, !fingerprint.isEmpty { return fingerprint }
        return storage.content.lacksText ? site.description : nil
    }

    /// The approximate size in memory in bytes, computed faster than by encoding.
    var estimatedBytes: Int { storage.content.estimatedBytes }
    /// The return addresses of the calls that led to the report, innermost first.
    var addresses: [UInt] { storage.content.addresses }
    /// The caller's message, without the error's. Nil if there is none.
    package var note: String? { storage.content.note }
    /// The caller's message with its values. Nil if there is none.
    var noteText: IssueText? {
        storage.content.note.map { IssueText($0, storage.content.values) }
    }
    /// The template and the values as they are sent. Nil if they are unknown or exceed a limit.
    var parts: (template: String, parts: [JSONValue])? {
        IssueText.parts(
            of: storage.content.message, storage.content.values, length: storage.content.describedLength)
    }
    /// The approximate number of bytes that the template and the values add to a call.
    var partBytes: Int {
        guard storage.content.values.isKnown else { return 0 }
        return 32 + storage.content.describedLength + storage.content.values.count * 4
    }

    /// Creates a report with a message.
    ///
    /// The metadata of the scopes around the call is added; see `withIssueMetadata`.
    ///
    /// - Parameters:
    ///   - message: A description of what went wrong.
    ///   - level: The level of the issue.
    ///   - metadata: Metadata of the issue.
    ///   - fingerprint: The text that the issue is grouped by instead of its message and location. Nil or an empty
    ///     string uses that of `withIssueFingerprint`; without one, the daemon computes it.
    ///   - fileID: The file ID of the reported location. Defaults to the caller's.
    ///   - filePath: The file path of the reported location. Defaults to the caller's.
    ///   - line: The line of the reported location. Defaults to the caller's.
    ///   - column: The column of the reported location. Defaults to the caller's.
    ///   - function: The function of the reported location. Defaults to the caller's.
    public init(
        _ message: IssueText, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fingerprint: String? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column, function: StaticString? = #function
    ) {
        self.init(
            note: message, level: level, metadata: metadata, fingerprint: fingerprint,
            site: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
    }

    /// Creates a report for a caught error. `message` describes what the program was doing when the error occurred.
    /// Otherwise the same as the version with a message only.
    public init(
        _ error: any Error, _ message: IssueText, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fingerprint: String? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column, function: StaticString? = #function
    ) {
        self.init(
            error: error, note: message, level: level, metadata: metadata, fingerprint: fingerprint,
            site: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
    }

    /// Creates a report with a message that is not a literal; nil for none. Otherwise the same as the version with an
    /// ``IssueText``.
    @_disfavoredOverload
    public init(
        _ message: String?, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fingerprint: String? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column, function: StaticString? = #function
    ) {
        self.init(
            note: IssueText.plain(message), level: level, metadata: metadata, fingerprint: fingerprint,
            site: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
    }

    /// Creates a report for a caught error. `message` describes what the program was doing when the error occurred; nil
    /// for none. Otherwise the same as the version with a message only.
    @_disfavoredOverload
    public init(
        _ error: any Error, _ message: String? = nil, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fingerprint: String? = nil,
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
        column: UInt = #column, function: StaticString? = #function
    ) {
        self.init(
            error: error, note: IssueText.plain(message), level: level, metadata: metadata, fingerprint: fingerprint,
            site: IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function))
    }

    /// The message of an issue that was reported with neither a message nor an error.
    static let defaultMessage = "Issue reported"

    /// Creates a report in a scope.
    ///
    /// - Parameters:
    ///   - error: The error. Nil for a message only.
    ///   - note: The caller's message. Nil for none.
    ///   - level: The level of the issue.
    ///   - metadata: Metadata of the call.
    ///   - fingerprint: The text that the issue is grouped by. Nil or an empty string uses that of the scope.
    ///   - site: The reported location.
    ///   - scope: The scope.
    ///   - mark: The backtrace has only calls above this position.
    init(
        error: (any Error)? = nil, note: IssueText?, level: IssueLevel, metadata: IssueMetadata, fingerprint: String?,
        site: IssueSite, in scope: ReportingScope.Box = ReportingScope.here, at mark: CallStack.Mark = CallStack.Mark()
    ) {
        let note = note.flatMap { $0.text.isEmpty ? nil : $0 }
        var content = Content(
            message: note?.text ?? Self.defaultMessage, level: level, metadata: scope.scope.metadata.merging(metadata),
            breadcrumbs: level >= .error ? scope.scope.trail.crumbs : [], site: site,
            fingerprint: fingerprint.flatMap { $0.isEmpty ? nil : $0 } ?? scope.scope.fingerprint,
            timestamp: .now, note: note?.text,
            addresses: BacktraceChoice.addresses(for: level, above: mark),
            values: note?.values ?? IssueText.Values(isKnown: false), describedLength: note?.text.utf8.count ?? 0,
            ids: ContextHook.context(in: scope))
        if let error { content.apply(error, ErrorReading(error)) }
        // Consumed, since a copy would retain and release each text and list.
        storage = Storage(consume content)
    }

    /// Returns `true` if the daemon would receive the same for both reports, except for the time, the function and the
    /// backtrace.
    func isDuplicate(as other: IssueReport) -> Bool {
        // Compares the line and the column first: they usually differ, and the comparison is cheap.
        storage.content.site.line == other.storage.content.site.line
            && storage.content.site.column == other.storage.content.site.column && level == other.level
            && message == other.message && metadata == other.metadata && domain == other.domain
            && code == other.code && fingerprint == other.fingerprint && causes == other.causes
            && isReportable == other.isReportable
            && breadcrumbs == other.breadcrumbs && storage.content.values == other.storage.content.values
            && context == other.context && site.file == other.site.file
    }

    /// Replaces the error. The old error, or the message if there was none, becomes a cause of the new one.
    mutating func replaceError(with error: any Error) {
        var content = content
        let reading = ErrorReading(error)
        let replaced = IssueCause(
            domain: domain, code: code, message: content.error == nil ? message : content.errorMessage)
        // A responder may return the same error that it received.
        guard reading.cause != replaced else { return }
        let older = causes
        // For a report without an error, the responders received the message as the error, so it becomes a cause.
        if content.error == nil { content.note = nil }
        content.apply(error, reading)
        // If the new error wraps the old one, its causes already include the old error and the old error's causes.
        content.causes += ([replaced] + older).filter { !content.causes.contains($0) }
        self.content = content
    }
}

extension IssueReport {
    /// Creates a report for a location that is known only at run time, for example one that a logger receives.
    ///
    /// - Parameters:
    ///   - message: A description of what went wrong.
    ///   - level: The level of the issue.
    ///   - metadata: Metadata of the issue.
    ///   - fingerprint: The text that the issue is grouped by instead of its message and location. Nil or an empty
    ///     string uses that of `withIssueFingerprint`; without one, the daemon computes it.
    ///   - context: The ids of the trace, the request and the user. Missing ids are taken from `withIssueContext` and
    ///     ``IssueReporters/context``.
    ///   - site: The reported location.
    public init(
        _ message: IssueText, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fingerprint: String? = nil, context: IssueContext = IssueContext(), site: IssueSite
    ) {
        self.init(note: message, level: level, metadata: metadata, fingerprint: fingerprint, site: site)
        complete(context)
    }

    /// Creates a report for a location that is known at run time, with a message that is not a literal; nil for none.
    /// Otherwise the same as the version with an ``IssueText``.
    @_disfavoredOverload
    public init(
        _ message: String?, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fingerprint: String? = nil, context: IssueContext = IssueContext(), site: IssueSite
    ) {
        self.init(
            note: IssueText.plain(message), level: level, metadata: metadata, fingerprint: fingerprint, site: site)
        complete(context)
    }

    /// Creates a report for a caught error and a location that is known at run time. `message` describes what the
    /// program was doing when the error occurred. Otherwise the same as the version with a message only.
    public init(
        _ error: any Error, _ message: IssueText, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fingerprint: String? = nil, context: IssueContext = IssueContext(), site: IssueSite
    ) {
        self.init(error: error, note: message, level: level, metadata: metadata, fingerprint: fingerprint, site: site)
        complete(context)
    }

    /// Creates a report for a caught error and a location that is known at run time, with a message that is not a
    /// literal; nil for none. Otherwise the same as the version with an ``IssueText``.
    @_disfavoredOverload
    public init(
        _ error: any Error, _ message: String? = nil, level: IssueLevel = .error, metadata: IssueMetadata = [:],
        fingerprint: String? = nil, context: IssueContext = IssueContext(), site: IssueSite
    ) {
        self.init(
            error: error, note: IssueText.plain(message), level: level, metadata: metadata, fingerprint: fingerprint,
            site: site)
        complete(context)
    }

    private mutating func complete(_ context: IssueContext) {
        if !context.isEmpty { self.context = context.completed(by: self.context) }
    }
}

extension IssueReport: CustomStringConvertible {
    /// The location, level, message and metadata.
    public var description: String { StandardErrorLine.line(self, saying: message) }
}

extension IssueReport {
    /// The properties of a report.
    struct Content: Sendable {
        var message: String
        var error: (any Error)?
        var level: IssueLevel
        var metadata: IssueMetadata
        var breadcrumbs: [IssueBreadcrumb]
        var site: IssueSite
        var causes: [IssueCause] = []
        var domain: String?
        var code: Int?
        var fingerprint: String?
        var timestamp: IssueTimestamp
        var isReportable = true
        /// The caller's message, without the error's. Nil if there is none.
        var note: String?
        /// The return addresses of the calls that led to the report, innermost first.
        var addresses: [UInt] = []
        /// The error's message, without the caller's.
        var errorMessage = ""
        /// The values in the first `describedLength` bytes of the message.
        var values = IssueText.Values(isKnown: false)
        /// The number of bytes at the beginning of the message that `values` describes.
        var describedLength = 0
        /// The ids of ``context``. Nil means the same as an empty context.
        var ids: ScopeContext?
        var isRedacted = false

        var context: IssueContext {
            get { ids?.ids ?? IssueContext() }
            set { ids = newValue.isEmpty ? nil : ScopeContext(newValue) }
        }

        /// Sets the error and everything that is read from it.
        mutating func apply(_ error: any Error, _ reading: ErrorReading) {
            message = note.map { "\($0): \(reading.message)" } ?? reading.message
            errorMessage = reading.message
            if note == nil {
                values = (error as? Reported.Failure)?.values(in: message) ?? IssueText.Values(isKnown: false)
                describedLength = message.utf8.count
            }
            domain = reading.domain
            code = reading.code
            metadata = reading.metadata.merging(metadata)
            causes = CauseWalk(error, reading).causes
            isReportable = reading.isReportable
            self.error = error
        }

        /// Whether neither the caller nor an error provides a text.
        var lacksText: Bool {
            guard note == nil else { return false }
            // Checks the domain instead of the error's type, since the error is released before the report is encoded.
            return domain == Reported.Failure.domain
                ? message == Reported.Failure.noReason : domain == nil && message == IssueReport.defaultMessage
        }
    }
}

extension IssueReport.Content {
    /// The approximate size in memory in bytes, computed faster than by encoding.
    var estimatedBytes: Int {
        320 + (ids?.ids.estimatedBytes ?? 0) + message.utf8.count + (domain?.utf8.count ?? 0)
            + (fingerprint?.utf8.count ?? 0) + metadata.estimatedBytes + addresses.count * 8
            + breadcrumbs.reduce(0) { $0 + 64 + $1.message.utf8.count + $1.metadata.estimatedBytes }
            + causes.reduce(0) { $0 + 64 + $1.message.utf8.count + ($1.domain?.utf8.count ?? 0) }
    }
}

/// A source location that reported an issue.
public struct IssueSite: Sendable {
    /// The module and the file, for example `Shop/Cart.swift`. `unknown/unknown` for a location given at run time; see
    /// ``file``.
    public var fileID: StaticString { didSet { given = given.map { Given(fileID: nil, function: $0.function) } } }
    /// The path of the file on the machine that compiled it. `unknown` for a location given at run time.
    public var filePath: StaticString
    /// The line, counted from 1.
    public var line: UInt
    /// The column, counted from 1. 0 if unknown.
    public var column: UInt
    /// The function. Nil if the reporting call does not know it, or for a location given at run time; see
    /// ``functionName``.
    public var function: StaticString? { didSet { given = given.map { Given(fileID: $0.fileID, function: nil) } } }
    private var given: Given?

    /// The texts of a location given at run time. A text is nil if it was not given, or was replaced by setting a
    /// property.
    private final class Given: Sendable {
        let fileID: String?
        let function: String?

        init(fileID: String?, function: String?) {
            self.fileID = fileID
            self.function = function
        }
    }

    /// Creates a source location. By default, it is that of the caller, without the function.
    ///
    /// - Parameters:
    ///   - fileID: The module and the file, for example `Shop/Cart.swift`.
    ///   - filePath: The path of the file on the machine that compiled it.
    ///   - line: The line, counted from 1.
    ///   - column: The column, counted from 1.
    ///   - function: The function. Nil if unknown.
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

    /// Creates a source location from strings that are known only at run time, such as those that a logger receives.
    ///
    /// A reporter that is not an ``IssueSink`` receives the file ID `unknown/unknown` and the file path `unknown`.
    ///
    /// - Parameters:
    ///   - fileID: The module and the file, for example `Shop/Cart.swift`, or a path.
    ///   - line: The line, counted from 1.
    ///   - column: The column, counted from 1. 0 if unknown.
    ///   - function: The function. Nil if unknown.
    @_disfavoredOverload
    public init(fileID: String, line: UInt, column: UInt = 0, function: String? = nil) {
        self.init(fileID: "unknown/unknown", filePath: "unknown", line: line, column: column)
        given = Given(fileID: fileID, function: function)
    }
}

extension IssueSite {
    /// The module and the file, for example `Shop/Cart.swift`, or the path that was given at run time.
    public var file: String { given?.fileID ?? fileID.description }

    /// The function. Nil if unknown.
    public var functionName: String? { given?.function ?? function?.description }

    /// The line and the file name, for example `42_Cart.swift`.
    public var name: String {
        let path = file
        return "\(line)_\(path.split(separator: "/").last.map(String.init) ?? path)"
    }
}

extension IssueSite: CustomStringConvertible {
    /// The file and the line, for example `Shop/Cart.swift:42`.
    public var description: String {
        "\(file):\(line)"
    }
}

extension IssueTimestamp {
    /// The current time.
    public static var now: IssueTimestamp {
        IssueTimestamp(millisecondsSince1970: WallClock.nowMilliseconds)
    }
}
