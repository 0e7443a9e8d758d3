package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// The URL of a webhook. Most of these URLs contain a secret, so the description shows only the host and port.
package struct WebhookURL: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    package static let maxBytes = 4096

    /// The complete URL. It must not be logged or shown.
    package let text: String
    /// The host and port.
    package let origin: String

    /// Returns nil unless the text is an `http` or `https` URL without a user or a fragment, of at most `maxBytes`.
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
    /// The template of the body; nil for the body of the format.
    package var template: WebhookTemplate?
    /// The path of a PEM file with the certificates of trusted authorities; nil for the authorities of the system.
    package var caFile: String?
    /// The URL of the proxy; nil to use the environment, empty for no proxy.
    package var proxy: String?
    /// The time limit of a request.
    package var timeout: Duration
    /// The version of the daemon, for the user agent.
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

    /// Connects to the host of a URL and sends nothing. Uses TLS if the scheme of the URL is `https`. If the scheme is
    /// `http` and there is an HTTP proxy, connects only to the proxy.
    package func probe(_ url: WebhookURL) -> DestinationProbe {
        DestinationProbe(
            connecting: request(to: url, within: min(timeout, .seconds(10))),
            "connected to \(url.origin) or only to its proxy, and sent nothing")
    }

    /// Returns an empty POST request.
    private func request(to url: WebhookURL, within limit: Duration) -> HTTPRequest {
        var request = HTTPRequest(url: url.text)
        request.userAgent = "issued/\(version)"
        request.connectTimeout = limit
        request.totalTimeout = limit
        request.proxy = proxy
        request.caFile = caFile
        request.responseLimit = 4096
        return request
    }

    /// Sends a message and waits for the response.
    ///
    /// Each message uses a new connection. If a reused connection ended after the request was sent, libcurl would send
    /// the request again.
    ///
    /// - Parameters:
    ///   - url: The URL. The caller reads it again for each message, because its file may have changed.
    ///   - token: The credential, which is sent as a bearer token; nil for none.
    ///   - cancellation: Cancels the request from another thread; nil if the request cannot be cancelled.
    ///   - now: Returns the wall time, for a `Retry-After` header.
    /// - Returns: The meaning of the response. Of the URL, its summary contains at most the host and port. It contains
    ///   no text of the response.
    package func send(
        _ message: NotificationMessage, to url: WebhookURL, token: ShippingToken?,
        cancellation: HTTPCancellation?, now: () -> IssueTimestamp
    ) -> DeliveryResult {
        let content = content(of: message)
        var request = request(to: url, within: timeout)
        request.body = content.bytes
        request.headers.append(name: "Content-Type", value: content.type)
        for header in content.headers { request.headers.append(name: header.name, value: header.value) }
        if let token { request.headers.append(name: "Authorization", value: "Bearer \(token.text)") }
        var client = HTTPClient()
        do throws(HTTPTransferError) {
            let response = try client.perform(request, cancellation: cancellation)
            return DeliveryResult(statusOf: response, lines: nil, from: url.origin, at: now())
        } catch {
            return DeliveryResult(error)
        }
    }
}

