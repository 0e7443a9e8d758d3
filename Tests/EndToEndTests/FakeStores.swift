import IssueProtocol
import IssueTestSupport

/// A running `fake_stores.py`: Elasticsearch's `_bulk` and an OTLP receiver, which use third-party parsers.
final class FakeStores {
    private let server: PythonServer

    init(python: String) async throws {
        server = try await PythonServer("fake_stores", python: python)
    }

    var port: String { server.port }

    /// Sets the replies that the next requests get instead of the usual ones, as a JSON list.
    func plan(_ steps: String) throws {
        try server.folder.write(steps, to: "plan.json")
    }

    var state: JSONValue {
        get throws { try JSONValue(json: server.folder.text(of: "state.json")) }
    }

    /// The errors that the server has found in requests.
    var faults: [String] {
        get throws { try state["faults"]?.asArray?.compactMap(\.asString) ?? ["there is no state"] }
    }

    var documents: [String: JSONValue] {
        get throws {
            let members = try state["documents"]?.asObject ?? []
            return Dictionary(uniqueKeysWithValues: members.map { ($0.key, $0.value) })
        }
    }

    var logs: [JSONValue] {
        get throws { try state["logs"]?.asArray ?? [] }
    }

    var authorizations: [String] {
        get throws { try state["requests"]?.asArray?.compactMap { $0["authorization"]?.asString } ?? [] }
    }
}
