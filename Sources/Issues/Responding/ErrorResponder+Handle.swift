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
