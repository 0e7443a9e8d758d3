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

    package func prepare() -> any PreparedBody { BodyPress(Format.frame, level: format.http.compressionLevel) }

    package mutating func begin(_ body: any PreparedBody, within limit: Duration?) {
        let request = Monitor<HTTPReply?>(nil)
        self.request = request
        guard !credential.isMissing else { return Self.end(request, with: .unsent) }
        guard let body = (body as? BodyPress)?.finished() else {
            let error = HTTPTransferError(
                code: .other, sentence: "The lines could not be compressed", bodyFullySent: false)
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

    package func answer(to lines: SentLines) -> DeliveryAnswer {
        let reader = AnswerReader(origin: format.http.address.origin, token: credential.token)
        return switch request.wait(until: { $0 }) {
        case .response(let response): reader.meaning(of: response, to: lines, in: Format.self, at: now())
        case .failure(let error): reader.meaning(of: error)
        case .unsent, nil: Credential.missing
        }
    }

    package var lacksCredential: Bool { credential.isMissing }

    package mutating func rereadCredential() -> Bool { credential.reread() }
}
