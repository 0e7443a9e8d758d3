package import HTTPTransfer

/// Sends one body after the other to one address, compressed where that gains something.
package struct HTTPSender: ~Copyable, Sendable {
    /// What is shorter gains nothing from being compressed.
    private static let leastCompressed = 1024

    private let settings: HTTPSettings
    private let cancellation: HTTPCancellation?
    private var client = HTTPClient()
    private var compressor: GzipCompressor?

    package init(_ settings: HTTPSettings, cancellation: HTTPCancellation?) {
        self.settings = settings
        self.cancellation = cancellation
        // Without its memory lines go as they are, which is no fault.
        compressor = settings.compressionLevel > 0 ? try? GzipCompressor(level: settings.compressionLevel) : nil
    }

    /// What compresses a body ahead; nothing where none is compressed.
    func press(_ frame: BodyFrame) -> BodyPress? {
        settings.compressionLevel > 0 ? BodyPress(frame, level: settings.compressionLevel) : nil
    }

    /// Posts a body and waits for the answer.
    ///
    /// - Parameter compressed: The body as it was compressed ahead; nothing where it has to be made.
    mutating func post(_ post: HTTPPost, compressed: [UInt8]?, _ body: () -> [UInt8]) throws(HTTPTransferError)
        -> HTTPResponse
    {
        var url = settings.address.url
        if !post.path.isEmpty { url += (url.hasSuffix("/") ? "" : "/") + post.path }
        if !post.query.isEmpty { url += "?\(post.query)" }
        var request = request(to: url)
        request.headers = post.headers
        request.headers.append(name: "Content-Type", value: post.type)
        if let compressed = compressed ?? pressed(body(), into: &request) {
            request.headers.append(name: "Content-Encoding", value: "gzip")
            request.body = compressed
        }
        return try client.perform(request, cancellation: cancellation)
    }

    /// A body, compressed; where that gains nothing it is put into the request as it is.
    private mutating func pressed(_ body: [UInt8], into request: inout HTTPRequest) -> [UInt8]? {
        if body.count > Self.leastCompressed, let compressed = try? compressor?.compress(body) { return compressed }
        request.body = body
        return nil
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
