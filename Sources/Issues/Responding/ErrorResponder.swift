internal import IssueWire

/// A handler that receives a reported error before the reporters do. A message that is reported without an error counts
/// as an error of type ``IssueMessage``.
///
/// ```swift
/// withErrorResponders(
///     .transform(DecodingError.self) { APIError.badBody($0) },
///     .handle(AuthError.self) { session.signOut() }
/// ) {
///     serve(request)
/// }
/// ```
///
/// Responders run on the reporting thread, the innermost scope's first. An issue that a responder reports goes to the
/// responders outside of it, and then to the reporters. An error that a responder throws replaces the error that it was
/// given, unless the responder is asynchronous.
public struct ErrorResponder: Sendable {
    let respond: @Sendable (IssueReport) -> Response

    /// The outcome of a responder.
    package enum Response {
        case handled
        /// Handled. In addition, a failed `Reported.assert` does not trap.
        case discarded
        case notHandled
        case replaced(any Error)
    }

    /// Creates a responder.
    ///
    /// - Parameter respond: Receives the report on the reporting thread and returns the outcome.
    package init(respond: @escaping @Sendable (IssueReport) -> Response) {
        self.respond = respond
    }

    /// Creates a responder for errors of one type, or of all types with `(any Error).self`.
    private init<Failure: Error>(
        of type: Failure.Type, respond: @escaping @Sendable (Failure) throws -> Response
    ) {
        self.init { report in
            guard let error = report.propagatingError as? Failure else { return .notHandled }
            do {
                return try respond(error)
            } catch {
                return .replaced(error)
            }
        }
    }
}

extension ErrorResponder {
    /// Creates a responder that receives every error and decides whether it is handled.
    ///
    /// - Parameter body: Receives the error and returns whether it is handled. An error that it throws replaces the
    ///   given one and goes to the next responder.
    /// - Returns: The responder.
    public static func receive(_ body: @escaping @Sendable (any Error) throws -> ErrorResponder.Handling) -> Self {
        receive((any Error).self, body)
    }

    /// Creates a responder that runs for every error and decides whether it is handled. Otherwise the same as the
    /// version that receives the error.
    public static func receive(_ body: @escaping @Sendable () throws -> ErrorResponder.Handling) -> Self {
        receive((any Error).self) { _ in try body() }
    }

    /// Creates a responder that receives errors of one type and decides whether they are handled.
    ///
    /// - Parameters:
    ///   - type: The type of the errors. Errors of other types are not handled.
    ///   - body: Receives the error and returns whether it is handled. An error that it throws replaces the given one
    ///     and goes to the next responder.
    /// - Returns: The responder.
    public static func receive<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable (Failure) throws -> ErrorResponder.Handling
    ) -> Self {
        Self(of: type) { try body($0) == .handled ? .handled : .notHandled }
    }

    /// Creates a responder that runs for errors of one type and decides whether they are handled. Otherwise the same as
    /// the version that receives the error.
    public static func receive<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable () throws -> ErrorResponder.Handling
    ) -> Self {
        receive(type) { _ in try body() }
    }
}

extension ErrorResponder {
    /// Creates a responder that handles every error.
    ///
    /// - Parameter body: Handles the error. An error that it throws replaces the given one and goes to the next
    ///   responder.
    /// - Returns: The responder.
    public static func handle(_ body: @escaping @Sendable (any Error) throws -> Void) -> Self {
        handle((any Error).self, body)
    }

    /// Creates a responder that handles every error without receiving it. Otherwise the same as the version that
    /// receives the error.
    public static func handle(_ body: @escaping @Sendable () throws -> Void) -> Self {
        handle((any Error).self) { _ in try body() }
    }

    /// Creates a responder that handles errors of one type.
    ///
    /// - Parameters:
    ///   - type: The type of the errors. Errors of other types are not handled.
    ///   - body: Handles the error. An error that it throws replaces the given one and goes to the next responder.
    /// - Returns: The responder.
    public static func handle<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable (Failure) throws -> Void
    ) -> Self {
        Self(of: type) {
            try body($0)
            return .handled
        }
    }

    /// Creates a responder that handles errors of one type without receiving them. Otherwise the same as the version
    /// that receives the error.
    public static func handle<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable () throws -> Void
    ) -> Self {
        handle(type) { _ in try body() }
    }
}

