import Testing

/// Returns the error that the body throws, and records an issue if it throws none of this type.
///
/// A closure inside of a macro can get the symbol of another closure of the same test, so
/// that one of them is called in place of the other; a closure of a function cannot.
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
