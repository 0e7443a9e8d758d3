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
