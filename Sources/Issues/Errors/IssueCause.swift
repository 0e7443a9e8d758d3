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

/// Collects what lies beneath an error, outermost first.
///
/// Errors come from anywhere: they may contain themselves, or each other, or
/// thousands.
struct CauseWalk {
    private static let deepest = 8
    private static let most = 16

    private(set) var causes: [IssueCause] = []
    // Errors that are objects, by which one they are; all others by what they say.
    private var objects: Set<ObjectIdentifier> = []
    private var path: [IssueCause] = []

    init(_ error: any Error, _ reading: ErrorReading) {
        // Nearly all have none.
        guard !reading.underlying.isEmpty else { return }
        note(error)
        path = [reading.cause]
        descend(reading.underlying)
    }

    private mutating func descend(_ errors: [any Error]) {
        guard path.count <= Self.deepest else { return }
        for error in errors.prefix(Self.most) where causes.count < Self.most && note(error) {
            let reading = ErrorReading(error)
            // What reads the same says nothing new, but what lies beneath it may.
            if !path.contains(reading.cause) { causes.append(reading.cause) }
            path.append(reading.cause)
            descend(reading.underlying)
            path.removeLast()
        }
    }

    /// Notes an error; false if it was there before.
    @discardableResult
    private mutating func note(_ error: any Error) -> Bool {
        guard type(of: error) is AnyClass else { return true }
        return objects.insert(ObjectIdentifier(error as AnyObject)).inserted
    }
}
