// swift-log is not linked here, so that the examples build without a network. This file stands in for it: the parts of
// its module `Logging` that a handler needs, in the shape that version 1 gives them. In an application delete this file
// and write `import Logging` in IssueLogHandler.swift instead; nothing else changes.

/// What writes the messages of a logger somewhere.
package protocol LogHandler: Sendable {
    var logLevel: Logger.Level { get set }
    var metadata: Logger.Metadata { get set }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? { get set }
    func log(
        level: Logger.Level, message: Logger.Message, metadata: Logger.Metadata?, source: String, file: String,
        function: String, line: UInt)
}

/// The types that are named after the logger.
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
