import Glibc
import TestSockets
import Testing

@testable import UnixIO

@Suite("Peers of a Unix socket")
struct PeerTests {
    @Test("The kernel reports the credentials of the peer")
    func credentials() throws {
        let pair = try SocketPair()
        let peer = try pair.first.peerCredentials()
        #expect(peer == PeerCredentials(pid: getpid(), uid: geteuid(), gid: getegid()))
    }

    @Test("The groups of the peer equal those of getgroups")
    func groups() throws {
        let folder = try ScratchFolder()
        let address = try SocketAddress.unix(folder.file("s"))
        let listener = try Socket.listenUnix(at: address, mode: 0o600)
        let client = try Socket.connect(to: address, timeout: .seconds(60))
        let server = try accept(listener)

        var groups = [gid_t](repeating: 0, count: 65_536)
        let count = unsafe getgroups(CInt(groups.count), &groups)
        #expect(try Set(server.peerGroups()) == Set(groups.prefix(Int(count))))
        _ = consume client
    }

    @Test("A descriptor that is not a socket has no peer")
    func noSocket() throws {
        let file = try FileDescriptor.open("/dev/null")
        #expect(throws: Errno.notSocket) { _ = try file.peerCredentials() }
        #expect(throws: Errno.notSocket) { _ = try file.peerGroups() }
    }
}