/// The format of the messages that a webhook receives.
package enum WebhookFormat: String, CaseIterable, Hashable, Sendable {
    /// A JSON object with all values of the message.
    case json
    /// An incoming webhook of Slack.
    case slack
    /// An incoming webhook of Mattermost.
    case mattermost
    /// A webhook of Discord.
    case discord
    /// A topic of ntfy.
    case ntfy
    /// The alerts API of Alertmanager.
    case alertmanager

    /// Returns the body and the headers of a message.
    package func content(of message: NotificationMessage) -> WebhookContent {
        switch self {
        case .json: WebhookContent(json: Self.json(message))
        case .slack:
            Self.object { object in
                let lines = message.lines.map { Self.slackEscaped($0) }
                let title = "*\(Self.slackEscaped(message.title, isBold: true))*"
                object.member("text", ([title] + lines).joined(separator: "\n"))
                object.member("unfurl_links", false)
                object.member("unfurl_media", false)
            }
        case .mattermost: Self.object { $0.member("text", Self.markdown(message)) }
        case .discord:
            Self.object { object in
                object.member("content", Self.prefix(of: Self.markdown(message)))
                object.key("allowed_mentions")
                object.object { mentions in
                    mentions.key("parse")
                    mentions.array { _ in }
                }
            }
        case .ntfy:
            WebhookContent(
                bytes: Array(message.text.utf8), type: "text/plain; charset=utf-8",
                headers: [
                    ("Title", "issued: \(message.kinds.names.joined(separator: ", "))"),
                    ("Priority", message.isUrgent ? "high" : "default"),
                    (
                        "Tags",
                        message.isRecovery ? "white_check_mark" : message.isUrgent ? "rotating_light" : "warning"
                    ),
                ])
        case .alertmanager: WebhookContent(json: Self.alerts(message))
        }
    }

    /// The maximum length of a message for Discord, in UTF-16 code units. Discord rejects more than 2,000 characters,
    /// and no text has more characters than UTF-16 code units.
    private static let maxDiscordLength = 1900

    /// Returns as much of the beginning of a text as fits into a message for Discord. An escape is not split.
    private static func prefix(of text: String) -> String {
        var (end, length) = (text.startIndex, 0)
        for index in text.indices {
            length += text[index].utf16.count
            if length > maxDiscordLength { break }
            end = text.index(after: index)
        }
        let backslashes = text[..<end].reversed().prefix { $0 == "\\" }.count
        return String(text[..<end].dropLast(backslashes % 2))
    }

    private static func object(_ body: (inout JSONWriter) -> Void) -> WebhookContent {
        var writer = JSONWriter()
        writer.object { body(&$0) }
        return WebhookContent(json: writer.bytes)
    }

    /// Escapes the characters with which an application could mention a channel in Slack, or give a link another text.
    /// Slack still turns a plain URL into a link.
    ///
    /// Examines code points instead of Swift characters, because a character may consist of several code points.
    ///
    /// - Parameter isBold: `true` for text between asterisks. An asterisk in it is replaced by a similar character.
    private static func slackEscaped(_ text: String, isBold: Bool = false) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped.append(contentsOf: "&amp;".unicodeScalars)
            case "<": escaped.append(contentsOf: "&lt;".unicodeScalars)
            case ">": escaped.append(contentsOf: "&gt;".unicodeScalars)
            case "*" where isBold: escaped.append("∗")
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    /// Returns the message as Markdown. Text from applications can't add formatting or links, or mention anyone.
    private static func markdown(_ message: NotificationMessage) -> String {
        (["**\(markdownEscaped(message.title))**"] + message.lines.map(markdownEscaped)).joined(separator: "\n")
    }

    /// Escapes each code point that could format text, mention someone or begin a link.
    private static func markdownEscaped(_ line: String) -> String {
        var text = String.UnicodeScalarView()
        var previous: Unicode.Scalar?
        for scalar in line.unicodeScalars {
            switch scalar {
            case "\\", "`", "*", "_", "~", "[", "]", "(", ")", "#", "|", "<", ">": text.append("\\")
            // A zero-width space prevents a link and its preview.
            case "/" where previous == ":": text.append("\u{200B}")
            case "." where String(text.suffix(3)).lowercased() == "www": text.append("\u{200B}")
            default: break
            }
            text.append(scalar)
            // A zero-width space after an at sign prevents a mention.
            if scalar == "@" { text.append("\u{200B}") }
            previous = scalar
        }
        return String(text)
    }

    // MARK: JSON

    private static func json(_ message: NotificationMessage) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("version", Int64(1))
            object.member("id", message.id)
            object.member("notifier", message.notifier)
            object.member("host", message.host)
            object.member("at", message.at.description)
            object.member("attempt", Int64(message.attempt))
            object.member("possible_repetition", message.mayBeRepetition)
            object.member("test", message.isTest)
            object.member("title", message.title)
            object.member("text", message.text)
            object.key("kinds")
            object.array { for name in message.kinds.names { $0.string(name) } }
            object.member("total", message.total)
            object.key("counts")
            object.object { counts in
                for one in message.counts { counts.member(one.kind.names.first ?? "", one.count) }
            }
            object.key("issues")
            object.array { list in for item in message.items { write(item, to: &list) } }
            object.key("events")
            object.array { list in
                for event in message.ownEvents {
                    list.object { object in
                        object.member("kind", event.kinds.names.first ?? "")
                        object.member("text", event.text)
                        object.member("at", event.at.description)
                    }
                }
            }
            object.key("others")
            object.array { list in
                for other in message.others {
                    list.object { object in
                        object.member("uid", ifPresent: other.uid.map { Int64($0) })
                        if other.isOfDaemon { object.member("daemon", true) }
                        object.member("count", other.count)
                    }
                }
            }
        }
        return writer.bytes
    }

    private static func write(_ item: NotificationMessage.Item, to list: inout JSONWriter) {
        list.object { object in
            object.key("kinds")
            object.array { for name in item.kinds.names { $0.string(name) } }
            object.member("group", item.group)
            object.member("record", item.record)
            object.member("title", item.title)
            object.member("app", item.app)
            object.member("version", ifPresent: item.version)
            object.member("environment", ifPresent: item.environment)
            object.member("severity", item.severity.name)
            object.member("unit", ifPresent: item.unit)
            object.member("uid", Int64(item.uid))
            object.member("at", item.at.description)
            object.member("escalation", ifPresent: item.escalation)
        }
    }

    // MARK: Alertmanager

    private static func alerts(_ message: NotificationMessage) -> [UInt8] {
        var writer = JSONWriter()
        writer.array { list in
            for item in message.items {
                alert("Issue", item.kinds, message, at: item.at, "\(item.heading): \(item.title)", to: &list) {
                    labels in
                    labels.member("app", item.app)
                    labels.member("group", item.group)
                    labels.member("severity", item.severity.name)
                    labels.member("environment", ifPresent: item.environment)
                }
            }
            for event in message.ownEvents {
                let isEnd = event.kinds == .destinationRecovered
                // The end of an alert has the same labels as its beginning.
                for kind in isEnd ? [.destinationPaused, .destinationDelayed] : [event.kinds] {
                    alert(
                        "Issued", kind, message, at: event.at, "\(event.heading): \(event.text)",
                        isEnd: isEnd, to: &list
                    ) {
                        $0.member("severity", kind.contains(.storeFault) ? "critical" : "error")
                        $0.member("destination", ifPresent: event.destination)
                    }
                }
            }
            if message.items.isEmpty && message.ownEvents.isEmpty || !message.others.isEmpty {
                alert("Issues", message.kinds, message, at: message.at, message.title, to: &list) { _ in }
            }
        }
        return writer.bytes
    }

    private static func alert(
        _ name: String, _ kinds: NotificationKinds, _ message: NotificationMessage, at: IssueTimestamp,
        _ summary: String, isEnd: Bool = false, to list: inout JSONWriter, _ labels: (inout JSONWriter) -> Void
    ) {
        list.object { alert in
            alert.key("labels")
            alert.object { object in
                object.member("alertname", name)
                object.member("kind", kinds.names.first ?? "test")
                object.member("host", message.host)
                labels(&object)
            }
            alert.key("annotations")
            alert.object { object in
                object.member("summary", summary)
                object.member("message", message.id)
                object.member("possible_repetition", message.mayBeRepetition ? "true" : "false")
            }
            alert.member("startsAt", at.description)
            if isEnd { alert.member("endsAt", at.description) }
        }
    }
}

