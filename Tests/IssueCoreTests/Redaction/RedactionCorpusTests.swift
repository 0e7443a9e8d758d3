import Foundation
import IssueCore
import IssueProtocol
import Testing

/// Scores the rules of redaction on the texts in `Benchmarks/redaction`.
///
/// In a text, each value to be removed is between « and ». A text without such a value must not change.
@Suite("Redaction of the sample texts")
struct RedactionCorpusTests {
    struct Sample: CustomStringConvertible, Sendable {
        var rule: RedactionRule?
        var isJSON: Bool
        var text: String

        var description: String { text }

        /// The text without the signs around values.
        var sent: String { text.filter { $0 != "«" && $0 != "»" } }

        /// The number of values to be removed.
        var values: Int { text.count { $0 == "«" } }

        /// The expected text in the store.
        var stored: String {
            guard let rule else { return text }
            var output = ""
            let pieces = text.split(separator: "«", omittingEmptySubsequences: false)
            output += pieces[0]
            for piece in pieces.dropFirst() {
                let parts = piece.split(separator: "»", maxSplits: 1, omittingEmptySubsequences: false)
                // A number becomes a text.
                let isNumber = isJSON && output.last != "\"" && parts[0].allSatisfy(\.isNumber)
                output +=
                    isNumber && ":[,".contains(output.last ?? " ") ? "\"[@\(rule.rawValue)]\"" : "[@\(rule.rawValue)]"
                output += parts[1]
            }
            return output
        }
    }

    private static func samples() throws -> [Sample] {
        let file = URL(filePath: #filePath).appending(path: "../../../../Benchmarks/redaction/cases.tsv").standardized
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").dropFirst().map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            try #require(fields.count == 3, "\(line)")
            let rule = RedactionRule(rawValue: String(fields[0]))
            try #require(rule != nil || fields[0] == "none", "\(line)")
            return Sample(rule: rule, isJSON: fields[1] == "json", text: String(fields[2]))
        }
    }

    private static let everything: Redactor = {
        var settings = RedactionSettings()
        for rule in RedactionRule.allCases { settings[rule] = .mask }
        return Redactor(settings)
    }()

    private static func message(_ text: String, _ redactor: Redactor = Redactor()) throws -> Decoding {
        try Decoding(
            "[{\"message\":\(String(decoding: JSONValue.string(text).json, as: UTF8.self))}]", redactor: redactor)
    }

    private struct Score {
        var right = 0
        var missed = 0
        var wrong = 0

        var precision: Double { right + wrong == 0 ? 1 : Double(right) / Double(right + wrong) }
        var recall: Double { right + missed == 0 ? 1 : Double(right) / Double(right + missed) }
    }

    @Test(
        "Redaction finds at least 97 % of the values of each rule, and at most 3 % of what it finds is something else"
    )
    func precisionAndRecall() throws {
        let samples = try Self.samples()
        try #require(samples.count >= 500)
        var scores: [RedactionRule: Score] = [:]
        for sample in samples {
            let decoding: Decoding
            let isRight: Bool
            if sample.isJSON {
                decoding = try Decoding("[{\"message\":\"m\",\"metadata\":\(sample.sent)}]", redactor: Self.everything)
                isRight = decoding.record(0)?.metadata == (try JSONValue(json: sample.stored))
            } else {
                decoding = try Self.message(sample.sent, Self.everything)
                isRight = decoding.record(0)?.message == sample.stored
            }
            if !isRight { print("wrong: \(sample)") }
            for rule in RedactionRule.allCases {
                let expected = sample.rule == rule ? sample.values : 0
                let found = decoding.redactions[rule]
                if isRight, found == expected {
                    scores[rule, default: Score()].right += expected
                } else {
                    scores[rule, default: Score()].missed += expected
                    scores[rule, default: Score()].wrong += found
                }
            }
        }
        for rule in RedactionRule.allCases {
            let score = scores[rule] ?? Score()
            print("\(rule.rawValue): \(score.right) values, precision \(score.precision), recall \(score.recall)")
            #expect(score.right >= 6, "\(rule.rawValue)")
            #expect(score.precision >= 0.97, "\(rule.rawValue)")
            #expect(score.recall >= 0.97, "\(rule.rawValue)")
        }
    }

