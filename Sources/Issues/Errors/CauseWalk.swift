/// Collects the underlying errors of an error, outermost first.
///
/// Any type can be an error, so errors may contain themselves, each other, or thousands of others. The walk limits both
/// the depth and the number of causes.
struct CauseWalk {
    private static let deepest = 8
    private static let maxCauses = 16

    private(set) var causes: [IssueCause] = []
    // Class instances are recognized by identity, all other errors by their domain, code and message.
    private var objects: Set<ObjectIdentifier> = []
    private var path: [IssueCause] = []

    init(_ error: any Error, _ reading: ErrorReading) {
        // Nearly all errors have no underlying errors.
        guard !reading.underlying.isEmpty else { return }
        note(error)
        path = [reading.cause]
        descend(reading.underlying)
    }

    private mutating func descend(_ errors: [any Error]) {
        guard path.count <= Self.deepest else { return }
        for error in errors.prefix(Self.maxCauses) where causes.count < Self.maxCauses && note(error) {
            let reading = ErrorReading(error)
            // A cause that reads the same as one above it is skipped, but its underlying errors may be new.
            if !path.contains(reading.cause) { causes.append(reading.cause) }
            path.append(reading.cause)
            descend(reading.underlying)
            path.removeLast()
        }
    }

    /// Records an error as visited. Returns false if the same object was visited before.
    @discardableResult
    private mutating func note(_ error: any Error) -> Bool {
        guard type(of: error) is AnyClass else { return true }
        return objects.insert(ObjectIdentifier(error as AnyObject)).inserted
    }
}
