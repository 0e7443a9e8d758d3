package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// Sends lines to a listener of Logz.io.
package struct LogzShipper: Shipper, ~Copyable, Sendable {
    /// What is shorter gains nothing from being compressed.
    private static let leastCompressed = 1024

    package static var kind: String { "logzio" }

    private let settings: LogzSettings
    private let payload: LogzPayload
    private let readToken: @Sendable () -> ShippingToken?
    private let now: @Sendable () -> Timestamp
    private let cancellation: HTTPCancellation?
    private var token: ShippingToken?
    private var client = HTTPClient()
    private var compressor: GzipCompressor?

    /// - Parameter readToken: Reads the credential anew, or answers nothing where there is none.
    /// - Parameter now: The wall clock, against which a listener's dates are held.
    package init(
        _ settings: LogzSettings, cancellation: HTTPCancellation? = nil, now: @escaping @Sendable () -> Timestamp,
        readToken: @escaping @Sendable () -> ShippingToken?
    ) {
        self.settings = settings
        self.cancellation = cancellation
        self.now = now
        self.readToken = readToken
        payload = LogzPayload(type: settings.type, metadataKey: settings.metadataKey)
        token = readToken()
        // Without its memory lines go as they are, which is no fault.
        compressor = settings.compressionLevel > 0 ? try? GzipCompressor(level: settings.compressionLevel) : nil
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        payload.line(of: record, types: &types)
    }

    package func line(of summary: OutboundSummary) -> [UInt8] {
        payload.line(of: summary)
    }

    package func cut(_ line: [UInt8]) -> [UInt8]? {
        payload.cut(line)
    }

    package mutating func send(_ lines: [[UInt8]]) -> DeliveryAnswer {
        let answer = LogzAnswer(origin: settings.address.origin, token: token)
        guard let token else {
            return DeliveryAnswer(.paused(.noCredential), AnswerSummary("there is no shipping token to send with"))
        }
        do throws(HTTPTransferError) {
            let response = try client.perform(request(with: lines, token), cancellation: cancellation)
            return answer.meaning(of: response, to: lines, at: now())
        } catch {
            return answer.meaning(of: error)
        }
    }

    package mutating func rereadCredential() -> Bool {
        let old = token
        token = readToken()
        return token != nil && token != old
    }

    package mutating func reaches() -> Bool {
        client.connects(to: plainRequest(to: settings.address.url), cancellation: cancellation)
    }

    private mutating func request(with lines: [[UInt8]], _ token: ShippingToken) -> HTTPRequest {
        var body: [UInt8] = []
        body.reserveCapacity(lines.reduce(0) { $0 + $1.count + 1 })
        for line in lines {
            body += line
            body.append(UInt8(ascii: "\n"))
        }
        let query = "token=\(PercentEncoding.encode(token.text))&type=\(PercentEncoding.encode(settings.type))"
        var request = plainRequest(to: "\(settings.address.url)?\(query)")
        request.headers.append(name: "Content-Type", value: "text/plain")
        if body.count > Self.leastCompressed, let compressed = try? compressor?.compress(body) {
            request.headers.append(name: "Content-Encoding", value: "gzip")
            request.body = compressed
        } else {
            request.body = body
        }
        return request
    }

    private func plainRequest(to url: String) -> HTTPRequest {
        var request = HTTPRequest(method: .post, url: url)
        request.userAgent = "issued/\(settings.version)"
        request.connectTimeout = settings.connectTimeout
        request.totalTimeout = settings.requestTimeout
        request.proxy = settings.proxy
        request.caFile = settings.caFile
        return request
    }
}
