package import HTTPShipping
import HTTPTransfer
package import IssueCore

/// Sends records as logs over OTLP/HTTP, in JSON.
package struct OTLPFormat: StoreFormat {
    package static var kind: String { "otlp" }
    package static var section: String { "OTLP" }
    package static var options: [StoreOption] { [] }

    package static let frame = BodyFrame.array(named: "resourceLogs")

    package let http: HTTPSettings
    private let payload = OTLPPayload()

    /// An address without a path means the usual one, as with every exporter.
    package init(_ http: HTTPSettings, _ option: (String) -> String?) {
        var http = http
        let address = http.address
        if address.path == "/" {
            http.address = HTTPAddress(
                scheme: address.scheme, host: address.host, port: address.port, path: "/v1/logs")
        }
        self.http = http
    }

    package func line(of record: OutboundRecord, types: inout FieldTypes) -> [UInt8] { payload.line(of: record) }

    package func line(of summary: OutboundSummary) -> [UInt8] { payload.line(of: summary) }

    package func post(token: ShippingToken?) -> HTTPPost {
        let headers: HTTPHeaders = token.map { ["Authorization": "Bearer \($0.text)"] } ?? [:]
        return HTTPPost(type: "application/json", headers: headers)
    }
}
