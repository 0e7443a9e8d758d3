package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// A kind of HTTP destination: its configuration keys, and the format of its records, requests and responses.
package protocol HTTPFormat: Sendable {
    /// The name of the kind in `status`, and of a destination whose section has no name.
    static var kind: String { get }

    /// The name of the configuration section.
    static var section: String { get }

    /// The keys of the section in addition to those that every destination has.
    static var options: [DestinationOption] { get }

    /// The word for the credential in error messages.
    static var credentialWord: String { get }

    /// The default of `Credential=`; nil if the destination may work without a credential.
    static var defaultCredential: String? { get }

    /// Whether the limits of `[Limits]` and `[Forward]` apply unless the section sets others. If not, the bursts, the
    /// send rate and the daily bytes are unlimited by default, and batches are larger, because the server is
    /// self-hosted.
    static var isLimitedByDefault: Bool { get }

    /// Returns the address of the server.
    ///
    /// - Parameters:
    ///   - url: The value of `URL=`; nil if it is not set.
    ///   - options: The values of `options`, by name. Values that depend on the address are added.
    /// - Throws: `AddressError` if the keys determine no address.
    static func address(_ url: HTTPAddress?, _ options: inout [String: String]) throws(AddressError) -> HTTPAddress

    /// The bytes before, between and after the lines of a body.
    static var frame: BodyFrame { get }

    /// The number of bytes by which each line of a request raises the limit on the size of the response; 0 by default.
    static var responseBytesPerLine: Int { get }

    /// The description of a valid `URL=`, for an error message after "expected".
    static var expectedURL: String { get }

    /// Returns `true` if the credential is a password. It may contain spaces, because it is encoded before it is sent.
    ///
    /// - Parameter options: The values of `options`, by name.
    static func isPassword(_ options: [String: String]) -> Bool

    /// Returns what the operator should do when the destination is paused.
    static func advice(on reason: PauseReason) -> String

    /// - Parameters:
    ///   - http: The settings for requests.
    ///   - options: The values of `options`, by name. Options without a value or default are missing.
    init(_ http: HTTPSettings, _ options: [String: String])

    /// The settings for requests.
    var http: HTTPSettings { get }

    /// Returns the line of a record, within the limits of the destination.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - types: The known types of the destination's fields. The types of new fields are added.
    func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8]

    /// Returns the line of a summary.
    func line(of summary: OutboundSummary) -> [UInt8]

    /// Returns the line of a correction of the grouping.
    func line(of correction: OutboundCorrection) -> [UInt8]

    /// Returns a line that was too large, trimmed as far as possible; nil if it cannot be trimmed any further.
    func cut(_ line: [UInt8]) -> [UInt8]?

    /// Completes the path, query and headers of a request to the destination's address.
    ///
    /// - Parameters:
    ///   - request: A request whose URL has no query.
    ///   - token: The credential; nil if there is none.
    func complete(_ request: inout HTTPRequest, token: ShippingToken?)

    /// Completes a request that tests the destination and stores nothing.
    func completeProbe(_ request: inout HTTPRequest, token: ShippingToken?)

    /// Returns `true` if a probe with this response has succeeded.
    static func acceptsProbe(_ response: HTTPResponse) -> Bool

    /// Returns the meaning of a response beyond its status; nil if the status is enough.
    ///
    /// - Parameters:
    ///   - response: The response. Its text must not appear in the result.
    ///   - lines: The number of lines in the request.
    static func result(of response: HTTPResponse, lines: Int) -> DeliveryResult?
}

extension HTTPFormat {
    package static var credentialWord: String { "credential" }

    package static var defaultCredential: String? { nil }

    package static var expectedURL: String {
        "an address such as https://listener.example.com:8071, without a user, a “?” or the token"
    }

    package static func isPassword(_ options: [String: String]) -> Bool { false }

    package static var isLimitedByDefault: Bool { false }

    package static var responseBytesPerLine: Int { 0 }

    package static func address(
        _ url: HTTPAddress?, _ options: inout [String: String]
    ) throws(AddressError) -> HTTPAddress {
        guard let url else { throw .missing(keys: ["URL"], expected: "URL=") }
        return url
    }

    package static func advice(on reason: PauseReason) -> String { reason.advice }

    package func completeProbe(_ request: inout HTTPRequest, token: ShippingToken?) {
        complete(&request, token: token)
    }

    /// Returns nil, because lines for self-hosted stores are not trimmed.
    package func cut(_ line: [UInt8]) -> [UInt8]? { nil }
}

/// The reason why the keys of a section determine no address.
package enum AddressError: Error, Equatable, Sendable {
    /// None of the keys is set. `expected` describes them for an error message.
    case missing(keys: Set<String>, expected: String)
    /// Two keys set an address. The error is reported for the second one.
    case both(String, String)
    /// The value of `key` contradicts another key. The text explains how.
    case contradiction(key: String, String)
}

