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
    let place = UnimplementedPlace(fileID, filePath, function, line, column)
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
    let place = UnimplementedPlace(fileID, filePath, function, line, column)
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
    let place = UnimplementedPlace(fileID, filePath, function, line, column)
    return { (argument: repeat each Argument) async throws(Failure) in
        place.report(description(), invokedWith: (repeat each argument))
        throw failure()
    }
}
