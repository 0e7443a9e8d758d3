import Destinations
import IssueCore
import IssueProtocol
import TestSockets
import Testing
import UnixIO

@Suite("Messages to webhooks")
struct WebhookTests {
    private let at = IssueTimestamp(millisecondsSince1970: 1_790_000_000_000)

    private func message(_ titles: String..., kinds: NotificationKinds = .new) -> NotificationMessage {
        var message = NotificationMessage(
            id: "oncall-1", notifier: "oncall", host: "web1", at: at, attempt: 2, mayBeRepetition: true)
        message.items = titles.map {
            NotificationMessage.Item(
                kinds: kinds, record: "r1", group: "g1", title: $0, app: "shop", version: "2.4.0",
                environment: "production", severity: .error, unit: "shop.service", uid: 1000, at: at)
        }
        message.counts = [.init(kind: kinds, count: Int64(titles.count) + 7)]
        message.others = [.init(uid: 1000, count: 7)]
        return message
    }

    private func json(_ format: WebhookFormat, _ message: NotificationMessage) throws -> JSONValue {
        try JSONValue(json: String(decoding: format.content(of: message).bytes, as: UTF8.self))
    }

    @Test("The generic format has the id, attempt, counts and issues of the message, and marks a possible repetition")
    func generic() throws {
        let found = try json(.json, message("Order \"1\" failed"))
        #expect(found["version"] == .integer(1))
        #expect(found["id"] == .string("oncall-1"))
        #expect(found["attempt"] == .integer(2))
        #expect(found["possible_repetition"] == .bool(true))
        #expect(found["total"] == .integer(8))
        #expect(found["counts"]?["new"] == .integer(8))
        let issue = found["issues"]?.asArray?.first
        #expect(issue?["title"] == .string("Order \"1\" failed"))
        #expect(issue?["unit"] == .string("shop.service"))
        #expect(issue?["environment"] == .string("production"))
        #expect(found["others"]?.asArray?.first?["count"] == .integer(7))
    }

    @Test("Text of an application can't mention anyone in a chat, or make a link in Mattermost or Discord")
    func hostileText() throws {
        let hostile = message("<!channel> @all @everyone [x](https://example.com) `a` *b* WWW.example.com")
        let slack = try json(.slack, hostile)["text"]?.asString ?? ""
        #expect(!slack.contains("<!") && slack.contains("&lt;!channel&gt;"))
        for format in [WebhookFormat.mattermost, .discord] {
            let found = try json(format, hostile)
            let text = (found["text"] ?? found["content"])?.asString ?? ""
            #expect(!text.contains("@all") && !text.contains("@everyone") && !text.contains("https://"))
            #expect(!text.contains("WWW.") && text.contains("\\[x\\]\\("))
        }
        #expect(try json(.discord, hostile)["allowed_mentions"]?["parse"] == .array([]))
    }

