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
    let respond: @Sendable (ClimbingReport) -> Response

    /// What becomes of the error.
    enum Response {
        case handled
        /// Handled, and without the end of the program that was to follow.
        case discarded
        case notHandled
        case replaced(any Error)
    }

    init(respond: @escaping @Sendable (ClimbingReport) -> Response) {
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
