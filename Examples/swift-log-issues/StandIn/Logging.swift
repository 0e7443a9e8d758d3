// A stand-in for the module `Logging` of swift-log 1.12, with the declarations that the recipe and
// its tests use. Package.swift describes how to replace it.

/// A backend that receives the messages of a logger.
public protocol LogHandler: Sendable {
    var logLevel: Logger.Level { get set }
    var metadata: Logger.Metadata { get set }
    var metadataProvider: Logger.MetadataProvider? { get set }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? { get set }
    func log(event: LogEvent)
}

/// A message with its level, metadata and location.
public struct LogEvent: Sendable {
    public var level: Logger.Level
    public var message: Logger.Message
    public var error: (any Error)?
    public var metadata: Logger.Metadata?
    public var source: String
    public var file: String
    public var function: String
    public var line: UInt

    public init(
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
public enum Logger {
    public typealias Metadata = [String: MetadataValue]

    public enum Level: String, CaseIterable, Sendable {
        case trace, debug, info, notice, warning, error, critical
    }

    public struct Message: ExpressibleByStringInterpolation, CustomStringConvertible, Sendable {
        public var description: String

        public init(stringLiteral value: String) {
            description = value
        }
    }

    public struct MetadataProvider: Sendable {
        private let provide: @Sendable () -> Metadata

        public init(_ provide: @escaping @Sendable () -> Metadata) {
            self.provide = provide
        }

        public func get() -> Metadata { provide() }
    }

    public enum MetadataValue: Sendable {
        case string(String)
        case stringConvertible(any CustomStringConvertible & Sendable)
        case dictionary(Metadata)
        case array([MetadataValue])
    }
}
