internal import IssueWire

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

/// The error as which a failed assertion is reported.
public struct AssertionFailure: ReportableError, Hashable, CustomStringConvertible {
    /// Which of the assertions it was.
    public enum Kind: String, Hashable, Sendable {
        /// ``Reported/assert(_:_:fileID:filePath:line:column:)`` or its sister that always fails.
        case assertion
        /// ``Reported/precondition(_:_:fileID:filePath:line:column:)`` or its sister that always fails.
        case precondition
        /// ``Reported/fatalError(_:fileID:filePath:line:column:)``
        case fatalError
    }

    /// Which of the assertions it was.
    public var kind: Kind
    /// The reason that was given, or "no reason".
    public var message: String
    /// The line and the file, such as `42_Cart.swift`.
    public var name: String

    /// The name.
    public var userInfo: IssueMetadata { ["name": .init(name)] }

    /// The kind, and the reason.
    public var description: String {
        switch kind {
        case .assertion: "Assertion failed: \(message)"
        case .precondition: "Precondition failed: \(message)"
        case .fatalError: "Fatal error: \(message)"
        }
    }
}

/// An assertion that did not hold, on its way to be reported.
struct FailedAssertion {
    let kind: AssertionFailure.Kind
    let message: String
    private let site: IssueSite

    /// The message for standard error, made harmless since Swift writes it verbatim.
    var harmlessMessage: String { TerminalSanitizer.line(message) }

    init(
        _ kind: AssertionFailure.Kind, _ message: String, _ fileID: StaticString, _ filePath: StaticString,
        _ line: UInt, _ column: UInt
    ) {
        self.kind = kind
        self.message = message
        site = IssueSite(fileID: fileID, filePath: filePath, line: line, column: column)
    }

    func report(_ level: IssueLevel) -> ReportOutcome {
        let reason = message.isEmpty ? "no reason" : message
        let error = AssertionFailure(kind: kind, message: reason, name: site.name)
        return Reporting.report(error, { nil }, level: level, metadata: { [:] }, at: site)
    }

    /// Whether Swift's `assert` does anything in this build.
    static var traps: Bool { _isDebugAssertConfiguration() }

    /// Gives the report a moment to get out, since the process is about to end.
    func flush() {
        ShutdownFlush.say()
    }
}