    @Test(
        "A special character is escaped even if it joins with the code point before or after it into one character",
        arguments: ["\u{0D4E}", "\u{111C2}", "\u{11A84}"])
    func joinedCharacters(prefix: String) throws {
        let hostile = message(
            "\(prefix)<!channel>\u{301} \(prefix)@all \(prefix)[x](http:\(prefix)//e.org/\u{301}) *\u{301}")
        func scalars(_ text: String) -> [Unicode.Scalar] { Array(text.unicodeScalars) }
        let slack = scalars(try json(.slack, hostile)["text"]?.asString ?? "")
        #expect(!slack.contains("<") && !slack.contains(">"))
        // The only asterisks are the two around the title.
        let title = scalars(try json(.slack, message(prefix + "*\u{301}"))["text"]?.asString ?? "").prefix {
            $0 != "\n"
        }
        #expect(title.count { $0 == "*" } == 2)
        for format in [WebhookFormat.mattermost, .discord] {
            let found = try json(format, hostile)
            let text = scalars((found["text"] ?? found["content"])?.asString ?? "")
            for (index, scalar) in text.enumerated() {
                if scalar == "@" { #expect(text[index + 1] == "\u{200B}") }
                if "[]()<>".unicodeScalars.contains(scalar) { #expect(text[index - 1] == "\\") }
            }
        }
    }

    @Test(
        "A message for Discord stays within its limit, whatever its characters are made of",
        arguments: ["*", "e\u{301}\u{302}\u{303}", "👩‍👩‍👧‍👦", "\\"])
    func lengths(character: String) throws {
        var long = message()
        long.items = (0..<10).flatMap { _ in message(String(repeating: character, count: 200)).items }
        let content = try json(.discord, long)["content"]?.asString ?? ""
        #expect(content.utf16.count <= 2000)
        #expect(content.reversed().prefix { $0 == "\\" }.count.isMultiple(of: 2))
    }

    @Test("ntfy gets text with ASCII headers, and urgent messages have a high priority")
    func ntfy() {
        let content = WebhookFormat.ntfy.content(of: message("Ünïcode", kinds: .critical))
        #expect(content.type.hasPrefix("text/plain"))
        #expect(String(decoding: content.bytes, as: UTF8.self).contains("Ünïcode"))
        #expect(content.headers.allSatisfy { $0.value.utf8.allSatisfy { $0 < 0x80 } })
        #expect(content.headers.contains { $0.name == "Priority" && $0.value == "high" })
    }

    @Test("Alertmanager gets an alert per issue, and one for the others")
    func alertmanager() throws {
        let alerts = try json(.alertmanager, message("One", "Two")).asArray ?? []
        #expect(alerts.compactMap { $0["labels"]?["alertname"]?.asString } == ["Issue", "Issue", "Issues"])
        #expect(alerts[0]["labels"]?["app"] == .string("shop"))
        #expect(alerts[0]["annotations"]?["possible_repetition"] == .string("true"))
        #expect(alerts[0]["startsAt"] == .string(at.description))
    }

    @Test("For Alertmanager, an alert about the state of a destination ends with the event of its recovery")
    func alertmanagerEnds() throws {
        func labels(_ kinds: NotificationKinds, _ text: String) throws -> [JSONValue] {
            var message = message()
            (message.others, message.ownEvents) = ([], [.init(kinds: kinds, text: text, at: at)])
            let alerts = try json(.alertmanager, message).asArray ?? []
            let isEnd = kinds == .destinationRecovered
            #expect(alerts.allSatisfy { $0["endsAt"] == (isEnd ? .string(at.description) : nil) })
            return alerts.compactMap { $0["labels"] }
        }
        let begun = try labels(.destinationPaused, "logzio: a") + labels(.destinationDelayed, "logzio: b")
        #expect(begun.count == 2 && begun[0]["destination"] == .string("logzio"))
        #expect(try labels(.destinationRecovered, "logzio: c") == begun)
        let fault = try labels(.storeFault, "No space: x")
        #expect(fault.count == 1 && fault[0]["destination"] == nil)
        #expect(try labels(.deadLetters, "logzio: 1 new dead letter").count == 1)
    }

    @Test("A message about recoveries only is neither urgent nor an error")
    func recovery() {
        var message = message()
        message.counts = [.init(kind: .destinationRecovered, count: 1)]
        #expect(message.severity == .info)
        #expect(WebhookFormat.ntfy.content(of: message).headers.contains { $0.value == "white_check_mark" })
        message.counts.append(.init(kind: .destinationDelayed, count: 1))
        #expect(message.severity == .error)
        #expect(WebhookFormat.ntfy.content(of: message).headers.contains { $0.value == "rotating_light" })
    }

    @Test("A template is JSON once its placeholders are filled in, whatever the text contains")
    func template() throws {
        let template = try #require(WebhookTemplate(#"{"msg":"{title}","n":{count},"other":"{no word} {"}"#))
        let body = String(decoding: template.body(of: message("a\"b\\c{text}")), as: UTF8.self)
        let found = try JSONValue(json: body)
        #expect(found["msg"]?.asString?.contains("8 new issues on web1") == true)
        #expect(found["n"] == .integer(8))
        #expect(found["other"] == .string("{no word} {"))
        #expect(WebhookTemplate(#"{"msg":{title}}"#) == nil)
        #expect(WebhookTemplate("{title}") == nil)
        #expect(WebhookTemplate(#"{"k":[{kinds}]}"#) == nil)
        #expect(WebhookTemplate(#"{"k":"\{notifier}"}"#) == nil)
        #expect(WebhookTemplate(#"{"k":"\{kinds}"}"#) == nil)
        #expect(WebhookTemplate(#"{"msg":"{titel}"}"#) == nil)
        #expect(WebhookTemplate(#"{"msg":"{Title} {title}"}"#) == nil)
        #expect(WebhookTemplate(#"{"a":{},"b":[{"c":"{}"}],"d":"{title"}"#) != nil)
        // A value is not searched for placeholders.
        var one = message("{host}\"")
        (one.counts, one.others) = ([.init(kind: .new, count: 1)], [])
        let single = try #require(WebhookTemplate(#"{"msg":"{title}"}"#))
        let text = try JSONValue(json: String(decoding: single.body(of: one), as: UTF8.self))["msg"]?.asString
        #expect(text?.hasSuffix("{host}\"") == true)
    }

    @Test("Every format makes a test message")
    func tests() throws {
        var test = NotificationMessage(
            id: "t", notifier: "oncall", host: "web1", at: at, attempt: 1, mayBeRepetition: false)
        test.isTest = true
        for format in WebhookFormat.allCases {
            let text = String(decoding: format.content(of: test).bytes, as: UTF8.self)
            #expect(text.contains("Test of notifier oncall"), "\(format)")
        }
    }

    @Test("The URL of a webhook is shown as host and port only")
    func urls() {
        let url = WebhookURL("https://hooks.example.com/services/T0/SECRET?key=SECRET")
        #expect(url?.origin == "hooks.example.com:443")
        var dump = ""
        Swift.dump(url, to: &dump)
        for text in ["\(String(describing: url))", String(reflecting: url), dump] { #expect(!text.contains("SECRET")) }
        for wrong in ["", "ftp://a/", "https://user@a/", "https://a/ b", "https://a/#x", "hooks.example.com"] {
            #expect(WebhookURL(wrong) == nil, "\(wrong)")
        }
    }

    @Test("A probe connects and sends nothing, and its message names the server but not the path")
    func probe() throws {
        func probe(_ port: UInt16) throws -> DestinationProbe {
            let probe = Webhook(format: .json, proxy: "", timeout: .seconds(5), version: "1")
                .probe(try #require(WebhookURL("http://127.0.0.1:\(port)/hook/SECRET")))
            #expect(probe.message.contains("127.0.0.1:\(port)") && !probe.message.contains("SECRET"))
            return probe
        }
        #expect(try !probe(1).isAccepted)

        let listener = try Socket.listenLoopback()
        #expect(try probe(listener.localPort()).isAccepted)
        guard let connection = try listener.accept() else { throw Errno.timedOut }
        var bytes: [UInt8] = []
        let end = connection.attemptRead(appendingTo: &bytes, atMost: 4096)
        guard case .end = end else {
            Issue.record("The connection is open, or has sent \(bytes.count) bytes")
            return
        }
    }
}
