import Issues
import Logging

/// Turns log messages of level error and above into reports, and all others into breadcrumbs.
///
/// With swift-log, use it together with the handler that writes the log:
///
/// ```swift
/// LoggingSystem.bootstrap { label in
///     MultiplexLogHandler([StreamLogHandler.standardError(label: label), IssueLogHandler(label: label)])
/// }
/// ```
///
/// The metadata of a report is that of the logger, of its metadata provider and of the message.
public struct IssueLogHandler: LogHandler {
    public var logLevel = Logger.Level.info
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?
    private let label: String

    public init(label: String, metadataProvider: Logger.MetadataProvider? = nil) {
        self.label = label
        self.metadataProvider = metadataProvider
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        let provided = metadata.merging(metadataProvider?.get() ?? [:]) { _, provided in provided }
        var reportMetadata = IssueMetadata(provided.merging(event.metadata ?? [:]) { _, call in call })
        reportMetadata["logger"] = .init(label)
        switch event.level {
        case .error, .critical:
            let level: IssueLevel = event.level == .critical ? .critical : .error
            let site = IssueSite(fileID: event.file, line: event.line, function: event.function)
            let text = event.message.description
            reportIssue(
                event.error.map { IssueReport($0, text, level: level, metadata: reportMetadata, site: site) }
                    ?? IssueReport(text, level: level, metadata: reportMetadata, site: site))
        case .trace, .debug, .info, .notice, .warning:
            if let error = event.error { reportMetadata["error"] = "\(error)" }
            leaveBreadcrumb(event.message.description, metadata: reportMetadata)
        }
    }
}

extension IssueMetadata {
    init(_ metadata: Logger.Metadata) {
        self.init()
        for (key, value) in metadata { self[Key(key)] = Value(value) }
    }
}

extension IssueMetadata.Value {
    init(_ value: Logger.MetadataValue) {
        switch value {
        case .string(let text): self.init(text)
        case .stringConvertible(let value): self.init("\(value)")
        case .dictionary(let metadata): self.init(IssueMetadata(metadata))
        case .array(let values): self.init(values.map { Self($0) })
        }
    }
}
