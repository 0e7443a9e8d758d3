extension IssueMetadata {
    /// The name of a fact.
    ///
    /// Keys that a program uses often are declared once:
    ///
    /// ```swift
    /// extension IssueMetadata.Key {
    ///     static let requestID: Self = "request_id"
    /// }
    /// ```
    public struct Key: RawRepresentable, Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
        /// The name as it goes over the wire.
        public var rawValue: String

        /// A key of this name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A key of this name.
        public init(_ name: String) {
            rawValue = name
        }

        /// A key of this name.
        public init(stringLiteral value: String) {
            rawValue = value
        }

        /// The name as it goes over the wire.
        public var description: String { rawValue }
    }
}
