/// A closure that reports an issue when it is called, and returns a placeholder.
///
/// For members that tests or users of a type are to replace: whoever forgot one
/// is told, with the place that left it open and the arguments of the call.
///
/// ```swift
/// struct Clock {
///     var now: @Sendable () -> Int = unimplemented("Clock.now", placeholder: 0)
/// }
/// ```
///
/// - Parameters:
///   - description: What it would be.
///   - placeholder: What it returns meanwhile.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - function: The function or type it stands in.
///   - line: The line.
///   - column: The column.
/// - Returns: The closure.
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    placeholder: @autoclosure @escaping @Sendable () -> sending Result = (),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> @Sendable (repeat each Argument) -> sending Result {
    let place = UnimplementedLocation(fileID, filePath, function, line, column)
    return { (argument: repeat each Argument) in
        place.report(description(), invokedWith: (repeat each argument))
        return placeholder()
    }
}

/// A closure that reports an issue when it is called, and throws ``UnimplementedFailure``.
///
/// - Parameters:
///   - description: What it would be.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - function: The function or type it stands in.
///   - line: The line.
///   - column: The column.
/// - Returns: The closure.
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> @Sendable (repeat each Argument) throws -> sending Result {
    let place = UnimplementedLocation(fileID, filePath, function, line, column)
    return { (argument: repeat each Argument) in
        let description = description()
        place.report(description, invokedWith: (repeat each argument))
        throw UnimplementedFailure(description: description)
    }
}

/// A closure that reports an issue when it is called, and throws an error of one's own.
///
/// - Parameters:
///   - description: What it would be.
///   - failure: What it throws.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - function: The function or type it stands in.
///   - line: The line.
///   - column: The column.
/// - Returns: The closure.
public func unimplemented<each Argument, Failure: Error, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    throwing failure: @autoclosure @escaping @Sendable () -> Failure,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> @Sendable (repeat each Argument) throws(Failure) -> sending Result {
    let place = UnimplementedLocation(fileID, filePath, function, line, column)
    return { (argument: repeat each Argument) throws(Failure) in
        place.report(description(), invokedWith: (repeat each argument))
        throw failure()
    }
}

/// A placeholder for a value that is not there yet; reports an issue at once.
///
/// - Parameters:
///   - description: What it would be.
///   - placeholder: What it returns meanwhile.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - function: The function or type it stands in.
///   - line: The line.
///   - column: The column.
/// - Returns: The placeholder.
@_disfavoredOverload
public func unimplemented<Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    placeholder: @autoclosure @escaping @Sendable () -> sending Result = (),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> Result {
    let place = UnimplementedLocation(fileID, filePath, function, line, column)
    place.report(description())
    return placeholder()
}

/// The type of an unimplemented closure that is asynchronous.
public typealias _UnimplementedAsyncClosure<each Argument, Result> =
    @concurrent @Sendable (repeat each Argument) async -> sending Result

/// The type of an unimplemented closure that is asynchronous and throws.
public typealias _UnimplementedAsyncThrowingClosure<each Argument, Result> =
    @concurrent @Sendable (repeat each Argument) async throws -> sending Result

/// The type of an unimplemented closure that is asynchronous and throws errors of one type.
public typealias _UnimplementedAsyncTypedThrowingClosure<each Argument, Failure: Error, Result> =
    @concurrent @Sendable (repeat each Argument) async throws(Failure) -> sending Result

/// An asynchronous closure that reports an issue when it is called, and returns a placeholder.
///
/// - Parameters:
///   - description: What it would be.
///   - placeholder: What it returns meanwhile.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - function: The function or type it stands in.
///   - line: The line.
///   - column: The column.
/// - Returns: The closure.
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    placeholder: @autoclosure @escaping @Sendable () -> sending Result = (),
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> _UnimplementedAsyncClosure<repeat each Argument, Result> {
    let place = UnimplementedLocation(fileID, filePath, function, line, column)
    return { (argument: repeat each Argument) in
        place.report(description(), invokedWith: (repeat each argument))
        return placeholder()
    }
}

/// An asynchronous closure that reports an issue when it is called, and throws ``UnimplementedFailure``.
///
/// - Parameters:
///   - description: What it would be.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - function: The function or type it stands in.
///   - line: The line.
///   - column: The column.
/// - Returns: The closure.
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> _UnimplementedAsyncThrowingClosure<repeat each Argument, Result> {
    let place = UnimplementedLocation(fileID, filePath, function, line, column)
    return { (argument: repeat each Argument) in
        let description = description()
        place.report(description, invokedWith: (repeat each argument))
        throw UnimplementedFailure(description: description)
    }
}

/// An asynchronous closure that reports an issue when it is called, and throws an error of one's own.
///
/// - Parameters:
///   - description: What it would be.
///   - failure: What it throws.
///   - fileID: The source file, with its module.
///   - filePath: The path of the source file.
///   - function: The function or type it stands in.
///   - line: The line.
///   - column: The column.
/// - Returns: The closure.
public func unimplemented<each Argument, Failure: Error, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    throwing failure: @autoclosure @escaping @Sendable () -> Failure,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> _UnimplementedAsyncTypedThrowingClosure<repeat each Argument, Failure, Result> {
    let place = UnimplementedLocation(fileID, filePath, function, line, column)
    return { (argument: repeat each Argument) async throws(Failure) in
        place.report(description(), invokedWith: (repeat each argument))
        throw failure()
    }
}

/// What an unimplemented closure throws.
public struct UnimplementedFailure: Error {
    /// What was not implemented, in the words of its place.
    public let description: String

    /// A failure of the closure of this description.
    public init(description: String) {
        self.description = description
    }
}

/// Where something is that was left unimplemented.
struct UnimplementedLocation: Sendable {
    var site: IssueSite
    var function: StaticString

    init(
        _ fileID: StaticString, _ filePath: StaticString, _ function: StaticString, _ line: UInt, _ column: UInt
    ) {
        site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column, function: function)
        self.function = function
    }

    /// Reports that it was reached all the same.
    func report(_ description: String) {
        Reporting.report(nil, { text(description) }, level: .error, metadata: { [:] }, at: site)
    }

    /// Reports that it was called all the same, and with what.
    func report<each Argument>(_ description: String, invokedWith arguments: (repeat each Argument)) {
        var call = ""
        debugPrint(arguments, terminator: "", to: &call)
        let text = "\(text(description))\n\n  Invoked with:\n    \(call)"
        Reporting.report(nil, { text }, level: .error, metadata: { [:] }, at: site)
    }

    // The text is that of swift-issue-reporting, which tests compare with.
    private func text(_ description: String) -> String {
        let what = description.isEmpty ? "Unimplemented" : "Unimplemented: \(description)"
        return "\(what) …\n\n  Defined in '\(function)' at:\n    \(site)"
    }
}
