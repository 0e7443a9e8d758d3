package import HTTPShipping
package import HTTPTransfer
package import IssueCore
package import IssueProtocol

/// Says what an answer to `_bulk` means, item by item.
///
/// Source: the bulk API's reference of Elasticsearch and of OpenSearch; both
/// answer 200 whatever became of the items, and one item for each action, in
/// order.
package struct SearchAnswer: Sendable {
    private let reader: AnswerReader

    package init(origin: String, token: ShippingToken?) {
        reader = AnswerReader(origin: origin, token: token)
    }

    package func meaning(of error: HTTPTransferError) -> DeliveryAnswer { reader.meaning(of: error) }

    package func meaning(of response: HTTPResponse, count: Int, at now: Timestamp) -> DeliveryAnswer {
        let (verdict, text) = verdict(of: response, count: count, at: now)
        return DeliveryAnswer(verdict, AnswerSummary(text), mayHaveArrivedTwice: response.mayHaveArrivedTwice)
    }

    private func verdict(of response: HTTPResponse, count: Int, at now: Timestamp) -> (DeliveryVerdict, String) {
        if let verdict = reader.verdict(of: response, at: now) { return (verdict, reader.text(of: response)) }
        guard response.status != 400 else {
            // Nothing of a body that can't be read is taken.
            return (.partial(PartialAnswer(successful: 0)), reader.text(of: response))
        }
        guard let items = try? JSONValue(json: response.body)["items"]?.asArray, items.count == count else {
            // All was taken in, but which of it no one can tell: with its own ids nothing is stored twice.
            return (.ambiguous(.noAnswer), "\(response.status): an answer that does not name the items")
        }
        let outcomes = items.map(Outcome.init)
        if let busy = outcomes.first(where: \.isBusy) {
            // What was taken is answered with 409 the next time.
            return (.again(.tooManyRequests, retryAfter: nil), "\(response.status): \(scrubbed(busy))")
        }
        let refused = outcomes.indices.filter { outcomes[$0].isRefused }
        guard let first = refused.first else {
            let there = outcomes.count { $0.status == 409 }
            let words = there > 0 ? ", \(there) of them there already" : ""
            return (.accepted, "\(response.status): \(AnswerReader.count(count)) taken\(words)")
        }
        return (
            .partial(PartialAnswer(successful: count - refused.count, suspects: refused)),
            "\(response.status): \(refused.count) of \(count) refused, \(scrubbed(outcomes[first]))"
        )
    }

    private func scrubbed(_ outcome: Outcome) -> String {
        reader.scrubbed("\(outcome.status) \(outcome.error ?? "")")
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
