package import HTTPTransfer
package import IssueCore
package import IssueProtocol
import UnixIO

/// Sends lines to a destination over HTTP, in the form that is its own.
///
/// A request has a thread of its own, so that the next lines can be made until its answer is there.
package struct HTTPShipper<Format: HTTPFormat>: Shipper, ~Copyable, Sendable {
    package static var kind: String { Format.kind }
    package static func advice(on reason: PauseReason) -> String { Format.advice(on: reason) }

    private let format: Format
    private let now: @Sendable () -> Timestamp
    private var credential: Credential
    private let sender: Monitor<HTTPSender>
    /// What will come of the request that is under way, or came of the last one.
    private var request = Monitor<HTTPReply?>(.unsent)

    /// - Parameter now: The wall clock, against which a destination's dates are held.
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
                code: .other, message: "The lines could not be compressed", bodyFullySent: false)
            return Self.end(request, with: .failure(error))
        }
        let (sender, post) = (sender, format.post(token: credential.token))
        let send: @Sendable () -> Void = {
            Thread.yieldToOthers()
            Self.end(request, with: sender.withLock { sender in sender.reply(to: post, body, within: limit) })
        }
        // Without a thread the next lines have to wait.
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

/// What one kind of destination that is spoken to over HTTP has of its own: the form of a record, of a request and of
/// an answer.
package protocol HTTPFormat: Sendable {
    /// The word in `status` for its kind.
    static var kind: String { get }

    /// What to do where it is left alone until somebody does something.
    static func advice(on reason: PauseReason) -> String

    var http: HTTPSettings { get }

    /// The line of a record, within the destination's limits.
    func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8]

    /// The line of a summary.
    func line(of summary: OutboundSummary) -> [UInt8]

    /// A line that was too large, cut as far as it can be, or nothing where there is nothing left to cut.
    func cut(_ line: [UInt8]) -> [UInt8]?

    /// How lines become one body.
    static var frame: BodyFrame { get }

    /// How a body is posted.
    func post(token: ShippingToken?) -> HTTPPost

    /// What an answer means beyond its status; nothing where the status says it all.
    static func reading(of response: HTTPResponse, to lines: RequestLines, by reader: ResponseClassifier)
        -> ClassifiedResponse?
}

extension HTTPFormat {
    package static func advice(on reason: PauseReason) -> String { reason.advice }

    /// A store of the team's own takes what the daemon takes, so there is nothing to cut.
    package func cut(_ line: [UInt8]) -> [UInt8]? { nil }
}

/// How a body is posted to a destination, beneath its address.
package struct HTTPPost: Sendable {
    /// The body's.
    package var type: String
    package var path: String
    /// What follows the `?`, encoded already.
    package var query: String
    package var headers: HTTPHeaders

    package init(type: String, path: String = "", query: String = "", headers: HTTPHeaders = [:]) {
        self.type = type
        self.path = path
        self.query = query
        self.headers = headers
    }
}

/// The body of a request as it goes.
struct HTTPBody: Equatable, Sendable {
    var bytes: [UInt8]
    /// Whether it is in the form of gzip.
    var isCompressed: Bool
}

/// What came of a request.
enum HTTPReply: Sendable {
    case response(HTTPResponse)
    case failure(HTTPTransferError)
    /// There was nothing to be let in with.
    case unsent
}

/// How a destination is spoken to over HTTP; all of it may be printed.
package struct HTTPSettings: Equatable, Sendable {
    package var address: HTTPAddress
    /// The authorities to trust in place of the system's.
    package var caFile: String?
    /// Nil leaves it to the environment, an empty text means none.
    package var proxy: String?
    package var connectTimeout: Duration = .seconds(10)
    package var requestTimeout: Duration = .seconds(30)
    /// 1 to 9; zero sends everything as it is.
    package var compressionLevel = 6
    /// Our own, for the user agent.
    package var version = "0"

    package init(address: HTTPAddress) {
        self.address = address
    }
}

/// A kind of store that a team runs itself, with all that the configuration has to know of it.
package protocol StoreFormat: HTTPFormat {
    /// The name of its section.
    static var section: String { get }

    /// The keys that its section has besides those that each destination has.
    static var options: [StoreOption] { get }

    /// - Parameter option: What a key of its own says; nothing where it says nothing and has no default.
    init(_ http: HTTPSettings, _ option: (String) -> String?)
}

/// A key that only the section of one kind of store has; its value is a name.
package struct StoreOption: Hashable, Sendable {
    package let name: String
    /// Empty: there is none.
    package let defaultText: String
    /// One line for who looks it up.
    package let help: String

    package init(_ name: String, default defaultText: String = "", _ help: String) {
        self.name = name
        self.defaultText = defaultText
        self.help = help
    }

    /// Whose password the credential is.
    package static let user = StoreOption("User", "Whose password the credential is.")
}
