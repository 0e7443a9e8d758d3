package import HTTPTransfer
package import IssueCore
import IssueProtocol

/// Sends records to Elasticsearch or OpenSearch with the `_bulk` API.
package struct ElasticsearchFormat: HTTPFormat {
    package static var kind: String { "elasticsearch" }
    package static var section: String { "Elasticsearch" }
    package static var options: [DestinationOption] {
        [
            DestinationOption(
                "User", DestinationOption.user.help,
                expected: "a name of at most 256 bytes without “:” and control characters", accepts: isUser),
            DestinationOption("Index", default: "issued", "The index or data stream."),
        ]
    }
    package static var expectedURL: String {
        "an address such as https://search.example.com:9200, without a “?”; a user belongs in User=, and the password "
            + "in the file that Credential= names"
    }

    package static let frame = BodyFrame.lines
    /// With the filter in the URL, the response has about 30 bytes for an accepted document, and 80 for a rejected one.
    /// Without the filter, for example because a proxy removes the query, an accepted document takes up to 500 bytes.
    package static let responseBytesPerLine = 512

    package let http: HTTPSettings
    /// The user name. If it is set, the credential is a password, otherwise an API key.
    private let user: String?
    private let index: String

    package init(_ http: HTTPSettings, _ options: [String: String]) {
        self.http = http
        user = options["User"]
        index = options["Index"] ?? ""
    }

    package func complete(_ request: inout HTTPRequest, token: ShippingToken?) {
        request.url += request.url.hasSuffix("/") ? "_bulk" : "/_bulk"
        // Leaves out members that `result` does not need. A whole item repeats the index and the id, and an error may
        // repeat a part of the document.
        request.url += "?filter_path=errors,items.*.status,items.*.error.type"
        request.headers = ["Content-Type": "application/x-ndjson"]
        if let token { request.headers.append(name: "Authorization", value: authorization(token)) }
    }

    /// Completes the request with a body that contains no action. The server checks the credential before it refuses
    /// the body.
    package func completeProbe(_ request: inout HTTPRequest, token: ShippingToken?) {
        complete(&request, token: token)
        request.body = [UInt8(ascii: "\n")]
    }

    package static func acceptsProbe(_ response: HTTPResponse) -> Bool {
        guard response.status == 400 || response.status == 200 else { return false }
        // Elasticsearch and OpenSearch answer with an object that has a member `error` or `items`.
        let body = try? JSONValue(json: response.body)
        return body?["error"] != nil || body?["items"] != nil
    }

    /// With `User=`, the credential is the password of basic authentication. It may contain spaces, because it is sent
    /// in Base64.
    package static func isPassword(_ options: [String: String]) -> Bool { options["User"] != nil }

    /// Returns `true` for a user name that basic authentication allows (RFC 7617, section 2).
    private static func isUser(_ text: String) -> Bool {
        (1...256).contains(text.utf8.count)
            && !text.unicodeScalars.contains { $0 == ":" || $0.properties.generalCategory == .control }
    }

    private func authorization(_ token: ShippingToken) -> String {
        guard let user else { return "ApiKey \(token.text)" }
        return "Basic \(Base64.encode(Array("\(user):\(token.text)".utf8)))"
    }
}

extension ElasticsearchFormat {
    /// Classifies the items of a `_bulk` response. Returns nil unless the status is 2xx.
    ///
    /// Elasticsearch and OpenSearch return 200 whatever the results of the items are, with one item per action, in
    /// order. Source: their bulk API references.
    package static func result(of response: HTTPResponse, lines: Int) -> DeliveryResult? {
        let status = response.status
        guard (200..<300).contains(status) else { return nil }
        func result(_ verdict: DeliveryVerdict, _ text: String) -> DeliveryResult {
            DeliveryResult(verdict, ResponseSummary("\(status): \(text)"))
        }
        guard let items = try? JSONValue(json: response.body)["items"]?.asArray else {
            // A truncated response cannot be parsed. If it begins like an object, it may still be a list of items.
            if response.isTruncated, response.body.first == UInt8(ascii: "{") {
                return result(.ambiguous(.noAnswer), "the response is too large")
            }
            return result(.paused(.notFound), "not a response from Elasticsearch or OpenSearch")
        }
        guard items.count == lines else {
            // The documents may have been stored. Each has an id, so `create` rejects those that the index already has.
            return result(.ambiguous(.noAnswer), "the response does not list all items")
        }
        let results = items.map(ItemResult.init)
        // In both of the following cases, the whole request is sent again. Documents that are already stored then get
        // the status 409.
        if let busy = results.first(where: \.isBusy) {
            return result(DeliveryVerdict(status: busy.status), busy.text)
        }
        for item in results {
            if let reason = item.pauseReason { return result(.paused(reason), item.text) }
        }
        let refused = results.indices.filter { results[$0].isRefused }
        guard let first = refused.first else {
            let existing = results.count { $0.status == 409 }
            let more = existing > 0 ? ", \(existing) of them stored before" : ""
            return result(.accepted, "\(DeliveryResult.count(lines)) accepted\(more)")
        }
        return result(
            .partial(PartialAnswer(successful: lines - refused.count, invalidLines: refused)),
            "\(refused.count) of \(lines) rejected, \(results[first].text)")
    }

