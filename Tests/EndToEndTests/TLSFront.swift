import Foundation
import IssueTestSupport

/// A running `tls_front.py`: TLS in front of a plain listener, optionally with a fault.
final class TLSFront {
    private let server: PythonServer

    init(before port: UInt16) async throws {
        server = try await PythonServer("tls_front", "\(port)")
    }

    var port: String { server.port }
    var caFile: String { server.folder["ca.pem"] }

    /// Sets the fault of each connection from now on; empty for none.
    func set(_ fault: String) throws {
        try server.folder.write(fault, to: "fault")
    }

    /// Whether the fault `tls_tickets` has begun.
    var isFlooding: Bool { FileManager.default.fileExists(atPath: server.folder["flooding"]) }

    /// Whether OpenSSL on this host can negotiate TLS 1.1, which the fault `tls_old` offers.
    static var supportsOldVersion: Bool {
        get async throws {
            let front = try await TLSFront(before: 1)
            try front.set("tls_old")
            return try front.version() == "TLSv1.1"
        }
    }

    /// Returns the TLS version that is negotiated with a client that accepts any.
    private func version() throws -> String {
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
        let client = try ChildProcess(
            [try TestBinaries.python3, "-c", lines, port], in: server.folder, name: "client")
        _ = try client.end(within: .seconds(20))
        return client.output
    }
}
