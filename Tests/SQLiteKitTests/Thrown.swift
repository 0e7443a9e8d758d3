import Testing

/// Returns the error that the body throws. If the body throws no error of this type, records an issue and returns nil.
///
/// Replaces `#expect(throws:)`: a closure in a macro can get the same symbol as another closure of the same test, and
/// then the wrong one is called. This does not happen to a closure that is passed to a function.
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
