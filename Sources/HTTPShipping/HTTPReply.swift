import HTTPTransfer

/// What came of a request.
enum HTTPReply: Sendable {
    case response(HTTPResponse)
    case failure(HTTPTransferError)
    /// There was nothing to be let in with.
    case unsent
}
