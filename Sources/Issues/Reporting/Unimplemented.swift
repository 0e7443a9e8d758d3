/// Returns a closure that reports an issue when it is called and then returns a placeholder.
///
/// Use it for closures that tests or clients of a type should replace. If one is called without
/// being replaced, the issue includes the arguments and the location of the call to `unimplemented`.
///
/// ```swift
/// struct Clock {
///     var now: @Sendable () -> Int = unimplemented("Clock.now", placeholder: 0)
/// }
/// ```
///
/// - Parameters:
///   - description: A description of the closure, for example its name.
///   - placeholder: The value that the closure returns.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - function: The function or type of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
/// - Returns: The closure.
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    placeholder: @autoclosure @escaping @Sendable () -> sending Result = (),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> @Sendable (repeat each Argument) -> sending Result {
    let callSite = UnimplementedLocation(fileID, filePath, function, line, column)
    return { (argument: repeat each Argument) in
        callSite.report(description(), invokedWith: (repeat each argument))
        return placeholder()
    }
}

/// Returns a closure that reports an issue when it is called and then throws ``UnimplementedFailure``.
///
/// - Parameters:
///   - description: A description of the closure, for example its name.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - function: The function or type of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
/// - Returns: The closure.
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> @Sendable (repeat each Argument) throws -> sending Result {
    let callSite = UnimplementedLocation(fileID, filePath, function, line, column)
    return { (argument: repeat each Argument) in
        let description = description()
        callSite.report(description, invokedWith: (repeat each argument))
        throw UnimplementedFailure(description: description)
    }
}

/// Returns a closure that reports an issue when it is called and then throws a custom error.
///
/// - Parameters:
///   - description: A description of the closure, for example its name.
///   - failure: The error that the closure throws.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - function: The function or type of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
/// - Returns: The closure.
public func unimplemented<each Argument, Failure: Error, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    throwing failure: @autoclosure @escaping @Sendable () -> Failure,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> @Sendable (repeat each Argument) throws(Failure) -> sending Result {
    let callSite = UnimplementedLocation(fileID, filePath, function, line, column)
    return { (argument: repeat each Argument) throws(Failure) in
        callSite.report(description(), invokedWith: (repeat each argument))
        throw failure()
    }
}

/// Reports an issue immediately and returns a placeholder for a missing value.
///
/// - Parameters:
///   - description: A description of the value, for example its name.
///   - placeholder: The value to return.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - function: The function or type of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
/// - Returns: The placeholder.
@_disfavoredOverload
public func unimplemented<Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    placeholder: @autoclosure @escaping @Sendable () -> sending Result = (),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> Result {
    let callSite = UnimplementedLocation(fileID, filePath, function, line, column)
    callSite.report(description())
    return placeholder()
}

/// The type of an asynchronous unimplemented closure.
public typealias _UnimplementedAsyncClosure<each Argument, Result> =
    @concurrent @Sendable (repeat each Argument) async -> sending Result

/// The type of an asynchronous unimplemented closure that throws.
public typealias _UnimplementedAsyncThrowingClosure<each Argument, Result> =
    @concurrent @Sendable (repeat each Argument) async throws -> sending Result

/// The type of an asynchronous unimplemented closure that throws errors of one type.
public typealias _UnimplementedAsyncTypedThrowingClosure<each Argument, Failure: Error, Result> =
    @concurrent @Sendable (repeat each Argument) async throws(Failure) -> sending Result

/// Returns an asynchronous closure that reports an issue when it is called and then returns a placeholder.
///
/// - Parameters:
///   - description: A description of the closure, for example its name.
///   - placeholder: The value that the closure returns.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - function: The function or type of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
/// - Returns: The closure.
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    placeholder: @autoclosure @escaping @Sendable () -> sending Result = (),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> _UnimplementedAsyncClosure<repeat each Argument, Result> {
    let callSite = UnimplementedLocation(fileID, filePath, function, line, column)
    return { (argument: repeat each Argument) in
        callSite.report(description(), invokedWith: (repeat each argument))
        return placeholder()
    }
}

/// Returns an asynchronous closure that reports an issue when it is called and then throws ``UnimplementedFailure``.
///
/// - Parameters:
///   - description: A description of the closure, for example its name.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - function: The function or type of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
/// - Returns: The closure.
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> _UnimplementedAsyncThrowingClosure<repeat each Argument, Result> {
    let callSite = UnimplementedLocation(fileID, filePath, function, line, column)
    return { (argument: repeat each Argument) in
        let description = description()
        callSite.report(description, invokedWith: (repeat each argument))
        throw UnimplementedFailure(description: description)
    }
}

/// Returns an asynchronous closure that reports an issue when it is called and then throws a custom error.
///
/// - Parameters:
///   - description: A description of the closure, for example its name.
///   - failure: The error that the closure throws.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - function: The function or type of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
/// - Returns: The closure.
public func unimplemented<each Argument, Failure: Error, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    throwing failure: @autoclosure @escaping @Sendable () -> Failure,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> _UnimplementedAsyncTypedThrowingClosure<repeat each Argument, Failure, Result> {
    let callSite = UnimplementedLocation(fileID, filePath, function, line, column)
    return { (argument: repeat each Argument) async throws(Failure) in
        callSite.report(description(), invokedWith: (repeat each argument))
        throw failure()
    }
}

/// The error that an unimplemented closure throws.
public struct UnimplementedFailure: Error {
    /// The description of the closure that was called.
    public let description: String

    /// Creates the error for a closure.
    ///
    /// - Parameter description: The description of the closure that was called.
    public init(description: String) {
        self.description = description
    }
}

/// The location of an unimplemented closure or value.
struct UnimplementedLocation: Sendable {
    var site: IssueSite
    var function: StaticString

    init(
        _ fileID: StaticString, _ filePath: StaticString, _ function: StaticString, _ line: UInt, _ column: UInt
    ) {
        site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
        self.function = function
    }

    /// Reports that the value was used.
    func report(_ description: String) {
        Reporting.report(nil, { text(description) }, level: .error, metadata: { [:] }, at: site)
    }

    /// Reports that the closure was called, with its arguments.
    func report<each Argument>(_ description: String, invokedWith arguments: (repeat each Argument)) {
        var call = ""
        debugPrint(arguments, terminator: "", to: &call)
        let text = "\(text(description))\n\n  Invoked with:\n    \(call)"
        Reporting.report(nil, { text }, level: .error, metadata: { [:] }, at: site)
    }

    // swift-issue-reporting uses the same text, and tests compare with it.
    private func text(_ description: String) -> String {
        let what = description.isEmpty ? "Unimplemented" : "Unimplemented: \(description)"
        return "\(what) …\n\n  Defined in '\(function)' at:\n    \(site)"
    }
}
