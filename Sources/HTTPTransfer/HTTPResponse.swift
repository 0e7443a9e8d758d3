/// What a peer answered, whatever the status says.
package struct HTTPResponse: Equatable, Sendable {
    package var status: Int
    package var headers: HTTPHeaders
    package var body: [UInt8]
    /// The body is not whole: it was longer than the limit, or the connection
    /// ended within it after a status that is no success.
    package var isTruncated: Bool
    /// A kept connection turned out to be dead after the request had gone out
    /// on it, so the request was made again: the peer may have it twice.
    package var mayHaveArrivedTwice: Bool

    package init(
        status: Int, headers: HTTPHeaders = [:], body: [UInt8] = [], isTruncated: Bool = false,
        mayHaveArrivedTwice: Bool = false
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isTruncated = isTruncated
        self.mayHaveArrivedTwice = mayHaveArrivedTwice
    }
}
