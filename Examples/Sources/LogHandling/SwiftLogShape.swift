// The examples don't link swift-log, so that they build without a network. This file replaces it: it declares the parts
// of its module `Logging` that a handler needs, as in version 1.12. In an application, delete this file and write
// `import Logging` in IssueLogHandler.swift instead; nothing else changes.

/// A backend that receives the messages of a logger.
package protocol LogHandler: Sendable {
    var logLevel: Logger.Level { get set }
    var metadata: Logger.Metadata { get set }
    var metadataProvider: Logger.MetadataProvider? { get set }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? { get set }
    func log(event: LogEvent)
}

/// Everything about one message.
package struct LogEvent: Sendable {
    package var level: Logger.Level
    package var message: Logger.Message
    package var error: (any Error)?
    package var metadata: Logger.Metadata?
    package var source: String
    package var file: String
    package var function: String
    package var line: UInt

    package init(
        level: Logger.Level, message: Logger.Message, error: (any Error)?, metadata: Logger.Metadata?, source: String?,
        file: String, function: String, line: UInt
    ) {
        self.level = level
        self.message = message
        self.error = error
        self.metadata = metadata
        self.source = source ?? ""
        self.file = file
        self.function = function
        self.line = line
    }
}

/// The types that swift-log nests in `Logger`.
package enum Logger {
    package typealias Metadata = [String: MetadataValue]

    package enum Level: String, CaseIterable, Sendable {
        case trace, debug, info, notice, warning, error, critical
    }

    package struct Message: ExpressibleByStringInterpolation, CustomStringConvertible, Sendable {
        package var description: String

        package init(stringLiteral value: String) {
            description = value
        }
    }

    package struct MetadataProvider: Sendable {
        private let provide: @Sendable () -> Metadata

        package init(_ provide: @escaping @Sendable () -> Metadata) {
            self.provide = provide
        }

        package func get() -> Metadata { provide() }
    }

    package enum MetadataValue: Sendable {
        case string(String)
        case stringConvertible(any CustomStringConvertible & Sendable)
        case dictionary(Metadata)
        case array([MetadataValue])
    }
}
