// The examples don't link swift-log, so that they build without a network. This file replaces it: it declares the parts
// of its module `Logging` that a handler needs, as in version 1. In an application, delete this file and write
// `import Logging` in IssueLogHandler.swift instead; nothing else changes.

/// A backend that receives the messages of a logger.
package protocol LogHandler: Sendable {
    var logLevel: Logger.Level { get set }
    var metadata: Logger.Metadata { get set }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? { get set }
    func log(
        level: Logger.Level, message: Logger.Message, metadata: Logger.Metadata?, source: String, file: String,
        function: String, line: UInt)
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

    package enum MetadataValue: Sendable {
        case string(String)
        case stringConvertible(any CustomStringConvertible & Sendable)
        case dictionary(Metadata)
        case array([MetadataValue])
    }
}
