package import HTTPTransfer

/// Sends one body after the other to one address.
package struct HTTPSender: ~Copyable, Sendable {
    private let settings: HTTPSettings
    private let cancellation: HTTPCancellation?
    private var client = HTTPClient()

    package init(_ settings: HTTPSettings, cancellation: HTTPCancellation?) {
        self.settings = settings
        self.cancellation = cancellation
    }

    /// Posts a body and waits for what comes of it.
    ///
    /// - Parameter limit: Where it may not take as long as is set.
    mutating func reply(to post: HTTPPost, _ body: HTTPBody, within limit: Duration? = nil) -> HTTPReply {
        do throws(HTTPTransferError) {
            return .response(try self.post(post, body, within: limit))
        } catch {
            return .failure(error)
        }
    }

    private mutating func post(
        _ post: HTTPPost, _ body: HTTPBody, within limit: Duration?
    ) throws(HTTPTransferError) -> HTTPResponse {
        var url = settings.address.url
        if !post.path.isEmpty { url += (url.hasSuffix("/") ? "" : "/") + post.path }
        if !post.query.isEmpty { url += "?\(post.query)" }
        var request = request(to: url, within: limit)
        request.headers = post.headers
        request.headers.append(name: "Content-Type", value: post.type)
        if body.isCompressed { request.headers.append(name: "Content-Encoding", value: "gzip") }
        request.body = body.bytes
        return try client.perform(request, cancellation: cancellation)
    }

    /// One to the address itself, with nothing in it.
    package func request(within limit: Duration?) -> HTTPRequest { request(to: settings.address.url, within: limit) }

    private func request(to url: String, within limit: Duration?) -> HTTPRequest {
        var request = HTTPRequest(method: .post, url: url)
        request.userAgent = "issued/\(settings.version)"
        request.connectTimeout = min(settings.connectTimeout, limit ?? settings.connectTimeout)
        request.totalTimeout = min(settings.requestTimeout, limit ?? settings.requestTimeout)
        request.proxy = settings.proxy
        request.caFile = settings.caFile
        return request
    }
}
