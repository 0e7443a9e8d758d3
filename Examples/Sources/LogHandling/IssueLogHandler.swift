import Issues

/// Makes reports of what is logged as an error or worse, and breadcrumbs of the rest.
///
/// With swift-log, beside the handler that writes the log:
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

    package func log(
        level: Logger.Level, message: Logger.Message, metadata: Logger.Metadata?, source: String, file: String,
        function: String, line: UInt
    ) {
        var facts = IssueMetadata(self.metadata.merging(metadata ?? [:]) { _, call in call })
        facts["logger"] = .init(label)
        switch level {
        case .error, .critical:
            // A logger gives its place as texts, and a report wants those that
            // the compiler made; so it stands among the facts.
            facts["logged_at"] = "\(file):\(line)"
            facts["logged_in"] = .init(function)
            reportIssue(message.description, level: level == .critical ? .critical : .error, metadata: facts)
        case .trace, .debug, .info, .notice, .warning:
            leaveBreadcrumb(message.description, metadata: facts)
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
