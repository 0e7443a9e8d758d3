/// Returns a closure that reports an issue when it is called and then returns a placeholder.
///
/// Use it for closures that tests or clients of a type should replace. If one is called without being replaced, the
/// issue includes the arguments of that call, and the location at which `unimplemented` was called.
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
    _ description: @autoclosure @escaping @Sendable () -> IssueText = "",
    placeholder: @autoclosure @escaping @Sendable () -> sending Result = (),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> @Sendable (repeat each Argument) -> sending Result {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
    return { (argument: repeat each Argument) in
        site.reportUnimplemented(description(), invokedWith: (repeat each argument))
        return placeholder()
    }
}

/// Returns a closure that reports an issue when it is called and then returns a placeholder.
///
/// This version is for a description that is not a literal. Otherwise the same as the version with an ``IssueText``.
@_disfavoredOverload
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String,
    placeholder: @autoclosure @escaping @Sendable () -> sending Result = (),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> @Sendable (repeat each Argument) -> sending Result {
    unimplemented(
        IssueText(plain: description()), placeholder: placeholder(), fileID: fileID, filePath: filePath,
        function: function, line: line, column: column)
}

/// Returns a closure that reports an issue when it is called and then throws ``UnimplementedFailure``. Otherwise the
/// same as the version that returns a placeholder.
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> IssueText = "",
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> @Sendable (repeat each Argument) throws -> sending Result {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
    return { (argument: repeat each Argument) in
        let description = description()
        site.reportUnimplemented(description, invokedWith: (repeat each argument))
        throw UnimplementedFailure(description: description.text)
    }
}

/// Returns a closure that reports an issue when it is called and then throws ``UnimplementedFailure``.
///
/// This version is for a description that is not a literal. Otherwise the same as the version with an ``IssueText``.
@_disfavoredOverload
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> @Sendable (repeat each Argument) throws -> sending Result {
    unimplemented(
        IssueText(plain: description()), fileID: fileID, filePath: filePath, function: function, line: line,
        column: column)
}

