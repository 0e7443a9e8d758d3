import IssueCore
import Testing

@Suite("The template of a message")
struct MessageTemplateTests {
    @Test(
        "The template of a message replaces the parts that vary between occurrences",
        arguments: [
            ("Timed out after 30 ms", "Timed out after <n> ms"),
            ("took 1.5 s of 2", "took <n> s of <n>"),
            ("key \"price\" not found", "key <quoted> not found"),
            ("no value for 'a b'", "no value for <quoted>"),
            ("`x` is nil", "<quoted> is nil"),
            ("order 550e8400-e29b-41d4-a716-446655440000 is gone", "order <uuid> is gone"),
            ("{ABCDEF0B-CDEF-ABCD-EFAB-CDEFABCDEFAB}", "{<uuid>}"),
        ])
    func takesOut(_ message: String, _ title: String) {
        #expect(TemplateOfText(message).title == title)
    }

    @Test(
        "The template of a message treats numbers alike, whatever their sign, base, separators and unit",
        arguments: [
            ("-12", "<n>"), ("offset +5 of -7", "offset <n> of <n>"), ("blk_-88 and blk_88", "<n> and <n>"),
            ("at 0x7fff5fbff8c0", "at <n>"), ("commit 9a41c07e55b2d310 failed", "commit <n> failed"),
            ("hash deadbeef1 is known", "hash <n> is known"), ("1,024 of 2_048", "<n> of <n>"),
            ("free 8.8 KB", "free <n>"), ("free 12MB", "free <n>"), ("in <1 sec", "in <n>"), ("in 3 minutes", "in <n>"),
            ("<42> a", "<<n>> a"), ("100% of 5", "<n>% of <n>"), ("a - 5", "a - <n>"),
            ("version 6.1.7601.23505", "version <n>"),
            ("5 Bananas", "<n> Bananas"), ("f(3)", "f(<n>)"),
        ])
    func treatsNumbersAlike(_ message: String, _ title: String) {
        #expect(TemplateOfText(message).title == title)
    }

    @Test(
        "The template of a message treats dates and times as numbers",
        arguments: [
            ("at 12:30:45", "at <n>"), ("2026-11-22T10:11:12.123Z start", "<n> start"),
            ("at Fri Jun 17 20:42:05 2005", "at <n>"), ("at Tue Jul  5 05:55:21 2005", "at <n>"),
            ("on Sun, 22 Nov 2026 10:11:12 AM", "on <n>"), ("[22/Nov/2026:10:11:12 +0000]", "[<n>]"),
            ("May I have 5", "May I have <n>"), ("mark 5", "mark <n>"), ("Junk 5", "Junk <n>"),
        ])
    func treatsDatesAsNumbers(_ message: String, _ title: String) {
        #expect(TemplateOfText(message).title == title)
    }

    @Test(
        "The template of a message replaces words that contain digits, and lists of them",
        arguments: [
            ("dn228 is down", "<n> is down"), ("node-D3 of R02-M1-N0-C", "<n> of <n>"), ("attempt3", "<n>"),
            ("Package_for_KB29~31bf38~amd64~~6.1.1.2, x", "<n>, x"), ("steps 15##69##54", "steps <n>"),
            ("cannot reach an1 an2 an33", "cannot reach <n>"), ("speeds ( 1 22 333 )", "speeds ( <n> )"),
            ("ids 1, 2,3", "ids <n>"), ("0A-1 9", "<n>"), ("Catalogue.swift:42", "Catalogue.swift:<n>"),
            ("1:2:3:4:5:6:7:8:9", "<n>"), ("5 of x", "<n> of x"),
        ])
    func replacesIdentifiers(_ message: String, _ title: String) {
        #expect(TemplateOfText(message).title == title)
    }

    @Test(
        "The template of a message keeps the names of functions, classes and techniques that contain digits",
        arguments: [
            "jk2_init() failed", "Brcm43xx::wake", "UTF-8 text", "no IPv6 route", "S3 upload", "x86_64 only",
            "com.example.NoSuchKeyException: gone", "self.view.reload(now)", "e.g. this", "Catalogue.swift is gone",
        ])
    func keepsNames(_ message: String) {
        #expect(TemplateOfText(message).title == message)
    }

