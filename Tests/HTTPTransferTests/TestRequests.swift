import HTTPTransfer
import Testing

/// The text that stands for the credential in the URLs of these tests.
let markedToken = "MARKEDTOKEN"

extension HTTPRequest {
    /// A request to the loopback interface with short timeouts, without a proxy of the environment.
    static func post(
        _ body: String = "{}", to port: UInt16, scheme: String = "http", host: String = "127.0.0.1"
    ) -> HTTPRequest {
        var request = HTTPRequest(
            url: "\(scheme)://\(host):\(port)/?token=\(markedToken)&type=t",
            headers: ["Content-Type": "text/plain"], body: Array(body.utf8))
        request.connectTimeout = .seconds(1)
        request.totalTimeout = .seconds(1)
        request.proxy = ""
        return request
    }

    /// A request whose body is larger than the buffers of both sockets.
    static func largePost(to port: UInt16) -> HTTPRequest {
        var request = post(to: port)
        request.body = [UInt8](repeating: UInt8(ascii: "x"), count: 32 << 20)
        return request
    }
}

/// Performs a request that must fail, and returns its error, which must not reveal the token. If there is a response,
/// the test fails, and the result is nil.
func fault(
    of request: HTTPRequest, client: inout HTTPClient, cancellation: HTTPCancellation? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) -> HTTPTransferError? {
    do {
        let response = try client.perform(request, cancellation: cancellation)
        Issue.record("Unexpected response: \(response.status)", sourceLocation: sourceLocation)
        return nil
    } catch {
        var dumped = ""
        dump(error, to: &dumped)
        for text in ["\(error)", String(reflecting: error), dumped] {
            #expect(!text.contains(markedToken), sourceLocation: sourceLocation)
            #expect(!text.contains("token"), sourceLocation: sourceLocation)
        }
        #expect(error.message.contains(" "), sourceLocation: sourceLocation)
        return error
    }
}

func fault(
    of request: HTTPRequest, cancellation: HTTPCancellation? = nil, sourceLocation: SourceLocation = #_sourceLocation
) -> HTTPTransferError? {
    var client = HTTPClient()
    return fault(of: request, client: &client, cancellation: cancellation, sourceLocation: sourceLocation)
}
