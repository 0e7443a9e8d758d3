package import HTTPShipping
import HTTPTransfer
package import IssueCore

/// Sends records to Elasticsearch or OpenSearch, by `_bulk`.
package struct SearchFormat: StoreFormat {
    package static var kind: String { "elasticsearch" }
    package static var section: String { "Elasticsearch" }
    package static var options: [StoreOption] {
        [.user, StoreOption("Index", default: "issued", "Its index or data stream.")]
    }

    package static let frame = BodyFrame.lines

    package let http: HTTPSettings
    /// With it the credential is a password, without it an API key.
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
