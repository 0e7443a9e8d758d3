import Foundation
import TestSockets
import UnixIO

/// A connection to the daemon from another user of this host.
package enum OtherUser {
    /// The reason why such a connection is not possible here; nil if it is.
    package static var obstacle: String? {
        if CurrentProcess.userID != 0 { return "only root can become another user" }
        if (try? TestBinaries.python3) == nil { return "python3 is not available to all users" }
        if setpriv == nil { return "setpriv is not installed" }
        return nil
    }

    private static var setpriv: String? { TestBinaries.tool("/usr/bin/setpriv", "/bin/setpriv") }

    /// Returns words to put before a command, so that it runs as this user without supplementary groups.
    package static func launcher(_ uid: UInt32) throws -> [String] {
        guard let setpriv else { throw CocoaError(.featureUnsupported) }
        return [setpriv, "--reuid", "\(uid)", "--regid", "\(uid)", "--clear-groups"]
    }

    /// Returns a client whose connection belongs to that user. Its process lives as long as the connection.
    package static func client(_ uid: UInt32, of daemon: DaemonFixture) throws -> RawClient {
        try client(uid, socket: daemon.socket, in: daemon.folder)
    }

    /// Returns a client whose connection belongs to that user. The output of its process goes to files in the folder.
    package static func client(_ uid: UInt32, socket: String, in folder: ScratchFolder) throws -> RawClient {
        let ends = try SocketPair(nonBlocking: false)
        let process = try ChildProcess(
            try launcher(uid) + [try TestBinaries.python3, "-c", try program, socket], in: folder,
            name: "user-\(uid)", stream: try ends.second.duplicate())
        return try RawClient(over: try ends.first.duplicate(), keeping: process)
    }

    // Passed as text, because the other user may not be able to read our files.
    private static var program: String {
        get throws {
            try String(contentsOfFile: "\(TestBinaries.repository)Tests/IssueTestSupport/relay.py", encoding: .utf8)
        }
    }
}
