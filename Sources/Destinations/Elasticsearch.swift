package import HTTPTransfer
package import IssueCore
import IssueProtocol

/// Sends records to Elasticsearch or OpenSearch with the `_bulk` API.
package struct SearchFormat: StoreFormat {
    package static var kind: String { "elasticsearch" }
    package static var section: String { "Elasticsearch" }
    package static var options: [StoreOption] {
        [.user, StoreOption("Index", default: "issued", "The index or data stream.")]
    }

    package static let frame = BodyFrame.lines

    package let http: HTTPSettings
    /// The user name. If it is set, the credential is a password, otherwise an API key.
    private let user: String?
    private let payload: SearchPayload

    package init(_ http: HTTPSettings, _ option: (String) -> String?) {
        self.http = http
        user = option("User")
        payload = SearchPayload(index: option("Index") ?? "")
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] { payload.line(of: record) }

    package func line(of summary: OutboundSummary) -> [UInt8] { payload.line(of: summary) }

    package func post(token: ShippingToken?) -> HTTPPost {
        HTTPPost(
            type: "application/x-ndjson", path: "_bulk", headers: token.map(headers) ?? [:])
    }

    private func headers(_ token: ShippingToken) -> HTTPHeaders {
        guard let user else { return ["Authorization": "ApiKey \(token.text)"] }
        return ["Authorization": "Basic \(Base64.encode(Array("\(user):\(token.text)".utf8)))"]
    }
}

extension SearchFormat {
    /// Classifies the items of a `_bulk` response.
    ///
    /// Source: the bulk API references of Elasticsearch and OpenSearch. Both return 200 regardless of the result of the
    /// items, with one item per action, in order.
    package static func reading(
        of response: HTTPResponse, to lines: RequestLines, by reader: ResponseClassifier
    ) -> ClassifiedResponse? {
        guard (200..<300).contains(response.status) else { return nil }
        guard let items = try? JSONValue(json: response.body)["items"]?.asArray, items.count == lines.count else {
            // The bulk request was processed, but its results are unknown. Since each document has an id, it is not
            // stored twice.
            return ClassifiedResponse(.ambiguous(.noAnswer), "\(response.status): the response does not list the items")
        }
        let outcomes = items.map(Outcome.init)
        func words(_ outcome: Outcome) -> String { reader.scrubbed("\(outcome.status) \(outcome.error ?? "")") }
        if let busy = outcomes.first(where: \.isBusy) {
            // Documents that were stored are answered with 409 next time.
            return ClassifiedResponse(.again(.tooManyRequests, retryAfter: nil), "\(response.status): \(words(busy))")
        }
        let refused = outcomes.indices.filter { outcomes[$0].isRefused }
        guard let first = refused.first else {
            let there = outcomes.count { $0.status == 409 }
            let more = there > 0 ? ", \(there) of them stored before" : ""
            return ClassifiedResponse(
                .accepted, "\(response.status): \(ResponseClassifier.count(lines.count)) accepted\(more)")
        }
        return ClassifiedResponse(
            .partial(PartialAnswer(successful: lines.count - refused.count, invalidLines: refused)),
            "\(response.status): \(refused.count) of \(lines.count) rejected, \(words(outcomes[first]))")
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
        /// A status of 409 means that a document with this id exists, which is this record.
        var isRefused: Bool { (400..<500).contains(status) && status != 409 && status != 429 }
    }
}

extension SearchFormat {
    package static func advice(on reason: PauseReason) -> String {
        switch reason {
        case .unauthorised:
            "The API key, or the password with User=, was rejected: replace the credential. A credential file is "
                + "reloaded automatically; a systemd credential requires a restart."
        case .forbidden: "Access is denied: allow the API key or user to create documents in the index of Index=."
        case .manyLinesRefused:
            "Most documents are rejected: see the last answer, and compare the index with "
                + "config/elasticsearch/index-template.json."
        case .notFound, .methodNotAllowed, .redirected, .proxyRefuses, .noCredential: reason.advice
        }
    }
}

/// Formats the two lines per document that `_bulk` requires, as one.
package struct SearchPayload: Sendable {
    private let index: String

    package init(index: String) {
        self.index = index
    }

    package func line(of outbound: OutboundRecord) -> [UInt8] {
        let stored = outbound.stored
        var members: [JSONValue.Member] = [
            .init("@timestamp", .string(stored.believedTime.time.text)),
            .init("received_at", .string(stored.receivedAt.text)),
        ]
        members += RecordFields.members(of: outbound)
        if !stored.record.causes.isEmpty { members.append(.init("causes", RecordFields.causes(of: stored.record))) }
        if let metadata = outbound.metadata, !metadata.isNull { members.append(.init("metadata", metadata)) }
        return document(members, id: stored.id)
    }

    package func line(of summary: OutboundSummary) -> [UInt8] {
        let times: [JSONValue.Member] = [
            .init("@timestamp", .string(summary.windowEnd.text)),
            .init("window_start", .string(summary.windowStart.text)),
            .init("first_seen", .string(summary.firstSeen.text)), .init("last_seen", .string(summary.lastSeen.text)),
        ]
        return document(times + RecordFields.members(of: summary), id: summary.eventID)
    }

    /// Uses `create` with the record's own id. If the document exists, the response is 409, and it is not stored twice.
    private func document(_ members: [JSONValue.Member], id: String) -> [UInt8] {
        let action = JSONValue.object([
            .init("create", .object([.init("_index", .string(index)), .init("_id", .string(id))]))
        ])
        return action.json + [UInt8(ascii: "\n")] + JSONValue.object(members).json
    }
}
