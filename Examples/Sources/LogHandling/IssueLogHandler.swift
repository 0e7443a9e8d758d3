import Issues

/// Turns log messages of level error and above into reports, and all others into breadcrumbs.
///
/// With swift-log, use it together with the handler that writes the log:
///
/// ```swift
/// LoggingSystem.bootstrap { label in
///     MultiplexLogHandler([StreamLogHandler.standardError(label: label), IssueLogHandler(label: label)])
/// }
/// ```
package struct IssueLogHandler: LogHandler {
    package var logLevel = Logger.Level.info
    package var metadata: Logger.Metadata = [:]
    private let label: String

    package init(label: String) {
        self.label = label
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var reportMetadata = IssueMetadata(metadata.merging(event.metadata ?? [:]) { _, call in call })
        reportMetadata["logger"] = .init(label)
        switch event.level {
        case .error, .critical:
            // A logger passes its source location as strings, but a report needs
            // static strings from the compiler. So the location goes into the metadata.
            reportMetadata["logged_at"] = "\(event.file):\(event.line)"
            reportMetadata["logged_in"] = .init(event.function)
            let level: IssueLevel = event.level == .critical ? .critical : .error
            if let error = event.error {
                reportIssue(error, event.message.description, level: level, metadata: reportMetadata)
            } else {
                reportIssue(event.message.description, level: level, metadata: reportMetadata)
            }
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
