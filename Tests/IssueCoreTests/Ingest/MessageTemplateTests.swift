import IssueCore
import Testing

@Suite("The template of a message")
struct MessageTemplateTests {
    @Test(
        "replaces the parts that vary between occurrences",
        arguments: [
            ("Timed out after 30 ms", "Timed out after <n> ms"),
            ("took 1.5 s of 2", "took <n> s of <n>"),
            ("-12", "-<n>"),
            ("attempt3", "attempt<n>"),
            ("at 0x7fff5fbff8c0", "at <hex>"),
            ("commit 9a41c07e55b2d310 failed", "commit <hex> failed"),
            ("hash deadbeef1 is known", "hash <hex> is known"),
            ("order 550e8400-e29b-41d4-a716-446655440000 is gone", "order <uuid> is gone"),
            ("{ABCDEFAB-CDEF-ABCD-EFAB-CDEFABCDEFAB}", "{<uuid>}"),
            ("abcdefab-cdef-abcd-efab-cdefabcdefab", "<uuid>"),
            ("key \"price\" not found", "key <quoted> not found"),
            ("no value for 'a b'", "no value for <quoted>"),
            ("`x` is nil", "<quoted> is nil"),
            ("can't open /var/lib/shop/catalogue.db.", "can't open <path>."),
            ("can't open ~/x", "can't open ~<path>"),
            ("(/etc/passwd)", "(<path>)"),
            ("Catalogue.swift:42", "Catalogue.swift:<n>"),
            ("GET https://example.com/a?b=1&c=2#d: 404", "GET <address>: <n>"),
            ("no route to 10.0.0.1", "no route to <address>"),
            ("10.0.0.1:8080 refused", "<address> refused"),
            ("mail to shop@example.com bounced", "mail to <address> bounced"),
            ("mail to ann.smith+2@mail.example.com.", "mail to <address>."),
            ("7x_9@example.com, b-2@c.example", "<address>, <address>"),
            ("550e8400-e29b-41d4-a716-446655440000@example.com", "<address>"),
            ("see https://ann@example.com/1 and bob.2@example.com", "see <address> and <address>"),
            ("no route to 2001:db8::8a2e:370:7334", "no route to <address>"),
            ("[fe80::1%eth0]:8080 refused", "[<address>]:<n> refused"),
            ("dead:beef:0:0:0:0:0:1 and ::1 and ::", "<address> and <address> and ::"),
            ("::ffff:10.0.0.1: refused", "<address>: refused"),
            ("card 00:1b:44:11:3a:b7 is gone", "card <address> is gone"),
            ("at 12:30:45", "at <n>:<n>:<n>"),
            ("1:2:3:4:5:6:7:8:9", "<n>:<n>:<n>:<n>:<n>:<n>:<n>:<n>:<n>"),
        ])
    func takesOut(_ message: String, _ title: String) {
        #expect(TemplateOfText(message).title == title)
    }

    @Test(
        "leaves plain text unchanged",
        arguments: [
            "and/or", "the user's dogs' bowls", "it isn't", "deadbeef", "a face", "one // two", "key: value", "a@",
            "://", "add::face", "std::vector", "a @ b", "...@", "@name", "ab:cd",
            "don't say \"", "日本語", "", "first",
        ])
    func leaves(_ message: String) {
        let template = TemplateOfText(message)
        #expect(template.title == message)
        #expect(template.form == .template)
    }

    @Test("is the same for messages that differ only in numbers, names and addresses")
    func isShared() {
        let one = TemplateOfText("GET https://a.example/1 took 12 ms for \"ann\" on 10.0.0.1")
        let other = TemplateOfText("GET https://b.example/2/3?x took 2500.25 ms for \"bob\" on 192.168.1.254:80")
        #expect(one.template == other.template)
        #expect(one.parts != other.parts)
    }

    @Test(
        "leaves messages with control characters to be stored whole, since those look like placeholders",
        arguments: ["\u{1}", "a\u{6}b 3", "\u{1F}", "3\u{1F}4", "\u{0}", "\u{1B}[31mred", "x\u{7F}"])
    func keepsWhole(_ message: String) {
        let template = TemplateOfText(message)
        #expect(template.form == .whole)
        #expect(!template.template.contains { $0 < 0x20 && MessageTemplate.Placeholder(rawValue: $0) == nil })
    }

    @Test("keeps line breaks and tabs")
    func letsLinesStand() {
        let template = TemplateOfText("first 1\n\tsecond \"2\"\r\n")
        #expect(template.form == .parts)
        #expect(template.message == Array("first 1\n\tsecond \"2\"\r\n".utf8))
    }

    @Test("restores every message exactly, whatever it contains", arguments: 0..<8)
    func givesBack(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        var asParts = 0
        for _ in 0..<1000 {
            let message = GeneratedTexts.message(using: &traffic)
            let template = TemplateOfText(message)
            guard let back = template.message else { continue }
            #expect(back == Array(message.utf8), "\(message.debugDescription)")
            if template.form == .parts { asParts += 1 }
        }
        #expect(asParts > 100)
    }

    @Test("covers a long message up to the limit and splits no character", arguments: 1020...1030)
    func cuts(length: Int) {
        let message = String(repeating: "x", count: length) + "🔥é日" + String(repeating: "y", count: 50)
        let template = TemplateOfText(message)
        #expect(template.form == .whole)
        #expect(template.template.count <= 1024)
        let text = String(validating: template.template, as: UTF8.self)
        #expect(text != nil)
        #expect(text.map { message.hasPrefix($0) } == true)
    }

    @Test("covers all of a message of exactly the maximum length")
    func fits() {
        let message = String(repeating: "x", count: 1024)
        #expect(TemplateOfText(message).form == .template)
        #expect(TemplateOfText(message + "x").form == .whole)
    }

    @Test("is made from bytes that are not valid text without trapping", arguments: 0..<4)
    func survivesBytes(seed: UInt64) {
        var traffic = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let bytes = (0..<Int(traffic.number(below: 80))).map { _ in UInt8(truncatingIfNeeded: traffic.next()) }
            for limit in [0, 1, 7, 1024] {
                let template = TemplateOfText(bytes: bytes, limit: limit)
                #expect(template.template.count <= max(limit, 0))
            }
        }
    }

    @Test("tolerates parts that do not match it")
    func survivesParts() {
        let template = TemplateOfText("a 1 b 2 c").template
        #expect(MessageTemplate.message(template: template, parts: []) == "a  b  c")
        #expect(MessageTemplate.message(template: template, parts: Array("7".utf8)) == "a 7 b  c")
        #expect(MessageTemplate.message(template: template, parts: Array("7\u{1F}8\u{1F}9".utf8)) == "a 7 b 8 c")
    }

    @Test(
        "takes no time for text beyond the part that it covers",
        arguments: ["a1", "deadbeef0", "a:1:", "1.", "f-0-", "0x1", "a@b", "'\"`", "/a", "::1"])
    func farBehind(piece: String) {
        let message = Array(("g" + String(repeating: piece, count: (16 << 20) / piece.utf8.count)).utf8)
        let duration = ContinuousClock().measure {
            for _ in 0..<10 { _ = TemplateOfText(bytes: message) }
        }
        #expect(duration < .seconds(10))
    }
}
