/// Assertions that go on being heard after release.
///
/// A failure is reported first, with its exact place, in every build. Then what
/// follows is what follows in Swift: `assert` traps in debug builds only, a
/// precondition and a fatal error in both. `ErrorResponders.root = [.discard]`
/// silences `assert` and `assertionFailure` with trap and all.
///
/// Who wants them under Swift's own names says so in one file of the application:
///
/// ```swift
/// func assert(
///     _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String = "",
///     fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
/// ) {
///     Reported.assert(condition(), message(), fileID: fileID, filePath: filePath, line: line, column: column)
/// }
/// ```
///
/// They stand in a type, since a global `assert` of ours would silently replace
/// Swift's in every file that imports this library.
public enum Reported {
    /// Reports a condition that does not hold; in debug builds traps then.
    ///
    /// Unlike Swift's, the condition is evaluated in release builds too.
    public static func assert(
        _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String = String(),
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        guard !condition() else { return }
        assertionFailure(message(), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Reports a condition that does not hold, where it takes more than an expression; in debug builds traps then.
    public static func assert(
        _ message: @autoclosure () -> String = String(),
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
        condition: () -> Bool
    ) {
        guard !condition() else { return }
        assertionFailure(message(), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Reports that a place was reached that should not be; in debug builds traps then.
    public static func assertionFailure(
        _ message: @autoclosure () -> String = String(),
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        let failure = FailedAssertion(.assertion, message(), fileID, filePath, line, column)
        switch failure.report(.error) {
        case .discarded: return
        case .handled, .unhandled: break
        }
        guard FailedAssertion.traps else { return }
        failure.flush()
        Swift.assertionFailure(failure.harmlessMessage, file: fileID, line: line)
    }

    /// Reports a condition that does not hold, then traps.
    public static func precondition(
        _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String = String(),
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) {
        guard !condition() else { return }
        preconditionFailure(message(), fileID: fileID, filePath: filePath, line: line, column: column)
    }

    /// Reports that a place was reached that must not be, then traps.
    public static func preconditionFailure(
        _ message: @autoclosure () -> String = String(),
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) -> Never {
        let failure = FailedAssertion(.precondition, message(), fileID, filePath, line, column)
        _ = failure.report(.critical)
        failure.flush()
        Swift.preconditionFailure(failure.harmlessMessage, file: fileID, line: line)
    }

    /// Reports that the program can't go on, then ends it.
    public static func fatalError(
        _ message: @autoclosure () -> String = String(),
        fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
    ) -> Never {
        let failure = FailedAssertion(.fatalError, message(), fileID, filePath, line, column)
        _ = failure.report(.critical)
        failure.flush()
        Swift.fatalError(failure.harmlessMessage, file: fileID, line: line)
    }
}