/// Returns a closure that reports an issue when it is called and then throws the error `failure`. Otherwise the same as
/// the version that returns a placeholder.
public func unimplemented<each Argument, Failure: Error, Result>(
    _ description: @autoclosure @escaping @Sendable () -> IssueText = "",
    throwing failure: @autoclosure @escaping @Sendable () -> Failure,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> @Sendable (repeat each Argument) throws(Failure) -> sending Result {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
    return { (argument: repeat each Argument) throws(Failure) in
        site.reportUnimplemented(description(), invokedWith: (repeat each argument))
        throw failure()
    }
}

/// Returns a closure that reports an issue when it is called and then throws the error `failure`.
///
/// This version is for a description that is not a literal. Otherwise the same as the version with an ``IssueText``.
@_disfavoredOverload
public func unimplemented<each Argument, Failure: Error, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String,
    throwing failure: @autoclosure @escaping @Sendable () -> Failure,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> @Sendable (repeat each Argument) throws(Failure) -> sending Result {
    unimplemented(
        IssueText(plain: description()), throwing: failure(), fileID: fileID, filePath: filePath, function: function,
        line: line, column: column)
}

/// Reports an issue immediately and returns a placeholder for a missing value. Otherwise the same as the version that
/// returns a closure.
public func unimplemented<Result>(
    _ description: @autoclosure @escaping @Sendable () -> IssueText?,
    placeholder: @autoclosure @escaping @Sendable () -> sending Result = (),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> Result {
    // The description is optional because that ranks this version below those that return a closure.
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
    site.reportUnimplemented(description() ?? "")
    return placeholder()
}

/// Reports an issue without a description immediately and returns a placeholder for a missing value. Otherwise the same
/// as the version with a description.
@_disfavoredOverload
public func unimplemented<Result>(
    placeholder: @autoclosure @escaping @Sendable () -> sending Result = (),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> Result {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
    site.reportUnimplemented("")
    return placeholder()
}

/// Reports an issue immediately and returns a placeholder for a missing value.
///
/// This version is for a description that is not a literal. Otherwise the same as the version with an ``IssueText``.
@_disfavoredOverload
public func unimplemented<Result>(
    _ description: @autoclosure @escaping @Sendable () -> String?,
    placeholder: @autoclosure @escaping @Sendable () -> sending Result = (),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> Result {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
    site.reportUnimplemented(IssueText(plain: description() ?? ""))
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
/// This is the asynchronous version of `unimplemented(_:placeholder:)`.
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> IssueText = "",
    placeholder: @autoclosure @escaping @Sendable () -> sending Result = (),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> _UnimplementedAsyncClosure<repeat each Argument, Result> {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
    return { (argument: repeat each Argument) in
        site.reportUnimplemented(description(), invokedWith: (repeat each argument))
        return placeholder()
    }
}

/// Returns an asynchronous closure that reports an issue when it is called and then returns a placeholder.
///
/// This version is for a description that is not a literal. Otherwise the same as the version with an ``IssueText``.
@_disfavoredOverload
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String,
    placeholder: @autoclosure @escaping @Sendable () -> sending Result = (),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> _UnimplementedAsyncClosure<repeat each Argument, Result> {
    unimplemented(
        IssueText(plain: description()), placeholder: placeholder(), fileID: fileID, filePath: filePath,
        function: function, line: line, column: column)
}

/// Returns an asynchronous closure that reports an issue when it is called and then throws ``UnimplementedFailure``.
///
/// This is the asynchronous version of `unimplemented(_:)`.
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> IssueText = "",
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> _UnimplementedAsyncThrowingClosure<repeat each Argument, Result> {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
    return { (argument: repeat each Argument) in
        let description = description()
        site.reportUnimplemented(description, invokedWith: (repeat each argument))
        throw UnimplementedFailure(description: description.text)
    }
}

/// Returns an asynchronous closure that reports an issue when it is called and then throws ``UnimplementedFailure``.
///
/// This version is for a description that is not a literal. Otherwise the same as the version with an ``IssueText``.
@_disfavoredOverload
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> _UnimplementedAsyncThrowingClosure<repeat each Argument, Result> {
    unimplemented(
        IssueText(plain: description()), fileID: fileID, filePath: filePath, function: function, line: line,
        column: column)
}

/// Returns an asynchronous closure that reports an issue when it is called and then throws a custom error.
///
/// This is the asynchronous version of `unimplemented(_:throwing:)`.
public func unimplemented<each Argument, Failure: Error, Result>(
    _ description: @autoclosure @escaping @Sendable () -> IssueText = "",
    throwing failure: @autoclosure @escaping @Sendable () -> Failure,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> _UnimplementedAsyncTypedThrowingClosure<repeat each Argument, Failure, Result> {
    let site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
    return { (argument: repeat each Argument) async throws(Failure) in
        site.reportUnimplemented(description(), invokedWith: (repeat each argument))
        throw failure()
    }
}

/// Returns an asynchronous closure that reports an issue when it is called and then throws a custom error.
///
/// This version is for a description that is not a literal. Otherwise the same as the version with an ``IssueText``.
@_disfavoredOverload
public func unimplemented<each Argument, Failure: Error, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String,
    throwing failure: @autoclosure @escaping @Sendable () -> Failure,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> _UnimplementedAsyncTypedThrowingClosure<repeat each Argument, Failure, Result> {
    unimplemented(
        IssueText(plain: description()), throwing: failure(), fileID: fileID, filePath: filePath, function: function,
        line: line, column: column)
}

/// The error that an unimplemented closure throws if no other error is given.
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

extension IssueSite {
    /// Reports that the unimplemented value or closure at this location was used.
    ///
    /// - Parameters:
    ///   - description: The description of the value or closure.
    ///   - call: The arguments of the call to a closure. Nil for a value.
    fileprivate func reportUnimplemented(_ description: IssueText, call: String? = nil) {
        // swift-issue-reporting uses the same text, and tests compare with it.
        let what: IssueText = description.text.isEmpty ? "Unimplemented" : "Unimplemented: \(description)"
        let site: IssueText = "\(what) …\n\n  Defined in '\(function?.description ?? "")' at:\n    \(self.description)"
        var text = call.map { "\(site)\n\n  Invoked with:\n    \($0)" } ?? site
        if !description.values.isKnown { text = IssueText(plain: text.text) }
        Reporting.report(nil, { text }, at: self)
    }

    /// Reports that the unimplemented closure at this location was called, with the arguments of the call.
    fileprivate func reportUnimplemented<each Argument>(
        _ description: IssueText, invokedWith arguments: (repeat each Argument)
    ) {
        var call = ""
        debugPrint(arguments, terminator: "", to: &call)
        reportUnimplemented(description, call: call)
    }
}
