import IssueProtocol
import IssueTestSupport

/// A running `fake_stores.py`: Elasticsearch's `_bulk` and an OTLP receiver, which use third-party parsers.
final class FakeStores {
    private let folder: ScratchFolder
    private let process: ChildProcess

    init(python: String) async throws {
        let folder = try ScratchFolder(named: "stores")
        self.folder = folder
        let script = "\(TestBinaries.repository)Tests/EndToEndTests/fake_stores.py"
        process = try ChildProcess(python, [script, folder.path], in: folder, name: "stores")
        try await eventually("the server listens") { !folder.text(of: "port").isEmpty }
    }

    var port: String { folder.text(of: "port") }

    /// Replaces the usual replies with these, each used once.
    func plan(_ steps: String) throws {
        try folder.write(steps, to: "plan.json")
    }

    var state: JSONValue {
        get throws { try JSONValue(json: folder.text(of: "state.json")) }
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
