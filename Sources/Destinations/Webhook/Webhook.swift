package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// The URL of a webhook. Most contain a secret, so descriptions show only the host and port.
package struct WebhookURL: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    package static let maxBytes = 4096

    /// The complete URL. It must not be logged or shown.
    package let text: String
    /// The host and port.
    package let origin: String

    /// Returns nil unless the text is an `http` or `https` URL without a user and a fragment.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maxBytes, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !text.contains("#"),
            let address = HTTPAddress(url: String(text.prefix { $0 != "?" }))
        else { return nil }
        self.text = text
        origin = address.origin
    }

    package var description: String { origin }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Sends the messages of one notifier to a webhook.
package struct Webhook: Sendable {
    package var format: WebhookFormat
    /// Replaces the format's body; nil for none.
    package var template: WebhookTemplate?
    /// The path of a PEM file with authorities that replace those of the system.
    package var caFile: String?
    /// The URL of the proxy; nil to use the environment.
    package var proxy: String?
    package var timeout: Duration
    package var version: String

    package init(
        format: WebhookFormat, template: WebhookTemplate? = nil, caFile: String? = nil, proxy: String? = nil,
        timeout: Duration, version: String
    ) {
        self.format = format
        self.template = template
        self.caFile = caFile
        self.proxy = proxy
        self.timeout = timeout
        self.version = version
    }

    /// Returns the body and the headers of a message.
    package func content(of message: NotificationMessage) -> WebhookContent {
        template.map { WebhookContent(json: $0.body(of: message)) } ?? format.content(of: message)
    }

    /// Connects to the host of a URL, with TLS if it has the scheme `https`, and sends nothing.
    package func probe(_ url: WebhookURL) -> DestinationProbe {
        var request = HTTPRequest(url: url.text)
        request.connectTimeout = min(timeout, .seconds(10))
        request.totalTimeout = request.connectTimeout
        request.proxy = proxy
        request.caFile = caFile
        var client = StreamClient()
        do throws(HTTPTransferError) {
            try client.send([], to: request)
            return DestinationProbe(isAccepted: true, message: "connected to \(url.origin), and sent nothing")
        } catch {
            return DestinationProbe(isAccepted: false, message: error.message)
        }
    }

    /// Sends a message and waits for the response.
    ///
    /// Each message uses a new connection: a kept one may break after the request was sent, and libcurl would then
    /// send it again unnoticed.
    ///
    /// - Parameters:
    ///   - url: Read anew for each message, because its file may have changed.
    ///   - token: Sent as a bearer token; nil for none.
    ///   - now: The wall time, for a `Retry-After` header.
    /// - Returns: The meaning of the response. Its summary contains neither the URL nor text of the response.
    package func send(
        _ message: NotificationMessage, to url: WebhookURL, token: ShippingToken?,
        cancellation: HTTPCancellation?, now: () -> IssueTimestamp
    ) -> DeliveryResult {
        let content = content(of: message)
        var request = HTTPRequest(url: url.text)
        request.body = content.bytes
        request.headers.append(name: "Content-Type", value: content.type)
        for header in content.headers { request.headers.append(name: header.name, value: header.value) }
        if let token { request.headers.append(name: "Authorization", value: "Bearer \(token.text)") }
        request.userAgent = "issued/\(version)"
        request.connectTimeout = timeout
        request.totalTimeout = timeout
        request.proxy = proxy
        request.caFile = caFile
        request.answerLimit = 4096
        var client = HTTPClient()
        do throws(HTTPTransferError) {
            let response = try client.perform(request, cancellation: cancellation)
            let retryAfter = response.headers["Retry-After"].flatMap { RetryAfter.duration($0, at: now()) }
            let text =
                switch response.status {
                case 200..<300: "\(response.status): accepted"
                case 300..<400: "\(response.status) from \(url.origin): redirects are not followed"
                case 407: "407 from the proxy for \(url.origin)"
                case _: "\(response.status) from \(url.origin)"
                }
            var result = DeliveryResult(
                DeliveryVerdict(status: response.status, retryAfter: retryAfter), ResponseSummary(text))
            result.mayHaveArrivedTwice = response.mayHaveArrivedTwice
            return result
        } catch {
            return DeliveryResult(error)
        }
    }
}