    @Test(
        "The template of a message replaces values after an equals sign, except sentences, levels and kinds of events",
        arguments: [
            ("uid=0 user=root rhost=a.example", "uid=<n> user=<n> rhost=<n>"), ("ws=null, pid=7", "ws=<n>, pid=<n>"),
            ("ws=Source{10 a}, x=Rect(0, 1), z", "ws=<n>, x=<n>, z"), ("name=\"a b\" c", "name=<n> c"),
            ("drawn= false, moved = true", "drawn= <n>, moved = <n>"), ("opt-in: False", "opt-in: <n>"),
            ("falsehood: falsehood", "falsehood: falsehood"), ("a == b != c", "a == b != c"), ("x => y", "x => y"),
            ("level=error msg=\"no such file\" id=7", "level=error msg=\"no such file\" id=<n>"),
            (
                #"{"level":"error","user":"ann","msg":"no such file"}"#,
                #"{<quoted>:"error",<quoted>:<quoted>,<quoted>:"no such file"}"#
            ),
            ("a=(b c", "a=<n> c"), ("x=5.", "x=<n>."), ("=", "="), ("a=", "a="),
        ])
    func replacesValues(_ message: String, _ title: String) {
        #expect(TemplateOfText(message).title == title)
    }

    @Test(
        "The template of a message replaces paths, but not the method of a request",
        arguments: [
            ("can't open /var/lib/shop/catalogue.db.", "can't open <path>."), ("can't open ~/x", "can't open ~<path>"),
            ("(/etc/passwd)", "(<path>)"), ("./run.sh: no", "<path>: no"), ("src/net/list.c:12: bad", "<path>: bad"),
            ("C:\\Windows\\x.dll is gone", "<path> is gone"), ("\\\\host\\share", "<path>"), ("CONTOSO\\ann", "<path>"),
            ("\"GET /a/b?c=1 HTTP/1.1\" 200", "\"GET <path> HTTP/<n>\" <n>"),
            ("\"HEAD / HTTP/1.1\"", "\"HEAD <path> HTTP/<n>\""),
            ("text/html", "text/html"), ("read / write", "read / write"),
        ])
    func replacesPaths(_ message: String, _ title: String) {
        #expect(TemplateOfText(message).title == title)
    }

    @Test(
        "The template of a message replaces addresses and names of hosts",
        arguments: [
            ("GET https://example.com/a?b=1&c=2#d: 404", "GET <address>: <n>"),
            ("s3://bucket/key gone", "<address> gone"),
            ("no route to 10.0.0.1", "no route to <address>"), ("10.0.0.1:8080 refused", "<address> refused"),
            ("from /10.0.0.1:80 to db/10.0.0.2:80", "from <address> to <address>"), ("net 10.0.0.0/8", "net <address>"),
            // Not an address, but treated as one: the fingerprints of stored issues must not change.
            ("no route to 999.0.0.999", "no route to <address>"), ("no route to 10.0.0.1000", "no route to <n>"),
            ("to 10.0.0.1:80 10.0.0.2:80, 10.0.0.3", "to <address>"), ("1.2.3.4.5", "<n>"),
            ("www.example.com:443 closed", "<address> closed"),
            ("ns1.dc-2.example.org and ns.example.org", "<address> and <address>"),
            ("com.example.mail/.Main started", "<address> started"), ("shop.service failed", "<address> failed"),
            ("mail to shop@example.com bounced", "mail to <address> bounced"),
            ("mail to ann.smith+2@mail.example.com.", "mail to <address>."),
            ("7x_9@example.com, b-2@c.example", "<address>, <address>"),
            ("550e8400-e29b-41d4-a716-446655440000@example.com", "<address>"),
            ("see https://ann@example.com/1 and bob.2@example.com", "see <address> and <address>"),
            ("no route to 2001:db8::8a2e:370:7334", "no route to <address>"),
            ("[fe80::1%eth0]:8080 refused", "<address> refused"),
            ("dead:beef:0:0:0:0:0:1 and ::1 and ::", "<address> and <address> and ::"),
            ("::ffff:10.0.0.1: refused", "<address>: refused"),
            ("card 00:1b:44:11:3a:b7 is gone", "card <address> is gone"),
            ("card aa:bb:cc:dd:ee:ff is gone", "card <address> is gone"), ("add:be:ad is gone", "add:be:ad is gone"),
        ])
    func replacesAddresses(_ message: String, _ title: String) {
        #expect(TemplateOfText(message).title == title)
    }

