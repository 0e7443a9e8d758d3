package import HTTPTransfer
package import IssueCore
package import IssueProtocol
import UnixIO

/// Sends lines to a destination over HTTP, in the format of the destination.
///
/// Each request runs on a thread of its own, so that the next lines can be formatted meanwhile.
package struct HTTPShipper<Format: HTTPFormat>: Shipper, ~Copyable, Sendable {
    package static var kind: String { Format.kind }
    package static func advice(on reason: PauseReason) -> String { Format.advice(on: reason) }

    private let format: Format
    private let now: @Sendable () -> Timestamp
    private var credential: Credential
    private let sender: Monitor<HTTPSender>
    /// The result of the current or last request; nil while it is running.
    private var request = Monitor<HTTPReply?>(.unsent)

    /// - Parameters:
    ///   - format: The format of the destination.
    ///   - credential: The credential of the destination.
    ///   - cancellation: Cancels requests.
    ///   - now: Returns the time of the wall clock, for dates that the destination sends.
    package init(
        _ format: Format, credential: Credential, cancellation: HTTPCancellation? = nil,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.format = format
        self.credential = credential
        self.now = now
        sender = Monitor(HTTPSender(format.http, cancellation: cancellation))
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        format.line(of: record, types: &types)
    }

    package func line(of summary: OutboundSummary) -> [UInt8] { format.line(of: summary) }

    package func cut(_ line: [UInt8]) -> [UInt8]? { format.cut(line) }

    package func prepare() -> any PreparedBody {
        StreamingCompressor(Format.frame, level: format.http.compressionLevel)
    }

    package mutating func begin(_ body: any PreparedBody, within limit: Duration?) {
        let request = Monitor<HTTPReply?>(nil)
        self.request = request
        guard !credential.isMissing else { return Self.end(request, with: .unsent) }
        guard let body = (body as? StreamingCompressor)?.finished() else {
            let error = HTTPTransferError(
                code: .other, message: "Compressing the lines failed", bodyFullySent: false)
            return Self.end(request, with: .failure(error))
        }
        let (sender, post) = (sender, format.post(token: credential.token))
        let send: @Sendable () -> Void = {
            Thread.yieldToOthers()
            Self.end(request, with: sender.withLock { sender in sender.reply(to: post, body, within: limit) })
        }
        // Without a thread, the next lines have to wait for the request.
        do { _ = try Thread.start(name: "send", body: send) } catch { send() }
    }

    private static func end(_ request: Monitor<HTTPReply?>, with reply: HTTPReply) {
        request.withLock { $0 = reply }
        request.broadcast()
    }

    package func answer(to lines: RequestLines) -> DeliveryResult {
        let reader = ResponseClassifier(origin: format.http.address.origin, token: credential.token)
        return switch request.wait(until: { $0 }) {
        case .response(let response): reader.meaning(of: response, to: lines, in: Format.self, at: now())
        case .failure(let error): reader.meaning(of: error)
        case .unsent, nil: Credential.missing
        }
    }

    package var lacksCredential: Bool { credential.isMissing }

    package mutating func rereadCredential() -> Bool { credential.reread() }
}

/// Sends bodies to one address, one at a time.
package struct HTTPSender: ~Copyable, Sendable {
    private let settings: HTTPSettings
    private let cancellation: HTTPCancellation?
    private var client = HTTPClient()

    package init(_ settings: HTTPSettings, cancellation: HTTPCancellation?) {
        self.settings = settings
        self.cancellation = cancellation
    }

    /// Posts a body and waits for the result.
    ///
    /// - Parameter limit: A time limit below the configured one; nil for none.
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

    /// Returns an empty request to the address itself.
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

/// A kind of HTTP destination: the format of its records, requests and responses.
package protocol HTTPFormat: Sendable {
    /// The kind as shown in `status`.
    static var kind: String { get }

    /// Returns what the operator should do when the destination is paused.
    static func advice(on reason: PauseReason) -> String

    var http: HTTPSettings { get }

    /// Returns the line of a record, within the limits of the destination.
    func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8]

    /// Returns the line of a summary.
    func line(of summary: OutboundSummary) -> [UInt8]

    /// Returns a line that was too large, trimmed as far as possible; nil if it cannot be trimmed any further.
    func cut(_ line: [UInt8]) -> [UInt8]?

    /// The bytes that join lines to a body.
    static var frame: BodyFrame { get }

    /// Returns the request that posts a body.
    func post(token: ShippingToken?) -> HTTPPost

    /// Returns the meaning of a response beyond its status; nil if the status is enough.
    static func reading(of response: HTTPResponse, to lines: RequestLines, by reader: ResponseClassifier)
        -> ClassifiedResponse?
}

extension HTTPFormat {
    package static func advice(on reason: PauseReason) -> String { reason.advice }

    /// A self-hosted store accepts everything that the daemon accepts, so there is nothing to trim.
    package func cut(_ line: [UInt8]) -> [UInt8]? { nil }
}

/// The path, query and headers with which a body is posted to a destination.
package struct HTTPPost: Sendable {
    /// The content type of the body.
    package var type: String
    package var path: String
    /// The percent-encoded query without the question mark.
    package var query: String
    package var headers: HTTPHeaders

    package init(type: String, path: String = "", query: String = "", headers: HTTPHeaders = [:]) {
        self.type = type
        self.path = path
        self.query = query
        self.headers = headers
    }
}

/// The body of a request as it is sent.
struct HTTPBody: Equatable, Sendable {
    var bytes: [UInt8]
    /// `true` if the body is compressed with gzip.
    var isCompressed: Bool
}

/// The result of a request.
enum HTTPReply: Sendable {
    case response(HTTPResponse)
    case failure(HTTPTransferError)
    /// The request was not sent because the credential is missing.
    case unsent
}

/// The HTTP settings of a destination. They contain no secrets and may be printed.
package struct HTTPSettings: Equatable, Sendable {
    package var address: HTTPAddress
    /// The path of a PEM file with authorities that replace those of the system.
    package var caFile: String?
    /// The URL of the proxy; nil to use the environment, empty for no proxy.
    package var proxy: String?
    package var connectTimeout: Duration = .seconds(10)
    package var requestTimeout: Duration = .seconds(30)
    /// The compression level from 1 to 9; zero for no compression.
    package var compressionLevel = 6
    /// The version of the daemon, for the user agent.
    package var version = "0"

    package init(address: HTTPAddress) {
        self.address = address
    }
}

/// A kind of self-hosted store, with its configuration keys.
package protocol StoreFormat: HTTPFormat {
    /// The name of its configuration section.
    static var section: String { get }

    /// The keys of its section in addition to those of every destination.
    static var options: [StoreOption] { get }

    /// - Parameter option: Returns the value of a key; nil if it is not set and has no default.
    init(_ http: HTTPSettings, _ option: (String) -> String?)
}

/// A configuration key of one kind of store; its value is a name.
package struct StoreOption: Hashable, Sendable {
    package let name: String
    /// The default value; empty if there is none.
    package let defaultText: String
    /// A line of help.
    package let help: String

    package init(_ name: String, default defaultText: String = "", _ help: String) {
        self.name = name
        self.defaultText = defaultText
        self.help = help
    }

    /// The user that the credential belongs to.
    package static let user = StoreOption("User", "The user that the credential belongs to.")
}