    @Test("Redaction does not depend on the surrounding bytes", arguments: [0, 1, 15, 16, 17, 40])
    func surroundings(count: Int) throws {
        let padding = String(repeating: "–", count: count)
        for sample in try Self.samples() where !sample.isJSON && sample.rule != nil {
            let text = "\(padding) \(sample.sent) \(padding)"
            let stored = try Self.message(text, Self.everything).record(0)?.message
            // If nothing ends the value of a header or a key, it extends to the end of the line.
            guard !sample.stored.hasSuffix("]") else { continue }
            #expect(stored == "\(padding) \(sample.stored) \(padding)")
        }
    }

    @Test(
        "Redaction does not leave a value in the record, whether values are hashed or removed",
        arguments: [RedactionAction.hash, .remove])
    func actions(action: RedactionAction) throws {
        var settings = RedactionSettings()
        for rule in RedactionRule.allCases { settings[rule] = action }
        let redactor = Redactor(settings, key: RedactionKey(low: 1, high: 2))
        for sample in try Self.samples() where sample.values > 0 {
            let json =
                sample.isJSON
                ? "[{\"message\":\"m\",\"metadata\":\(sample.sent)}]"
                : "[{\"message\":\(String(decoding: JSONValue.string(sample.sent).json, as: UTF8.self))}]"
            let decoding = try Decoding(json, redactor: redactor)
            let record = try #require(decoding.record(0))
            let stored = String(decoding: record.json, as: UTF8.self)
            for piece in sample.text.split(separator: "«", omittingEmptySubsequences: false).dropFirst() {
                let value = piece.prefix { $0 != "»" }
                guard value.count > 5 else { continue }
                #expect(!stored.contains(value), "\(sample)")
            }
        }
    }

    // MARK: Groups

    @Test("Redaction groups a message with a mark, or a hash, like the message with the value")
    func groupsOfMarks() throws {
        var settings = RedactionSettings()
        for rule in RedactionRule.allCases { settings[rule] = .hash }
        let hashing = Redactor(settings)
        for sample in try Self.samples() where !sample.isJSON {
            let raw = try Self.message(sample.sent, Self.everything)
            let template = raw.series(0)?.template
            let masked = try Self.message(try #require(raw.record(0)?.message), Self.everything)
            #expect(masked.series(0)?.template == template, "\(sample)")
            #expect(masked.record(0)?.message == raw.record(0)?.message)
            #expect(masked.redactions.isEmpty)
            let hashed = try Self.message(sample.sent, hashing)
            #expect(hashed.series(0)?.template == template, "\(sample)")
            let again = try Self.message(try #require(hashed.record(0)?.message), Self.everything)
            #expect(again.series(0)?.template == template, "\(sample)")
        }
    }

    @Test("Redaction groups a message as without redaction unless the value would have been a part of its template")
    func groupsOfValues() throws {
        var changed = 0
        var count = 0
        for sample in try Self.samples() where !sample.isJSON && sample.values > 0 {
            count += 1
            let raw = try #require(try Self.message(sample.sent).series(0)).template
            let redacted = try #require(try Self.message(sample.sent, Self.everything).series(0)).template
            guard raw != redacted else { continue }
            changed += 1
            // What has changed is a value, or a piece of one, that the template contained.
            let title = MessageTemplate.title(of: raw[...])
            let isInTemplate = sample.text.split(separator: "«", omittingEmptySubsequences: false).dropFirst().contains
            { piece in
                let value = piece.prefix { $0 != "»" }
                return value.split { !$0.isLetter }.contains { $0.count > 1 && title.contains($0) }
                    || value.contains { !$0.isLetter && !$0.isNumber }
            }
            #expect(isInTemplate, "\(sample): \(title)")
        }
        print("\(count - changed) of \(count) messages keep their group")
        #expect(changed * 5 < count)
    }
}