/// A configuration key that only some kinds of destination have.
package struct DestinationOption: Sendable {
    package let name: String
    /// The default value; empty if there is none.
    package let defaultText: String
    /// Whether the default is used only if it agrees with the address.
    package let dependsOnAddress: Bool
    /// A line of help.
    package let help: String
    /// The description of valid values, for an error message after "expected"; nil for a name of at most 64 letters,
    /// digits, `_`, `-` and `.`.
    package let expected: String?
    /// Returns `true` if a value is valid. Not called if `expected` is nil: the configuration parser then checks that
    /// the value is a name.
    package let accepts: @Sendable (String) -> Bool

    /// Whether messages may quote an invalid value. An invalid value of `User=` is not quoted, because it may contain a
    /// password, as in `user:password`.
    package var isQuotable: Bool { name != "User" }

    /// Creates a key whose value is a name.
    package init(_ name: String, default defaultText: String = "", _ help: String) {
        self.init(name, default: defaultText, help, expected: nil) { _ in true }
    }

    /// Creates a key with a syntax of its own.
    package init(
        _ name: String, default defaultText: String = "", dependsOnAddress: Bool = false, _ help: String,
        expected: String?, accepts: @escaping @Sendable (String) -> Bool
    ) {
        self.name = name
        self.defaultText = defaultText
        self.dependsOnAddress = dependsOnAddress
        self.help = help
        self.expected = expected
        self.accepts = accepts
    }

    /// The user that the credential belongs to.
    package static let user = DestinationOption("User", "The user that the credential belongs to.")
}

/// The HTTP settings of a destination. They contain no secrets and may be printed.
package struct HTTPSettings: Equatable, Sendable {
    package var address: HTTPAddress
    /// The path of a PEM file with the certificates of trusted authorities; nil for the authorities of the system.
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

    /// Returns an empty POST request to the address.
    ///
    /// - Parameter limit: A further limit for both timeouts; nil for none.
    func request(within limit: Duration?) -> HTTPRequest {
        var request = HTTPRequest(url: address.url)
        request.userAgent = "issued/\(version)"
        request.connectTimeout = min(connectTimeout, limit ?? connectTimeout)
        request.totalTimeout = min(requestTimeout, limit ?? requestTimeout)
        request.proxy = proxy
        request.caFile = caFile
        return request
    }
}

/// Sends lines to a destination over HTTP, in the format of the destination.
package struct HTTPShipper<Format: HTTPFormat>: Shipper, ~Copyable, Sendable {
    package static func advice(on reason: PauseReason) -> String { Format.advice(on: reason) }

    private let format: Format
    private let cancellation: HTTPCancellation?
    private let now: @Sendable () -> IssueTimestamp
    private var credential: Credential
    private var client = HTTPClient()

    /// - Parameters:
    ///   - format: The format of the destination.
    ///   - credential: The credential of the destination.
    ///   - cancellation: Cancels requests from another thread; nil if they cannot be cancelled.
    ///   - now: Returns the wall time, for `Retry-After` headers.
    package init(
        _ format: Format, credential: Credential, cancellation: HTTPCancellation? = nil,
        now: @escaping @Sendable () -> IssueTimestamp
    ) {
        self.format = format
        self.credential = credential
        self.cancellation = cancellation
        self.now = now
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        format.line(of: record, types: &types)
    }

    package func line(of summary: OutboundSummary) -> [UInt8] { format.line(of: summary) }

    package func line(of correction: OutboundCorrection) -> [UInt8] { format.line(of: correction) }

    package func cut(_ line: [UInt8]) -> [UInt8]? { format.cut(line) }

    package func prepare() -> any PreparedBody {
        StreamingCompressor(Format.frame, level: format.http.compressionLevel)
    }

    package mutating func send(_ body: any PreparedBody, within limit: Duration?) -> DeliveryResult {
        if credential.isMissing { return Credential.missing }
        var request = format.http.request(within: limit)
        format.complete(&request, token: credential.token)
        request.responseLimit += body.count * Format.responseBytesPerLine
        do throws(HTTPTransferError) {
            guard let compressor = body as? StreamingCompressor, compressor.finish() else {
                throw HTTPTransferError(code: .other, message: "Compressing the lines failed")
            }
            request.body = compressor.bytes
            if compressor.isCompressed { request.headers.append(name: "Content-Encoding", value: "gzip") }
            let response = try client.perform(request, cancellation: cancellation)
            return Format.result(of: response, lines: body.count, from: format.http.address.origin, at: now())
        } catch {
            return DeliveryResult(error)
        }
    }

    package var lacksCredential: Bool { credential.isMissing }

    package mutating func rereadCredential() -> Bool { credential.reread() }
}