extension ErrorResponder {
    /// Creates a responder that handles every error in a new task.
    ///
    /// The reporting thread does not wait for the task. An error that the task throws is reported to the responders
    /// outside of this one, unless it is a `CancellationError`.
    ///
    /// - Parameter body: Handles the error.
    /// - Returns: The responder.
    public static func handle(_ body: @escaping @Sendable (any Error) async throws -> Void) -> Self {
        handle((any Error).self, body)
    }

    /// Creates a responder that handles every error in a new task without receiving it. Otherwise the same as the
    /// version that receives the error.
    public static func handle(_ body: @escaping @Sendable () async throws -> Void) -> Self {
        handle((any Error).self) { _ in try await body() }
    }

    /// Creates a responder that handles errors of one type in a new task.
    ///
    /// The reporting thread does not wait for the task. An error that the task throws is reported to the responders
    /// outside of this one, unless it is a `CancellationError`.
    ///
    /// - Parameters:
    ///   - type: The type of the errors. Errors of other types are not handled.
    ///   - body: Handles the error.
    /// - Returns: The responder.
    public static func handle<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable (Failure) async throws -> Void
    ) -> Self {
        Self(of: type) { error in
            // The task inherits the responders outside of this one. The default of `filePath` would be the path on the
            // machine that built the program.
            Task { await withErrorReporting(filePath: #fileID) { try await body(error) } }
            return .handled
        }
    }

    /// Creates a responder that handles errors of one type in a new task without receiving them. Otherwise the same as
    /// the version that receives the error.
    public static func handle<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable () async throws -> Void
    ) -> Self {
        handle(type) { _ in try await body() }
    }
}

extension ErrorResponder {
    /// Creates a responder that replaces every error. The old error becomes a cause of the new one.
    ///
    /// - Parameter body: Receives the error and returns the new one. An error that it throws is used as the new one.
    /// - Returns: The responder.
    public static func transform(_ body: @escaping @Sendable (any Error) throws -> any Error) -> Self {
        transform((any Error).self, body)
    }

    /// Creates a responder that replaces every error without receiving it. Otherwise the same as the version that
    /// receives the error.
    public static func transform(_ body: @escaping @Sendable () throws -> any Error) -> Self {
        transform((any Error).self) { _ in try body() }
    }

    /// Creates a responder that replaces errors of one type. The old error becomes a cause of the new one.
    ///
    /// - Parameters:
    ///   - type: The type of the errors. Errors of other types are not replaced.
    ///   - body: Receives the error and returns the new one. An error that it throws is used as the new one.
    /// - Returns: The responder.
    public static func transform<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable (Failure) throws -> any Error
    ) -> Self {
        Self(of: type) { .replaced(try body($0)) }
    }

    /// Creates a responder that replaces errors of one type without receiving them. Otherwise the same as the version
    /// that receives the error.
    public static func transform<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable () throws -> any Error
    ) -> Self {
        transform(type) { _ in try body() }
    }
}

extension ErrorResponder {
    /// A responder that drops every error and message, so that no reporter receives it.
    ///
    /// A failed ``Reported`` assertion that is dropped does not trap; preconditions and fatal errors still do.
    /// Use it to test how a program behaves when it is misused: `ErrorResponders.root = [.discard]`.
    public static var discard: Self {
        Self(respond: { _ in .discarded })
    }

    /// A responder that traps in a debug build.
    ///
    /// It handles every error, and every message of level `error` and above: it sends them to the reporters and then
    /// traps. In a release build, it does not trap. Messages of lower levels are not handled.
    public static var trapUnhandled: Self {
        Self { report in
            guard report.error != nil || report.level >= .error else { return .notHandled }
            report.notifyReporters()
            if Reported.Failure.traps { ShutdownFlush.run() }
            Swift.assertionFailure(
                "Unhandled error: \(TerminalSanitizer.line(report.redacted.message))", file: report.site.filePath,
                line: report.site.line)
            return .handled
        }
    }

    /// Creates a responder that writes a line for every error or message and does not handle it.
    ///
    /// - Parameter write: Receives the line, without a newline at its end. It is not sanitised, so it may contain
    ///   newlines and escape sequences of the report.
    /// - Returns: The responder.
    public static func log(_ write: @escaping @Sendable (String) -> Void) -> Self {
        Self { report in
            write(StandardErrorLine.text(report))
            return .notHandled
        }
    }
}
