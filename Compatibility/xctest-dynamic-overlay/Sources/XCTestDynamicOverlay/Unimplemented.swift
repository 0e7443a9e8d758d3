@_exported import IssueReporting

/// Returns a closure that reports an issue when it is called, and returns an empty value of its type.
///
/// This form without a placeholder exists in version 1.x only. An empty value is `nil`, `false`, zero, the first case of
/// an enumeration, or an empty collection, string or stream. For any other type the program ends after the report.
///
/// - Parameters:
///   - description: The name of the closure. Empty for none.
///   - fileID: The file ID of the reported location. Defaults to the caller's.
///   - filePath: The file path of the reported location. Defaults to the caller's.
///   - function: The function of the reported location. Defaults to the caller's.
///   - line: The line of the reported location. Defaults to the caller's.
///   - column: The column of the reported location. Defaults to the caller's.
@_disfavoredOverload
public func unimplemented<each Argument, Result>(
    _ description: @autoclosure @escaping @Sendable () -> String = "",
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, function: StaticString = #function,
    line: UInt = #line, column: UInt = #column
) -> @Sendable (repeat each Argument) -> Result {
    let report: @Sendable (repeat each Argument) -> Void = IssueReporting.unimplemented(
        description(), placeholder: (), fileID: fileID, filePath: filePath, function: function, line: line,
        column: column)
    return { (argument: repeat each Argument) in
        report(repeat each argument)
        if let value = emptyValue(of: Result.self) as? Result { return value }
        Reported.fatalError(
            "\(Result.self) has no empty value: pass a placeholder to unimplemented", fileID: fileID,
            filePath: filePath,
            line: line, column: column)
    }
}

/// Returns an empty value of a type, or nil if the type has none.
private func emptyValue(of type: Any.Type) -> Any? {
    switch type {
    case is Bool.Type: false
    case let type as any ExpressibleByNilLiteral.Type: type.init(nilLiteral: ())
    case let type as any AdditiveArithmetic.Type: type.zero
    case let type as any RangeReplaceableCollection.Type: type.init()
    case let type as any SetAlgebra.Type: type.init()
    case let type as any EmptyInitializable.Type: type.init()
    case let type as any CaseIterable.Type: firstCase(of: type)
    default: nil
    }
}

private func firstCase(of type: (some CaseIterable).Type) -> Any? {
    type.allCases.first
}

/// A type of the standard library that has an empty value, but conforms to none of the protocols above.
private protocol EmptyInitializable {
    init()
}

extension Dictionary: EmptyInitializable {}

extension AsyncStream: EmptyInitializable {
    fileprivate init() {
        self.init { $0.finish() }
    }
}

extension AsyncThrowingStream: EmptyInitializable where Failure == any Error {
    fileprivate init() {
        self.init { $0.finish() }
    }
}