/// The address of a destination: scheme, host, port and path. It contains no secrets.
package struct HTTPAddress: Hashable, Sendable {
    package enum Scheme: String, CaseIterable, Hashable, Sendable {
        case http
        case https

        /// The default port of the scheme.
        var defaultPort: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            }
        }
    }

    package let scheme: Scheme
    package let host: String
    package let port: UInt16
    package let path: String

    package init(scheme: Scheme, host: String, port: UInt16, path: String = "/") {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
    }

    /// Parses a URL. Returns nil if it is invalid or has other parts than a scheme, host, port and path.
    package init?(url: String) {
        guard let scheme = Scheme.allCases.first(where: { url.lowercased().hasPrefix("\($0.rawValue)://") }) else {
            return nil
        }
        let rest = url.utf8.dropFirst(scheme.rawValue.utf8.count + 3)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") }
        guard let (host, port) = Self.hostAndPort(Substring(authority)), rest.allSatisfy(Self.isPlain) else {
            return nil
        }
        self.scheme = scheme
        self.host = host
        self.port = port ?? scheme.defaultPort
        let path = String(Substring(rest.dropFirst(authority.count)))
        self.path = path.isEmpty ? "/" : path
    }

    /// The host and port, for display.
    package var origin: String { "\(host):\(port)" }

    /// The URL without a query.
    package var url: String { "\(scheme.rawValue)://\(origin)\(path)" }

    /// Splits the authority of a URL, which must not contain a user. Returns nil if it is invalid; the port is nil if
    /// there is none.
    package static func hostAndPort(_ text: Substring) -> (host: String, port: UInt16?)? {
        let end: Substring.Index
        if text.hasPrefix("[") {
            guard let bracket = text.firstIndex(of: "]") else { return nil }
            let address = text[..<bracket].dropFirst()
            guard !address.isEmpty, address.utf8.allSatisfy(isAddressPart) else { return nil }
            end = text.index(after: bracket)
        } else {
            end = text.firstIndex(of: ":") ?? text.endIndex
            guard text[..<end].utf8.allSatisfy(isNamePart) else { return nil }
        }
        guard end > text.startIndex else { return nil }
        let host = String(text[..<end])
        guard end < text.endIndex else { return (host, nil) }
        let digits = text[end...].dropFirst()
        guard text[end] == ":", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits),
            port > 0
        else { return nil }
        return (host, port)
    }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || "-._".utf8.contains(byte)
    }

    private static func isAddressPart(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".") || (0x30...0x39).contains(byte)
            || (0x61...0x66).contains(byte | 0x20)
    }

    /// Returns `true` if the byte may be in a URL without a query or fragment. A query is not allowed, because the
    /// formats add their own.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
            && byte != UInt8(ascii: "\\")
    }
}

/// The credential of a destination, or the fact that the destination needs none. A credential can be read again when it
/// may have changed.
package struct Credential: Sendable {
    private let read: (@Sendable () -> ShippingToken?)?
    package private(set) var token: ShippingToken?

    /// - Parameter read: Reads the credential, or returns nil if it is missing. Pass nil if the destination needs none.
    package init(_ read: (@Sendable () -> ShippingToken?)?) {
        self.read = read
        token = read?()
    }

    /// Whether a credential is needed but missing.
    package var isMissing: Bool { read != nil && token == nil }

    /// The result of sending without the required credential.
    package static var missing: DeliveryResult {
        DeliveryResult(.paused(.noCredential), ResponseSummary("the credential is missing"))
    }

    /// Reads the credential again. Returns `true` if it is available and has changed.
    package mutating func reread() -> Bool {
        let old = token
        token = read?()
        return token != nil && token != old
    }
}

/// A credential of a destination or webhook. Its descriptions do not reveal it.
package struct ShippingToken: Hashable, Sendable {
    package static let maxBytes = 4096

    package let text: String

    /// Creates a token. Surrounding white space is removed, because a file usually ends with a line feed.
    ///
    /// - Parameters:
    ///   - bytes: The content of the file.
    ///   - isPassword: Whether the token may contain spaces.
    /// - Returns: Nil if the token is empty, is longer than `maxBytes`, is not UTF-8, or contains an ASCII control
    ///   character or a space that is not allowed.
    package init?(_ bytes: [UInt8], isPassword: Bool = false) {
        let trimmed = Array(bytes.drop(while: Self.isSpace).reversed().drop(while: Self.isSpace).reversed())
        guard !trimmed.isEmpty, trimmed.count <= Self.maxBytes,
            !trimmed.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0x20 && !isPassword }),
            let text = String(validating: trimmed, as: UTF8.self)
        else { return nil }
        self.text = text
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}

extension ShippingToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "a shipping token" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Percent-encoding for the query of a URL.
package enum PercentEncoding {
    /// Encodes all characters except the unreserved ones (RFC 3986, 2.3).
    package static func encode(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var output: [UInt8] = []
        for byte in text.utf8 {
            if byte.isLetterOrDigit || "-._~".utf8.contains(byte) {
                output.append(byte)
            } else {
                output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

extension UInt8 {
    /// Whether the byte is an ASCII letter or digit.
    var isLetterOrDigit: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) || (0x30...0x39).contains(self)
    }
}
