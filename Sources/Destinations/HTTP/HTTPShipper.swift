package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// Sends lines to a destination over HTTP, in the format of the destination.
package struct HTTPShipper<Format: HTTPFormat>: Shipper, ~Copyable, Sendable {
    package static var kind: String { Format.kind }
    package static func advice(on reason: PauseReason) -> String { Format.advice(on: reason) }

    private let format: Format
    private let cancellation: HTTPCancellation?
    private let now: @Sendable () -> IssueTimestamp
    private var credential: Credential
    private var client = HTTPClient()

    /// - Parameters:
    ///   - format: The format of the destination.
    ///   - credential: The credential of the destination.
    ///   - cancellation: Cancels requests.
    ///   - now: Returns the time of the wall clock, for dates that the destination sends.
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
        do throws(HTTPTransferError) {
            guard let compressor = body as? StreamingCompressor, compressor.finish() else {
                throw HTTPTransferError(code: .other, message: "Compressing the lines failed", bodyFullySent: false)
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
