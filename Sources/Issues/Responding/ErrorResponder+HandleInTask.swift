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
