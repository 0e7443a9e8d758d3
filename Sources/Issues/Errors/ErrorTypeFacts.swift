internal import Synchronization

/// What all errors of one type have in common, found out with the first of them.
///
/// To ask the runtime for a type's name and for what it conforms to takes longer
/// than all the rest of a report.
struct ErrorTypeFacts: Sendable {
    /// With the module, since every module may have its own NetworkError.
    let name: String
    /// Whether it is one of the types that say for themselves how they are read.
    let isKnown: Bool
    /// Whether it is Foundation's, or an object that may stem from its NSError.
    let mayBeFoundations: Bool
    /// Whether somebody chose a domain for it; then its number says something too.
    let choosesDomain: Bool
    /// Whether a value can hold anything, other errors among it.
    let holdsSomething: Bool
    let isCancellation: Bool

    private static let known = Mutex<[ObjectIdentifier: ErrorTypeFacts]>([:])

    static func of(_ error: any Error) -> ErrorTypeFacts {
        let identifier = ObjectIdentifier(type(of: error))
        if let facts = known.withLock({ $0[identifier] }) { return facts }
        let facts = ErrorTypeFacts(error)
        // Never more than the program has types.
        known.withLock { $0[identifier] = facts }
        return facts
    }

    private init(_ error: any Error) {
        func size<Failure>(of type: Failure.Type) -> Int { MemoryLayout<Failure>.size }
        let type: any Error.Type = type(of: error)
        let runtimeName = String(reflecting: type)
        name = TypeName.withoutContexts(runtimeName)
        isKnown =
            type is any ReportableError.Type || type == DecodingError.self || type == EncodingError.self
            || type == IssueMessage.self
        mayBeFoundations = name.hasPrefix("Foundation") || type is AnyClass
        choosesDomain = error._domain != runtimeName
        holdsSomething = size(of: type) > 0
        isCancellation = type == CancellationError.self
    }
}
