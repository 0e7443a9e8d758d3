import Testing

/// Returns the error that the body throws, and records an issue unless it throws one of this type.
///
/// A closure within a macro can get the same symbol as another closure of the same test, so that the wrong one is
/// called. A closure passed to a function cannot.
@discardableResult
func thrown<Failure: Error, Value>(
    _ type: Failure.Type = Failure.self, sourceLocation: SourceLocation = #_sourceLocation, by body: () throws -> Value
) -> Failure? {
    do {
        _ = try body()
        Issue.record("No error was thrown", sourceLocation: sourceLocation)
    } catch let error as Failure {
        return error
    } catch {
        Issue.record("Another error was thrown: \(error)", sourceLocation: sourceLocation)
    }
    return nil
}