/// The body of a webhook's request, and its headers.
package struct WebhookContent: Sendable {
    package var bytes: [UInt8]
    /// The value of the `Content-Type` header.
    package var type: String
    /// The other headers.
    package var headers: [(name: String, value: String)] = []

    init(json: [UInt8]) {
        (bytes, type) = (json, "application/json")
    }

    init(bytes: [UInt8], type: String, headers: [(name: String, value: String)]) {
        (self.bytes, self.type, self.headers) = (bytes, type, headers)
    }
}

/// A text that becomes JSON when its placeholders, such as `{title}`, are replaced.
package struct WebhookTemplate: Hashable, Sendable {
    package let text: String

    /// The names of the placeholders.
    package static let placeholders = [
        "title", "text", "host", "notifier", "kinds", "severity", "count", "id", "attempt", "at",
    ]

    /// Returns nil if a placeholder is unknown, if the text with sample values is not valid JSON, or if the template is
    /// longer than 8 KiB.
    package init?(_ text: String) {
        self.text = text
        // A template with a backslash before a placeholder is rejected, because no JSON escape consists of a backslash
        // and the first character of a sample value.
        var sample = NotificationMessage(
            id: "x1", notifier: "x", host: "x", at: .epoch, attempt: 1, mayBeRepetition: false)
        sample.counts = [.init(kind: .escalated, count: 1)]
        guard text.utf8.count <= 8192, !Self.hasUnknownPlaceholder(text),
            (try? JSONValue(json: String(decoding: body(of: sample), as: UTF8.self))) != nil
        else { return nil }
    }

    /// Returns `true` if a word in braces is not a placeholder. In valid JSON, such a word can only occur in a string.
    private static func hasUnknownPlaceholder(_ text: String) -> Bool {
        text.split(separator: "{", omittingEmptySubsequences: false).dropFirst().contains { rest in
            let name = rest.prefix { $0.isLetter || $0 == "_" }
            return !name.isEmpty && rest.dropFirst(name.count).first == "}" && !placeholders.contains(String(name))
        }
    }

    /// Returns the text with the values of a message in place of the placeholders.
    package func body(of message: NotificationMessage) -> [UInt8] {
        var body = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {
            body += rest[..<open]
            rest = rest[open...]
            let name = rest.dropFirst().prefix { $0.isLetter }
            let end = rest.index(open, offsetBy: name.count + 1)
            if end < rest.endIndex, rest[end] == "}", let value = Self.value(of: String(name), message) {
                body += Self.escaped(value)
                rest = rest[rest.index(after: end)...]
            } else {
                body.append("{")
                rest = rest.dropFirst()
            }
        }
        return Array((body + rest).utf8)
    }

    private static func value(of name: String, _ message: NotificationMessage) -> String? {
        switch name {
        case "title": message.title
        case "text": message.text
        case "host": message.host
        case "notifier": message.notifier
        case "kinds": message.kinds.names.joined(separator: " ")
        case "severity": message.severity.name
        case "count": "\(message.total)"
        case "id": message.id
        case "attempt": "\(message.attempt)"
        case "at": message.at.description
        case _: nil
        }
    }

    /// Returns a text as the content of a JSON string, without quotation marks.
    private static func escaped(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return String(writer.text.dropFirst().dropLast())
    }
}

extension NotificationMessage {
    /// The severity of the message: critical if it has a critical issue or a store fault, and info if it has only
    /// recoveries. Otherwise the highest severity of the listed issues, or error if there are none.
    package var severity: IssueLevel {
        if isRecovery { return .info }
        if kinds.contains(.storeFault) || kinds.contains(.critical) { return .critical }
        return items.map(\.severity).max() ?? .error
    }

    /// Whether an operator should look at the message immediately.
    var isUrgent: Bool { !kinds.isDisjoint(with: [.storeFault, .destinationPaused, .destinationDelayed, .critical]) }

    /// Whether all events of the message are recoveries; `false` if it has no events.
    var isRecovery: Bool { kinds == .destinationRecovered }
}
