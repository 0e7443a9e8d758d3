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
