/// Puts responders on the way of what is reported during an operation.
///
/// - Parameters:
///   - responders: Who is asked, the first one first, and all before those of outer scopes.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withErrorResponders<R>(_ responders: ErrorResponder..., operation: () throws -> R) rethrows -> R {
    try withErrorResponders(responders, operation: operation)
}

/// Puts responders that are in a list on the way of what is reported during an operation.
///
/// - Parameters:
///   - responders: Who is asked, the first one first, and all before those of outer scopes.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withErrorResponders<R>(_ responders: [ErrorResponder], operation: () throws -> R) rethrows -> R {
    try ReportingScope.$box.withValue(ReportingScope.asking(responders), operation: operation)
}

/// Puts responders on the way of what is reported during an asynchronous operation.
///
/// An asynchronous version of `withErrorResponders`.
///
/// - Parameters:
///   - responders: Who is asked, the first one first, and all before those of outer scopes.
///   - isolation: Where the operation runs.
///   - operation: What to run.
/// - Returns: What the operation returns.
@_disfavoredOverload
public func withErrorResponders<R>(
    _ responders: ErrorResponder..., isolation: isolated (any Actor)? = #isolation, operation: () async throws -> R
) async rethrows -> R {
    // Not favoured: where several responders are named, the compiler would take this one, and demand an await, for an
    // operation that waits for nothing.
    try await withErrorResponders(responders, isolation: isolation, operation: operation)
}

/// Puts responders that are in a list on the way of what is reported during an asynchronous operation.
///
/// An asynchronous version of `withErrorResponders`.
///
/// - Parameters:
///   - responders: Who is asked, the first one first, and all before those of outer scopes.
///   - isolation: Where the operation runs.
///   - operation: What to run.
/// - Returns: What the operation returns.
public func withErrorResponders<R>(
    _ responders: [ErrorResponder], isolation: isolated (any Actor)? = #isolation, operation: () async throws -> R
) async rethrows -> R {
    try await ReportingScope.$box.withValue(ReportingScope.asking(responders), operation: operation)
}

extension ReportingScope {
    fileprivate static func asking(_ responders: [ErrorResponder]) -> Box {
        changed { $0.responders = ResponderChain(responders, outside: $0.responders) }
    }
}