    @Test(
        "The template of a message leaves plain text unchanged",
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

    @Test("The template of a message is the same for messages that differ only in numbers, quoted text and addresses")
    func isShared() {
        let one = TemplateOfText("GET https://a.example/1 took 12 ms for \"ann\" on 10.0.0.1")
        let other = TemplateOfText("GET https://b.example/2/3?x took 2500.25 ms for \"bob\" on 192.168.1.254:80")
        #expect(one.template == other.template)
        #expect(one.parts != other.parts)
    }

    @Test(
        "A message with control characters, some of which look like placeholders, is stored whole",
        arguments: ["\u{1}", "a\u{6}b 3", "\u{1F}", "3\u{1F}4", "\u{0}", "\u{1B}[31mred", "x\u{7F}"])
    func keepsWhole(_ message: String) {
        let template = TemplateOfText(message)
        #expect(template.form == .whole)
        #expect(!template.template.contains { $0 < 0x20 && MessageTemplate.Placeholder(rawValue: $0) == nil })
    }

    @Test("The template of a message keeps line breaks and tabs")
    func letsLinesStand() {
        let template = TemplateOfText("first 1\n\tsecond \"2\"\r\n")
        #expect(template.form == .parts)
        #expect(template.message == Array("first 1\n\tsecond \"2\"\r\n".utf8))
    }

    @Test("The template of a message and its parts restore the message exactly, whatever it contains", arguments: 0..<8)
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

    @Test(
        "The template of a message covers a long message up to the limit and splits no character",
        arguments: 1020...1030)
    func cuts(length: Int) {
        let message = String(repeating: "x", count: length) + "🔥é日" + String(repeating: "y", count: 50)
        let template = TemplateOfText(message)
        #expect(template.form == .whole)
        #expect(template.template.count <= 1024)
        let text = String(validating: template.template, as: UTF8.self)
        #expect(text != nil)
        #expect(text.map { message.hasPrefix($0) } == true)
    }

    @Test("The template of a message covers all of a message of exactly the maximum length")
    func fits() {
        let message = String(repeating: "x", count: 1024)
        #expect(TemplateOfText(message).form == .template)
        #expect(TemplateOfText(message + "x").form == .whole)
    }

    @Test(
        "The template of a message can be made without trapping even if the bytes are not valid text", arguments: 0..<4)
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

    @Test("The template of a message leaves placeholders without a part empty and ignores surplus parts")
    func survivesParts() {
        let template = TemplateOfText("a 1 b 2 c").template
        #expect(MessageTemplate.message(template: template, parts: []) == "a  b  c")
        #expect(MessageTemplate.message(template: template, parts: Array("7".utf8)) == "a 7 b  c")
        #expect(MessageTemplate.message(template: template, parts: Array("7\u{1F}8\u{1F}9".utf8)) == "a 7 b 8 c")
    }

    @Test(
        "The template of a message takes no time for text beyond the part that it covers", .timeLimit(.minutes(5)),
        arguments: [
            "a1", "deadbeef0", "a:1:", "1.", "f-0-", "0x1", "a@b", "'\"`", "/a", "::1", "a=", "a=(", "a.b", "a\\", "1 ",
            "a1 b", "Jan 1", "a-",
        ])
    func farBehind(piece: String) {
        let message = Array(("g" + String(repeating: piece, count: (32 << 20) / piece.utf8.count)).utf8)
        // Together 320 MiB, which a test build can't scan within the time limit for all arguments.
        for _ in 0..<10 { _ = TemplateOfText(bytes: message) }
    }
}
