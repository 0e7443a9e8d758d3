import Foundation
import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("A connection for queries")
struct CollectorConnectionTests {
    @Test("A call returns its reply, and a refused call throws the daemon's error")
    func calls() async throws {
        try await CollectorFixture.with { fixture in
            var connection = try CollectorConnection(paths: ["/nowhere/at.all", fixture.path])
            let reply = try connection.call(CollectorMethod.await.fullName, json: AwaitParameters(id: "x").json)
            #expect(try AwaitReply(json: reply).fates.map(\.outcome) == [.delivered])

            do throws(CollectorConnectionError) {
                _ = try connection.call(CollectorMethod.show.fullName, json: IDParameters(id: "x").json)
                Issue.record("The refused call did not throw")
            } catch {
                #expect(error == .refused(.notFound(id: "x")))
            }
        }
    }

    @Test("A stream passes each part to the caller until it ends or the caller stops it")
    func streams() async throws {
        try await CollectorFixture.with { fixture in
            var connection = try CollectorConnection(paths: [fixture.path])
            let (method, parameters) = (CollectorMethod.records.fullName, RecordsParameters().json)
            var pages: [[UInt8]] = []
            try connection.stream(method, json: parameters) { reply in
                pages.append(reply)
                return true
            }
            #expect(try pages.map { try RecordsReply(json: $0).next } == ["1", "2", nil])

            pages = []
            try connection.stream(method, json: parameters) { reply in
                pages.append(reply)
                return false
            }
            #expect(try pages.map { try RecordsReply(json: $0).next } == ["1"])
        }
    }

    @Test("A missing reply causes a timeout")
    func deadline() async throws {
        try await CollectorFixture.with { fixture in
            var connection = try CollectorConnection(paths: [fixture.path])
            do throws(CollectorConnectionError) {
                _ = try connection.call(
                    CollectorMethod.flush.fullName, json: FlushParameters().json, timeout: .milliseconds(30))
                Issue.record("The call did not time out")
            } catch {
                #expect(error == .timedOut)
            }
        }
    }

    @Test("If no daemon is reachable, the error contains the path and the reason")
    func unreachable() {
        #expect(throws: CollectorConnectionError.unreachable(path: "/nowhere/b", .noSuchFile)) {
            _ = try CollectorConnection(paths: ["/nowhere/a", "/nowhere/b"])
        }
        #expect(throws: CollectorConnectionError.disabled) {
            _ = try CollectorConnection(paths: [])
        }
    }

    @Test(
        "The error names ISSUED_SOCKET_USER only if trusting a user helps",
        arguments: [
            ("it is served by user 7", true), ("it belongs to user 7", true), ("its folder belongs to user 7", true),
            ("it is not a socket", false), ("other users can write to its folder", false),
        ])
    func userHint(reason: String, isHinted: Bool) {
        let text = CollectorConnectionError.untrusted(path: "/s", reason: reason).description
        #expect(text.hasPrefix("The socket at /s is not trusted: \(reason)."))
        #expect(text.contains("ISSUED_SOCKET_USER") == isHinted)
    }

    @Test("If ISSUED_SOCKET is set, only its socket is tried (none if empty); otherwise the user's, then the system's")
    func search() throws {
        #expect(SocketPath.user(runtimeDirectory: "/run/user/x", userID: 8) == "/run/user/x/issued/issued.sock")
        #expect(SocketPath.user(runtimeDirectory: nil, userID: 8) == "/run/user/8/issued/issued.sock")
        #expect(SocketPath.user(runtimeDirectory: "", userID: 8) == "/run/user/8/issued/issued.sock")
        let folder = FileManager.default.temporaryDirectory.path + "/issued-\(UUID().uuidString)"
        let own = UnixIO.CurrentProcess.userID
        func fallback() -> String {
            SocketPath.user(runtimeDirectory: nil, userID: own, runtimeFolder: "/absent", temporaryPrefix: folder)
        }
        #expect(fallback() == "/absent/\(own)/issued/issued.sock")
        try FileSystem.makeFolders("\(folder)-\(own)", mode: 0o700)
        defer { try? FileManager.default.removeItem(atPath: "\(folder)-\(own)") }
        #expect(fallback() == "\(folder)-\(own)/issued.sock")
        try FileSystem.setMode(0o777, of: "\(folder)-\(own)")
        #expect(fallback() == "/absent/\(own)/issued/issued.sock")
        #expect(SocketPath.search(override: nil, userSocket: "/u") == ["/u", "/run/issued/issued.sock"])
        #expect(SocketPath.search(override: "/o", userSocket: "/u") == ["/o"])
        #expect(SocketPath.search(override: "", userSocket: "/u") == [])
    }
}
