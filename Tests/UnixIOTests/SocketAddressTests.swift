import Testing
import UnixIO

@Suite("SocketAddress")
struct SocketAddressTests {
    @Test("A path of 107 bytes is accepted, and a listener can use it")
    func longest() throws {
        let folder = try ScratchFolder()
        let path = folder.file(String(repeating: "x", count: 107 - folder.path.utf8.count - 1))
        #expect(path.utf8.count == 107)
        let listener = try Socket.listenUnix(at: .unix(path), mode: 0o600)
        #expect(try FileSystem.status(of: path).kind == .socket)
        _ = consume listener
    }

    @Test("A path of 108 bytes is rejected with a message that states its length")
    func tooLong() {
        let path = "/" + String(repeating: "x", count: 107)
        #expect(throws: InvalidSocketAddress.tooLong(path: path)) { try SocketAddress.unix(path) }
        #expect("\(InvalidSocketAddress.tooLong(path: path))".contains("108"))
    }

    @Test("An empty path, a single @ and a NUL are rejected")
    func malformed() {
        #expect(throws: InvalidSocketAddress.empty) { try SocketAddress.unix("") }
        #expect(throws: InvalidSocketAddress.empty) { try SocketAddress.unix("@") }
        #expect(throws: InvalidSocketAddress.containsNul) { try SocketAddress.unix("/run/a\0b") }
    }

    @Test("An address is described in its usual notation")
    func description() throws {
        #expect("\(try SocketAddress.unix("/run/issued/socket"))" == "/run/issued/socket")
        #expect("\(try SocketAddress.unix("@name"))" == "@name")
    }
}
