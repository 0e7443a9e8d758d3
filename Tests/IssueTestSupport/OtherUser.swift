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
        guard let relay, let setpriv else { throw CocoaError(.featureUnsupported) }
        let ends = try DescriptorPair.sockets(nonBlocking: false)
        let process = try ChildProcess(
            setpriv,
            ["--reuid", "\(uid)", "--regid", "\(uid)", "--clear-groups", relay, "-c", program, daemon.socket],
            in: daemon.folder, name: "user-\(uid)", stream: try ends.second.duplicate())
        return try RawClient(over: try ends.first.duplicate(), keeping: process)
    }

    /// Copies between its standard input and output, which are one socket, and the daemon's.
    private static let program = """
        from selectors import DefaultSelector, EVENT_READ
        from socket import AF_UNIX, socket
        from sys import argv
        near = socket(fileno=0)
        far = socket(AF_UNIX)
        far.connect(argv[1])
        wait = DefaultSelector()
        wait.register(near, EVENT_READ, far)
        wait.register(far, EVENT_READ, near)
        while True:
            for key, _ in wait.select():
                data = key.fileobj.recv(65536)
                if not data:
                    raise SystemExit
                key.data.sendall(data)
        """
}
