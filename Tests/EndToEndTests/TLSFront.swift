import IssueTestSupport

/// `tls_front.py` as it runs: TLS before a listener that has none, good or at fault.
final class TLSFront {
    private let folder: ScratchFolder
    private let process: ChildProcess

    init(python: String, before port: UInt16) async throws {
        let folder = try ScratchFolder(named: "tls")
        self.folder = folder
        let script = "\(TestBinaries.repository)Tests/EndToEndTests/tls_front.py"
        process = try ChildProcess(
            python, [script, folder.path, "\(port)"], in: folder, name: "tls", environment: ["PATH": "/usr/bin:/bin"])
        try await eventually("it listens") { !folder.text(of: "port").isEmpty }
    }

    var port: String { folder.text(of: "port") }
    var caFile: String { folder["ca.pem"] }

    /// What is wrong with each connection from now on; nothing where it is empty.
    func set(_ fault: String) throws {
        try folder.write(fault, to: "fault")
    }
}
