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
    let place = UnimplementedPlace(fileID, filePath, function, line, column)
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
    let place = UnimplementedPlace(fileID, filePath, function, line, column)
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
    let place = UnimplementedPlace(fileID, filePath, function, line, column)
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
    let place = UnimplementedPlace(fileID, filePath, function, line, column)
    place.report(description())
    return placeholder()
}
