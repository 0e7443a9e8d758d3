package import IssueWire

/// An error that lies beneath a reported one, or was there before a responder replaced it.
public struct IssueCause: Hashable, Sendable {
    /// What kind of error it is.
    public var domain: String?
    /// The number of the error within its domain.
    public var code: Int?
    /// What it says.
    public var message: String

    /// Describes a cause.
    public init(domain: String? = nil, code: Int? = nil, message: String) {
        self.domain = domain
        self.code = code
        self.message = message
    }

    package init(_ wire: Cause) {
        self.init(domain: wire.domain, code: wire.code.map { Int(clamping: $0) }, message: wire.message ?? "")
    }

    package var wire: Cause {
        Cause(domain: domain, code: code.map { Int64($0) }, message: message)
    }
}
