import Foundation
import IssueTestSupport

/// A running `tls_front.py`: TLS in front of a plain listener, optionally with a fault.
final class TLSFront {
    private let folder: ScratchFolder
    private let process: ChildProcess
    private let python: String

    init(python: String, before port: UInt16) async throws {
        let folder = try ScratchFolder(named: "tls")
        self.folder = folder
        self.python = python
        let script = "\(TestBinaries.repository)Tests/EndToEndTests/tls_front.py"
        process = try ChildProcess(
            python, [script, folder.path, "\(port)"], in: folder, name: "tls", environment: ["PATH": "/usr/bin:/bin"])
        try await eventually("the server listens") { !folder.text(of: "port").isEmpty }
    }

    var port: String { folder.text(of: "port") }
    var caFile: String { folder["ca.pem"] }

    /// Sets the fault of each connection from now on; empty for none.
    func set(_ fault: String) throws {
        try folder.write(fault, to: "fault")
    }

    /// Whether the fault `tls_tickets` has begun.
    var isFlooding: Bool { FileManager.default.fileExists(atPath: folder["flooding"]) }

    /// Returns the TLS version that is negotiated with a client that accepts any.
    func version() throws -> String {
        let lines = """
            from socket import create_connection
            from ssl import CERT_NONE, PROTOCOL_TLS_CLIENT, SSLContext, TLSVersion
            from sys import argv
            own = SSLContext(PROTOCOL_TLS_CLIENT)
            own.check_hostname, own.verify_mode = False, CERT_NONE
            own.set_ciphers("ALL:@SECLEVEL=0")
            own.minimum_version = TLSVersion.TLSv1
            print(own.wrap_socket(create_connection(("127.0.0.1", int(argv[1])))).version(), end="")
            """
        let client = try ChildProcess(python, ["-c", lines, port], in: folder, name: "client")
        _ = try client.end(within: .seconds(20))
        return client.output
    }
}
