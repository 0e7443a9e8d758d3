package import IssueProtocol
import IssueTestSupport

/// The content of a reporter's nth record. It is always the same, so it does not have to be remembered.
package struct Payload: Sendable {
    let seed: UInt64
    let app: String
    /// The number of bytes of text in the metadata of each record.
    let ballast: Int
    /// Whether a program that links the client library reports it, in the library's form.
    var isOfProgram = false

    private static let phrases = [
        "it took 5434 ms", "no space left on /srv/data/17/log", "the name 'anna' is taken by \"bob\"",
        "nothing at 0xdeadbeef", "a lost id 019aa3c5-6f00-7abc-8def-0123456789ab", "a host 10.0.7.12:8080 is away",
        "naïve Übermaß 漢字 🙂 42", "nothing", "a\ttab, a\nline and a \u{1} control", "100% of \\ and / and <n>",
    ]
    private static let severities: [IssueLevel] = [.debug, .info, .warning, .error, .error, .warning, .critical]

    /// Returns a record that the daemon accepts.
    package func record(reporter: Int, number: Int) -> IssueRecord {
        guard !isOfProgram else {
            return IssueRecord(
                message: "Reporter \(reporter) record \(number) says what a program says", severity: .warning,
                app: Application(name: app, version: "1.0"),
                metadata: .object([JSONValue.Member("number", .integer(Int64(number)))]))
        }
        var generator = SeededGenerator(seed ^ UInt64(reporter) << 40 ^ UInt64(number))
        let phrase = Self.phrases[Int(generator.next() % UInt64(Self.phrases.count))]
        let word = Int64(generator.next() % 7)
        var members: [JSONValue.Member] = [
            JSONValue.Member("number", .integer(Int64(number))),
            JSONValue.Member("words", .array([.null, .bool(true), .string(phrase), .integer(word)])),
        ]
        if ballast > 0 {
            members.append(JSONValue.Member("ballast", .string(Self.incompressible(ballast, &generator))))
        }
        return IssueRecord(
            message: "Reporter \(reporter) record \(number) says \(phrase)",
            severity: Self.severities[Int(word)],
            domain: word < 2 ? nil : "domain.\(word)", code: word < 4 ? nil : word * 100,
            count: word == 3 ? Int64(generator.next() % 50) + 1 : nil,
            // A new build from time to time, which creates new series.
            app: Application(name: app, version: "1.\(word % 3)", build: Int64(number / 400)),
            metadata: word == 5 && ballast == 0 ? nil : .object(members),
            context: word == 4 || word == 5 ? context(number) : IssueContext())
    }

    private func context(_ number: Int) -> IssueContext {
        let digits = String(seed ^ UInt64(number) | 1 << 63, radix: 16)
        return IssueContext(
            traceID: digits + digits, spanID: number % 2 == 0 ? digits : nil, requestID: "\(number)",
            user: number % 3 == 0 ? "user \(number % 7)" : nil)
    }

    /// Returns random text, which blocks cannot store in less space.
    ///
    /// It is a single word: a long text with punctuation sometimes contains a word like "sk-…", which is redacted as a
    /// token.
    private static func incompressible(_ count: Int, _ generator: inout SeededGenerator) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var text: [UInt8] = []
        while text.count < count {
            var bits = generator.next()
            for _ in 0..<10 {
                text.append(letters[Int(bits % 62)])
                bits /= 62
            }
        }
        return String(decoding: text.prefix(count), as: UTF8.self)
    }

    /// Returns the text of a record that the daemon must reject while it accepts the others of the call.
    package func badRecord(reporter: Int, number: Int) -> String {
        let message = #""message":"Reporter \#(reporter) record \#(number) says that it is bad""#
        return switch number % 5 {
        case 0: #"{"message":\#(number)}"#
        case 1: #"{\#(message),"severity":"awful"}"#
        case 2: #"{\#(message),"count":-\#(number)}"#
        case 3: "\(number)"
        default: #"{\#(message),"metadata":"none"}"#
        }
    }

    /// Returns the reporter and number in a message, or nil if it is not from a reporter.
    static func source(of message: String) -> (reporter: Int, number: Int)? {
        let words = message.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: false)
        guard words.count == 6, words[0] == "Reporter", words[2] == "record", words[4] == "says",
            let reporter = Int(words[1]), let number = Int(words[3])
        else { return nil }
        return (reporter, number)
    }
}
