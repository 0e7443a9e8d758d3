import Foundation
import UnixIO

/// A connection to the daemon that was made by another user of this host.
package enum OtherUser {
    /// Why it can't be had here, if it can't.
    package static var obstacle: String? {
        if CurrentProcess.userID != 0 { return "only root can become another user" }
        if relay == nil { return "there is no python3 that all users may run" }
        if setpriv == nil { return "there is no setpriv" }
        return nil
    }

    private static var relay: String? { TestBinaries.tool("/usr/bin/python3", "/usr/local/bin/python3") }
    private static var setpriv: String? { TestBinaries.tool("/usr/bin/setpriv", "/bin/setpriv") }

    /// A client whose connection belongs to that user; its process lives as long as the connection.
    package static func client(_ uid: UInt32, of daemon: DaemonFixture) throws -> RawClient {
        try client(uid, socket: daemon.socket, in: daemon.folder)
    }

    /// A client whose connection belongs to that user; what its process says goes into the folder.
    package static func client(_ uid: UInt32, socket: String, in folder: ScratchFolder) throws -> RawClient {
        guard let relay, let setpriv else { throw CocoaError(.featureUnsupported) }
        let ends = try DescriptorPair.sockets(nonBlocking: false)
        let process = try ChildProcess(
            setpriv,
            ["--reuid", "\(uid)", "--regid", "\(uid)", "--clear-groups", relay, "-c", try program, socket],
            in: folder, name: "user-\(uid)", stream: try ends.second.duplicate())
        return try RawClient(over: try ends.first.duplicate(), keeping: process)
    }

    // Given as text, since another user may not be able to read our files.
    private static var program: String {
        get throws {
            try String(contentsOfFile: "\(TestBinaries.repository)Tests/IssueTestSupport/relay.py", encoding: .utf8)
        }
    }
}
