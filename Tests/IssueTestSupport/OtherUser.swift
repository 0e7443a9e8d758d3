import Foundation
import TestSockets
import UnixIO

/// A connection to the daemon from another user of this host.
package enum OtherUser {
    /// The reason why this is not possible here, or nil.
    package static var obstacle: String? {
        if CurrentProcess.userID != 0 { return "only root can become another user" }
        if relay == nil { return "python3 is not available to all users" }
        if setpriv == nil { return "setpriv is not installed" }
        return nil
    }

    private static var relay: String? { TestBinaries.tool("/usr/bin/python3", "/usr/local/bin/python3") }
    private static var setpriv: String? { TestBinaries.tool("/usr/bin/setpriv", "/bin/setpriv") }

    /// Returns a client whose connection belongs to that user. Its process lives as long as the connection.
    package static func client(_ uid: UInt32, of daemon: DaemonFixture) throws -> RawClient {
        try client(uid, socket: daemon.socket, in: daemon.folder)
    }

    /// Returns a client whose connection belongs to that user. The output of its process goes to files in the folder.
    package static func client(_ uid: UInt32, socket: String, in folder: ScratchFolder) throws -> RawClient {
        guard let relay, let setpriv else { throw CocoaError(.featureUnsupported) }
        let ends = try SocketPair(nonBlocking: false)
        let process = try ChildProcess(
            setpriv,
            ["--reuid", "\(uid)", "--regid", "\(uid)", "--clear-groups", relay, "-c", try program, socket],
            in: folder, name: "user-\(uid)", stream: try ends.second.duplicate())
        return try RawClient(over: try ends.first.duplicate(), keeping: process)
    }

    // Passed as text, because the other user may not be able to read our files.
    private static var program: String {
        get throws {
            try String(contentsOfFile: "\(TestBinaries.repository)Tests/IssueTestSupport/relay.py", encoding: .utf8)
        }
    }
}
