internal import IssueWire

/// Somebody on the way of an error from the place that reports it to the reporters.
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
/// Responders are asked on the thread that reports, innermost scope first. What
/// one of them reports climbs from where it stands; an error that one throws
/// takes the place of the one that it was given.
public struct ErrorResponder: Sendable {
    let respond: @Sendable (PropagatingReport) -> Response

    /// What becomes of the error.
    enum Response {
        case handled
        /// Handled, and without the end of the program that was to follow.
        case discarded
        case notHandled
        case replaced(any Error)
    }

    init(respond: @escaping @Sendable (PropagatingReport) -> Response) {
        self.respond = respond
    }

    /// A responder that is only asked about errors of one type.
    init<Failure: Error>(
        of type: Failure.Type, respond: @escaping @Sendable (Failure) throws -> Response
    ) {
        self.init { report in
            guard let error = report.error as? Failure else { return .notHandled }
            do {
                return try respond(error)
            } catch {
                return .replaced(error)
            }
        }
    }

    /// A responder that is asked about every error.
    init(respondToError respond: @escaping @Sendable (any Error) throws -> Response) {
        self.init { report in
            do {
                return try respond(report.error)
            } catch {
                return .replaced(error)
            }
        }
    }
}

extension ErrorResponder {
    /// Receives every error, and says whether it is dealt with.
    public static func receive(_ body: @escaping @Sendable (any Error) throws -> ErrorHandling) -> Self {
        Self(respondToError: { Response(try body($0)) })
    }

    /// Hears of every error, and says whether it is dealt with.
    public static func receive(_ body: @escaping @Sendable () throws -> ErrorHandling) -> Self {
        Self(respondToError: { _ in Response(try body()) })
    }

    /// Receives errors of one type, and says whether they are dealt with.
    public static func receive<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable (Failure) throws -> ErrorHandling
    ) -> Self {
        Self(of: type) { Response(try body($0)) }
    }

    /// Hears of errors of one type, and says whether they are dealt with.
    public static func receive<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable () throws -> ErrorHandling
    ) -> Self {
        Self(of: type) { _ in Response(try body()) }
    }
}

extension ErrorResponder.Response {
    fileprivate init(_ handling: ErrorHandling) {
        switch handling {
        case .handled: self = .handled
        case .notHandled: self = .notHandled
        }
    }
}

extension ErrorResponder {
    /// Deals with every error; an error that it throws climbs on instead.
    public static func handle(_ body: @escaping @Sendable (any Error) throws -> Void) -> Self {
        Self(respondToError: {
            try body($0)
            return .handled
        })
    }

    /// Deals with every error without looking at it.
    public static func handle(_ body: @escaping @Sendable () throws -> Void) -> Self {
        Self(respondToError: { _ in
            try body()
            return .handled
        })
    }

    /// Deals with errors of one type; an error that it throws climbs on instead.
    public static func handle<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable (Failure) throws -> Void
    ) -> Self {
        Self(of: type) {
            try body($0)
            return .handled
        }
    }

    /// Deals with errors of one type without looking at them.
    public static func handle<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable () throws -> Void
    ) -> Self {
        Self(of: type) { _ in
            try body()
            return .handled
        }
    }
}

extension ErrorResponder {
    /// Deals with every error in a task of its own, which nobody waits for.
    ///
    /// What the task throws is reported from where the responder stands.
    public static func handle(_ body: @escaping @Sendable (any Error) async throws -> Void) -> Self {
        Self(respondToError: { inTask($0, body) })
    }

    /// Deals with every error, without looking at it, in a task of its own.
    public static func handle(_ body: @escaping @Sendable () async throws -> Void) -> Self {
        Self(respondToError: { inTask($0) { _ in try await body() } })
    }

    /// Deals with errors of one type in a task of its own, which nobody waits for.
    ///
    /// What the task throws is reported from where the responder stands.
    public static func handle<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable (Failure) async throws -> Void
    ) -> Self {
        Self(of: type) { inTask($0, body) }
    }

    /// Deals with errors of one type, without looking at them, in a task of its own.
    public static func handle<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable () async throws -> Void
    ) -> Self {
        Self(of: type) { inTask($0) { _ in try await body() } }
    }

    private static func inTask<Failure: Error>(
        _ error: Failure, _ body: @escaping @Sendable (Failure) async throws -> Void
    ) -> Response {
        // The task inherits the responders that lie outside of this one.
        Task { await withErrorReporting { try await body(error) } }
        return .handled
    }
}

extension ErrorResponder {
    /// Puts another error in the place of every error; the old one stays among its causes.
    public static func transform(_ body: @escaping @Sendable (any Error) throws -> any Error) -> Self {
        Self(respondToError: { .replaced(try body($0)) })
    }

    /// Puts an error in the place of every error; the old one stays among its causes.
    public static func transform(_ body: @escaping @Sendable () throws -> any Error) -> Self {
        Self(respondToError: { _ in .replaced(try body()) })
    }

    /// Puts another error in the place of each of one type; the old one stays among its causes.
    public static func transform<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable (Failure) throws -> any Error
    ) -> Self {
        Self(of: type) { .replaced(try body($0)) }
    }

    /// Puts an error in the place of each of one type; the old one stays among its causes.
    public static func transform<Failure: Error>(
        _ type: Failure.Type, _ body: @escaping @Sendable () throws -> any Error
    ) -> Self {
        Self(of: type) { _ in .replaced(try body()) }
    }
}

extension ErrorResponder {
    /// Tells the reporters, then asks people what to do, and does it.
    ///
    /// An error that has nothing to tell people climbs on. One whose recovery is
    /// ``Recovery/terminate`` ends the process when it has been shown;
    /// responders further inside have cleaned up by then.
    public static func present(on presenter: any Presenter) -> Self {
        Self { report in
            guard let prompt = Prompt(report.error) else { return .notHandled }
            report.notifyReporters()
            presenter.choose(prompt).handler()
            if case .terminate? = (report.error as? any ReportableError)?.recovery {
                ShutdownFlush.say()
                Swift.fatalError(
                    TerminalSanitizer.line(report.report.message), file: report.report.site.filePath,
                    line: report.report.site.line)
            }
            return .handled
        }
    }
}

extension ErrorResponder {
    /// Ends everything that gets here: no report, and no trap of an assertion that Swift's would let live in a release
    /// build.
    ///
    /// For a program's tests of what it does when it is misused:
    /// `ErrorResponders.root = [.discard]`.
    public static var discard: Self {
        Self(respond: { _ in .discarded })
    }

    /// Traps in a debug build where an error gets here, or a message of level `error` or worse, after the reporters
    /// were told; milder messages climb on.
    public static var trapUnhandled: Self {
        Self { report in
            guard report.report.error != nil || report.report.level >= .error else { return .notHandled }
            report.notifyReporters()
            if FailedAssertion.traps { ShutdownFlush.say() }
            let site = report.report.site
            Swift.assertionFailure("Unhandled error: \(report.report.message)", file: site.filePath, line: site.line)
            return .handled
        }
    }

    /// Writes a line about every error that gets here, which then climbs on.
    ///
    /// - Parameter write: Takes the line, without a newline at its end.
    public static func log(_ write: @escaping @Sendable (String) -> Void) -> Self {
        Self { report in
            write(StandardErrorLine.text(report.report))
            return .notHandled
        }
    }
}
