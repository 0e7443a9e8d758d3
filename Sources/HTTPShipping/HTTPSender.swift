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
    mutating func reply(to post: HTTPPost, _ body: HTTPBody) -> HTTPReply {
        do throws(HTTPTransferError) {
            return .response(try self.post(post, body))
        } catch {
            return .failure(error)
        }
    }

    private mutating func post(_ post: HTTPPost, _ body: HTTPBody) throws(HTTPTransferError) -> HTTPResponse {
        var url = settings.address.url
        if !post.path.isEmpty { url += (url.hasSuffix("/") ? "" : "/") + post.path }
        if !post.query.isEmpty { url += "?\(post.query)" }
        var request = request(to: url)
        request.headers = post.headers
        request.headers.append(name: "Content-Type", value: post.type)
        if body.isCompressed { request.headers.append(name: "Content-Encoding", value: "gzip") }
        request.body = body.bytes
        return try client.perform(request, cancellation: cancellation)
    }

    /// Whether a bare connection comes about.
    package mutating func reaches() -> Bool { client.connects(to: request, cancellation: cancellation) }

    /// One to the address itself, with nothing in it.
    package var request: HTTPRequest { request(to: settings.address.url) }

    private func request(to url: String) -> HTTPRequest {
        var request = HTTPRequest(method: .post, url: url)
        request.userAgent = "issued/\(settings.version)"
        request.connectTimeout = settings.connectTimeout
        request.totalTimeout = settings.requestTimeout
        request.proxy = settings.proxy
        request.caFile = settings.caFile
        return request
    }
}
