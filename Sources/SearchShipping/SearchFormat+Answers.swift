package import HTTPShipping
package import HTTPTransfer
package import IssueCore
import IssueProtocol

extension SearchFormat {
    /// Source: the bulk API's reference of Elasticsearch and of OpenSearch; both answer 200 whatever became of the
    /// items, and one item for each action, in order.
    package static func reading(
        of response: HTTPResponse, to lines: SentLines, by reader: AnswerReader
    ) -> AnswerReading? {
        guard (200..<300).contains(response.status) else { return nil }
        guard let items = try? JSONValue(json: response.body)["items"]?.asArray, items.count == lines.count else {
            // All was taken in, but which of it no one can tell: with its own ids nothing is stored twice.
            return AnswerReading(.ambiguous(.noAnswer), "\(response.status): an answer that does not name the items")
        }
        let outcomes = items.map(Outcome.init)
        func words(_ outcome: Outcome) -> String { reader.scrubbed("\(outcome.status) \(outcome.error ?? "")") }
        if let busy = outcomes.first(where: \.isBusy) {
            // What was taken is answered with 409 the next time.
            return AnswerReading(.again(.tooManyRequests, retryAfter: nil), "\(response.status): \(words(busy))")
        }
        let refused = outcomes.indices.filter { outcomes[$0].isRefused }
        guard let first = refused.first else {
            let there = outcomes.count { $0.status == 409 }
            let more = there > 0 ? ", \(there) of them there already" : ""
            return AnswerReading(.accepted, "\(response.status): \(AnswerReader.count(lines.count)) taken\(more)")
        }
        return AnswerReading(
            .partial(PartialAnswer(successful: lines.count - refused.count, suspects: refused)),
            "\(response.status): \(refused.count) of \(lines.count) refused, \(words(outcomes[first]))")
    }

    private struct Outcome {
        var status: Int64
        var error: String?

        init(_ item: JSONValue) {
            let result = item["create"] ?? item["index"]
            status = result?["status"]?.asInteger ?? 500
            let words = [result?["error"]?["type"]?.asString, result?["error"]?["reason"]?.asString]
            error = words.contains { $0 != nil } ? words.compactMap(\.self).joined(separator: ": ") : nil
        }

        var isBusy: Bool { status == 429 || status >= 500 }
        /// 409: a document with this id is there, which is this one.
        var isRefused: Bool { (400..<500).contains(status) && status != 409 && status != 429 }
    }
}