    private struct ItemResult {
        var status: Int
        /// The type of the error; nil if there is none, or if it is not one of `knownErrors`.
        var error: String?

        init(_ item: JSONValue) {
            let result = item["create"] ?? item["index"]
            status = result?["status"]?.asInteger.flatMap { (100...599).contains($0) ? Int($0) : nil } ?? 500
            error = result?["error"]?["type"]?.asString.flatMap { knownErrors.contains($0) ? $0 : nil }
        }

        var text: String { "\(status)\(error.map { " \($0)" } ?? "")" }

        var isBusy: Bool { status == 429 || status >= 500 }

        /// The reason for a pause if the error concerns the index or the user and not the document; otherwise nil.
        ///
        /// A block of the index, for example because the disk is full, is 403 or, since version 7.7, 429. Source:
        /// elastic/elasticsearch#50166.
        var pauseReason: PauseReason? {
            switch (status, error) {
            case (401, _): .unauthorised
            case (403, _): .forbidden
            case (404, _), (_, "index_closed_exception"), (_, "invalid_index_name_exception"): .notFound
            case _: nil
            }
        }

        /// A status of 409 means that the document already exists, so it was not rejected.
        var isRefused: Bool { (400..<500).contains(status) && status != 409 && status != 429 }
    }

    /// The types of the errors of single documents in Elasticsearch and OpenSearch. Any other text is not used, because
    /// it may be a part of a record.
    private static let knownErrors: Set<String> = [
        "circuit_breaking_exception", "cluster_block_exception", "document_parsing_exception",
        "es_rejected_execution_exception", "illegal_argument_exception", "illegal_state_exception",
        "index_closed_exception", "index_not_found_exception", "invalid_index_name_exception",
        "mapper_exception", "mapper_parsing_exception", "parse_exception", "process_cluster_event_timeout_exception",
        "rejected_execution_exception", "routing_missing_exception", "security_exception",
        "strict_dynamic_mapping_exception", "timeout_exception", "unavailable_shards_exception",
        "validation_exception", "version_conflict_engine_exception", "x_content_parse_exception",
    ]
}

extension ElasticsearchFormat {
    package static func advice(on reason: PauseReason) -> String {
        switch reason {
        case .unauthorised:
            "The API key, or the password if User= is set, was rejected: replace the credential. "
                + PauseReason.rereading
        case .forbidden:
            "Access is denied: allow the API key or user to create documents in the index of Index=. If the index is "
                + "blocked, for example because its disk is full, remove the block. If the answer names a proxy, check "
                + "the proxy."
        case .notFound:
            "The index does not exist, is closed or has an invalid name, or this is not Elasticsearch: check Index= "
                + "and URL=."
        case .manyLinesRefused:
            "Most documents are rejected: see the server's log, and compare the index with "
                + "config/elasticsearch/index-template.json."
        case .methodNotAllowed, .redirected, .proxyRefuses, .noCredential: reason.advice
        }
    }
}

/// The lines. For `_bulk`, each contains two lines of text: the action and the document.
extension ElasticsearchFormat {
    package func line(of outbound: OutboundRecord, types: inout FieldTypes) -> [UInt8] {
        let stored = outbound.stored
        var members: [JSONValue.Member] = [
            .init("@timestamp", .string(stored.plausibleTime.time.description)),
            .init("received_at", .string(stored.receivedAt.description)),
        ]
        members += RecordColumns.members(of: outbound)
        members += RecordColumns.context(of: stored.record) { Self.commonName(of: $0) }
        if !stored.record.causes.isEmpty { members.append(.init("causes", RecordColumns.causes(of: stored.record))) }
        if let metadata = outbound.metadata, !metadata.isNull {
            // Elasticsearch refuses duplicate keys and long numbers even in an object that it does not index.
            members.append(.init("metadata", RecordColumns.portable(metadata)))
        }
        return document(members, id: stored.id)
    }

    package func line(of summary: OutboundSummary) -> [UInt8] {
        let time = JSONValue.Member("@timestamp", .string(summary.windowEnd.description))
        return document(
            [time] + RecordColumns.times(of: summary) + RecordColumns.members(of: summary), id: summary.eventID)
    }

    package func line(of correction: OutboundCorrection) -> [UInt8] {
        let time = JSONValue.Member("@timestamp", .string(correction.correction.timestamp.description))
        return document(
            [time] + RecordColumns.members(of: correction) + RecordColumns.details(of: correction),
            id: correction.eventID)
    }

    /// Returns the name that the Elastic Common Schema gives to a field.
    private static func commonName(of field: IssueContext.Field) -> String {
        switch field {
        case .traceID: "trace.id"
        case .spanID: "span.id"
        case .requestID: "http.request.id"
        case .user: "user.id"
        }
    }

    /// Returns the line of a document. If the index has a document with the id, `create` gives 409 and stores nothing.
    private func document(_ members: [JSONValue.Member], id: String) -> [UInt8] {
        let action = JSONValue.object([
            .init("create", .object([.init("_index", .string(index)), .init("_id", .string(id))]))
        ])
        return action.json + [UInt8(ascii: "\n")] + JSONValue.object(members).json
    }
}
