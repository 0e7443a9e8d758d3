import Foundation
import IssueProtocol
import IssueTestSupport
import Issues
import TestSockets
import Testing
import UnixIO

@Suite("Trusted servers")
struct ServerTrustTests {
    private static let daemon: UInt32 = 990
    private static let path = "/run/user/1000/issued/issued.sock"

    private static func trust(
        _ userID: UInt32, isNamed: Bool = false, namedUser: UInt32? = nil, overflowUserID: UInt32? = nil
    ) -> ServerTrust {
        ServerTrust(
            isNamed: isNamed, namedUser: namedUser, userID: userID, daemonUser: { daemon },
            overflowUserID: { overflowUserID })
    }

    @Test(
        "Servers of root, of the same user and of the daemon's user are trusted; others are not",
        arguments: [0, 1000] as [UInt32])
    func peers(own: UInt32) {
        let trust = Self.trust(own)
        for peer in [0, own, Self.daemon] {
            #expect(trust.objection(toPeer: peer, at: Self.path, owner: peer) == nil)
        }
        #expect(trust.objection(toPeer: 1001, at: Self.path, owner: 1001) == "it is served by user 1001")
        #expect(trust.objection(toPeer: 65534, at: SocketPath.system, owner: 65534) != nil)
    }

    @Test("A user who names a socket trusts its owner; root must name the owner as well")
    func named() {
        let user = Self.trust(1000, isNamed: true)
        #expect(user.objection(toPeer: 1001, at: "/x", owner: 1001) == nil)
        #expect(user.objection(toPeer: 1001, at: "/x", owner: 1002) != nil)
        #expect(user.objection(toPeer: 1001, at: "@x", owner: nil) != nil)
        #expect(Self.trust(0, isNamed: true).objection(toPeer: 1001, at: "/x", owner: 1001) != nil)
        let named = Self.trust(0, isNamed: true, namedUser: 1001)
        #expect(named.objection(toPeer: 1001, at: "/x", owner: 1001) == nil)
        #expect(named.objection(toPeer: 1002, at: "/x", owner: 1002) != nil)
    }

    @Test("A user is given by name, or by an id that consists of digits")
    func userNames() {
        #expect(ServerTrust.user(named: "root") == 0)
        #expect(ServerTrust.user(named: "1001") == 1001)
        for text in ["", "+0", "-0", "0x0", "4294967296"] { #expect(ServerTrust.user(named: text) == nil) }
        #expect(UserDatabase.user(named: "+0") == nil)
    }

    @Test("In a container, the host's daemon is trusted only at the system socket's path")
    func container() {
        let trust = Self.trust(0, overflowUserID: 65534)
        #expect(trust.objection(toPeer: 65534, at: SocketPath.system, owner: 65534) == nil)
        #expect(trust.objection(toPeer: 65534, at: Self.path, owner: 65534) != nil)
    }

    @Test("A socket found by searching is not used if it is a link or if another user could have placed it")
    func foundSocketChecks() throws {
        let folder = try ScratchFolder()
        let (root, path) = (folder.path, folder["issued.sock"])
        let listener = try Socket.listenUnix(at: .unix(path), mode: 0o666)
        let own = CurrentProcess.userID
        #expect(reason(Self.trust(own), path) == nil)
        try FileSystem.setMode(0o777, of: root)
        #expect(reason(Self.trust(own), path) == "other users can write to its folder")
        #expect(reason(Self.trust(own, isNamed: true), path) == nil)
        try FileSystem.setMode(0o1777, of: root)
        #expect(reason(Self.trust(own), path) == nil)
        try FileManager.default.createSymbolicLink(atPath: "\(root)/link", withDestinationPath: path)
        #expect(reason(Self.trust(own), "\(root)/link") == "it is not a socket")
        _ = consume listener
    }

    @Test(
        "A socket found by searching is not used if it or its folder belongs to another user",
        .enabled(if: CurrentProcess.userID == 0, "only root can give a folder away"))
    func foundSocketOwners() throws {
        let folder = try ScratchFolder()
        let listener = try Socket.listenUnix(at: .unix(folder["issued.sock"]), mode: 0o666)
        try FileSystem.setOwner(4242, group: nil, of: folder.path)
        #expect(reason(Self.trust(0), folder["issued.sock"]) == "its folder belongs to user 4242")
        try FileSystem.setOwner(4242, group: nil, of: folder["issued.sock"])
        #expect(reason(Self.trust(0), folder["issued.sock"]) == "it belongs to user 4242")
        _ = consume listener
    }

    /// Returns why a socket is not used; nil if it is used.
    private func reason(_ trust: ServerTrust, _ path: String) -> String? {
        do throws(CollectorConnectionError) {
            _ = try trust.connect(to: path, timeout: .seconds(5))
            return nil
        } catch {
            guard case .untrusted(_, let reason) = error else { return "\(error)" }
            return reason
        }
    }

    @Test("An untrusted socket is skipped; if no other one can be reached, the error names the untrusted socket")
    func next() async throws {
        try await CollectorFixture.with { fixture in
            let folder = FileSystem.parentFolder(of: fixture.path)
            try FileManager.default.createSymbolicLink(
                atPath: "\(folder)/first.sock", withDestinationPath: fixture.path)
            defer { try? FileSystem.remove("\(folder)/first.sock") }
            let trust = ServerTrust(isNamed: false)
            var connection = try CollectorConnection(paths: ["\(folder)/first.sock", fixture.path], trust: trust)
            _ = try connection.call(CollectorMethod.await.fullName, json: AwaitParameters(id: "x").json)
            #expect(
                throws: CollectorConnectionError.untrusted(path: "\(folder)/first.sock", reason: "it is not a socket")
            ) {
                _ = try CollectorConnection(paths: ["\(folder)/first.sock", "/nowhere/x"], trust: trust)
            }
        }
    }

    @Test("A runtime directory of another user is ignored")
    func runtimeDirectory() {
        let own = CurrentProcess.userID
        #expect(SocketPath.user(runtimeDirectory: "/nowhere/7", userID: own) == "/nowhere/7/issued/issued.sock")
        #expect(SocketPath.user(runtimeDirectory: "/tmp", userID: 4242) == "/run/user/4242/issued/issued.sock")
    }
}
