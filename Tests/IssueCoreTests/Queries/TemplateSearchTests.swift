import IssueCore
import IssueProtocol
import Testing

@Suite("A search in templates")
struct TemplateSearchTests {
    private func mayOccur(_ term: String, _ message: String) -> Bool {
        let stored = TemplateOfText(message, limit: 4096)
        #expect(stored.form != .whole)
        return TextTerm(term.unicodeScalars).mayOccur(inTemplate: stored.template)
    }

    @Test(
        "A search in templates rules out most terms that are not in fixed text and cannot extend from it into a part",
        arguments: [
            ("order", "Order 17 failed after 30 ms", true), ("timeout", "Order 17 failed after 30 ms", false),
            ("order 9", "Order 17 failed after 30 ms", true), ("order {", "Order /a failed after 30 ms", false),
            ("7 failed", "Order 17 failed after 30 ms", true), ("ü failed", "Order a@b failed after 30 ms", true),
            ("{ failed", "Order /a failed after 30 ms", false),
            ("[@awskey] failed", "Order /srv/AKIAIOSFODNN7EXAMPLE failed", true),
            ("1 failed after 2", "Order 17 failed after 30 ms", true), ("17", "Order 17 failed", false),
            ("failed a", "Order 17 failed", false), ("r 1", "Order 17", true), ("a\"", "open \"x\": 5", false),
            ("a\":", "open \"x\": 5", true), ("ОШИБКА 5", "ошибка 17", true), ("ошибка {", "ошибка /a", false),
        ])
    func rulesOut(term: String, message: String, expected: Bool) {
        #expect(mayOccur(term, message) == expected)
    }

    @Test(
        "A search in templates never rules out a term that begins or ends in a value of the sender's template",
        arguments: [
            ("user -5 not", true), ("5 not", true), ("user -", true), ("\n5 not", true), ("not found", true),
            ("missing", false), ("users", false),
        ])
    func values(term: String, expected: Bool) {
        var sent = SentTemplate()
        let (text, value, message) = (
            Array("User {} not found".utf8), Array("-5".utf8), Array("User -5 not found".utf8)
        )
        sent.setText(text.span, from: 0, to: text.count)
        sent.appendValue(value.span, from: 0, to: value.count)
        var (template, parts) = (ByteBuffer(), ByteBuffer())
        let form = sent.append(
            messageIn: message.span, from: 0, to: message.count, limit: 1024, template: &template, parts: &parts)
        #expect(form == .parts)
        #expect(TextTerm(term.unicodeScalars).mayOccur(inTemplate: template[0..<template.count]) == expected)
    }

    @Test(
        "A search in templates never rules out a term that a message contains, unless one part contains it"
    )
    func superset() {
        var random = SeededGenerator(seed: 7)
        let pieces = [
            "17", "1", "order ", " failed ", "/var/lib/x", "\"a b\"", "'c'", " ", "bob@a.b", "0x7f", "10.0.0.1:80", "é",
            "Ж ",
            "123e4567-e89b-12d3-a456-426614174000", "https://a.b/c?d=1", "key=", "Jun 5", "[::1]:80", "a.b.com",
            "x=f(1, y)",
            "1 2, 3 KB", "C:\\a", "= null", "10.0.0.1, 10.0.0.2", "-", ": ", "deadbeef01", "::1 ", "a", "aa",
        ]
        for _ in 0..<3000 {
            let message = (0..<1 + random.number(below: 7)).map { _ in pieces.randomElement(using: &random) ?? "" }
                .joined()
            let stored = TemplateOfText(message, limit: 4096)
            let scalars = Array(message.unicodeScalars)
            let start = Int(random.number(below: Int64(scalars.count)))
            let end = start + 1 + Int(random.number(below: Int64(min(12, scalars.count - start))))
            let upper = String(String.UnicodeScalarView(scalars[start..<end])).uppercased()
            let term = TextTerm(upper.unicodeScalars)
            let inPart = stored.parts.split(separator: MessageTemplate.separator).contains { part in
                let part = Array(part)
                let span = part.span
                return term.occurs(in: span, from: 0, to: span.count)
            }
            #expect(inPart || term.mayOccur(inTemplate: stored.template), "\(upper) in \(message)")
        }
    }
}
