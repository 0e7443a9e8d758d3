import Foundation
import IssueProtocol
import IssueTestSupport
import TestSockets
import Testing
import UnixIO

/// A server of another user that pretends to be the daemon, and stores what clients send.
private final class FalseDaemon {
    static let user: UInt32 = 4244

    let folder: ScratchFolder
    private let process: ChildProcess

    /// The runtime directory of the server's user.
    var runtimeFolder: String { folder["runtime"] }
    var socket: String { "\(runtimeFolder)/issued/issued.sock" }
    var home: String { folder["home"] }
    /// All bytes that clients have sent.
    var heard: String { folder.text(of: "runtime/heard") }
    var hasVisitors: Bool { FileManager.default.fileExists(atPath: folder["runtime/visited"]) }

    init() async throws {
        folder = try ScratchFolder(named: "false")
        for name in ["runtime", "runtime/issued", "home"] {
            try FileSystem.makeFolders(folder[name], mode: 0o711)
            try FileSystem.setOwner(Self.user, group: Self.user, of: folder[name])
        }
        // The program is passed as an argument, because the server's user may not be able to read our files.
        let file = "\(TestBinaries.repository)Tests/EndToEndTests/false_daemon.py"
        let program = try String(contentsOfFile: file, encoding: .utf8)
        process = try Self.start("/usr/bin/python3", ["-c", program, folder["runtime"]], in: folder, name: "false")
        let ready = folder["runtime/ready"]
        try await eventually("the false daemon listens") { FileManager.default.fileExists(atPath: ready) }
    }

    /// Runs a program as a user, by default the user of the server.
    @discardableResult
    static func start(
        as user: UInt32 = user, _ program: String, _ arguments: [String], in folder: ScratchFolder, name: String,
        environment: [String: String] = [:]
    ) throws -> ChildProcess {
        try ChildProcess(
            try OtherUser.launcher(user) + [program] + arguments, in: folder, name: name, environment: environment)
    }

    /// Copies a program so that every user can run it, and returns the copy's path. If `owner` is not nil, the copy
    /// belongs to that user and is setuid.
    func copy(_ program: String, setUserID owner: UInt32? = nil) throws -> String {
        let path = folder[program]
        try FileSystem.copy(try TestBinaries.path(of: program), to: path)
        if let owner { try FileSystem.setOwner(owner, group: owner, of: path) }
        try FileSystem.setMode(owner == nil ? 0o755 : 0o4755, of: path)
        return path
    }

    var names: Set<String> {
        Set(FileManager.default.enumerator(atPath: folder["home"])?.compactMap { $0 as? String } ?? [])
    }
}

private let obstacle: String? = {
    if let obstacle = OtherUser.obstacle { return obstacle }
    let paths = ["/run/issued/issued.sock", "/run/user/0/issued/issued.sock", "/tmp/issued-0/issued.sock"]
    return paths.contains { FileManager.default.fileExists(atPath: $0) } ? "this host has a daemon of its own" : nil
}()

@Suite("A server that is not the daemon", .enabled(if: obstacle == nil, "\(obstacle ?? "")"))
struct HostileServerTests {
    @Test("Root sends nothing to a server in another user's runtime directory, even if the environment names it")
    func inheritedRuntimeDirectory() async throws {
        let other = try await FalseDaemon()
        let environment = ["XDG_RUNTIME_DIR": other.runtimeFolder]
        for command in [["report", "db password is hunter2"], ["status"], ["backup", "/tmp"]] {
            let control = try ChildProcess(
                try TestBinaries.path(of: "issuectl"), command, in: other.folder, name: command[0],
                environment: environment)
            #expect(try control.end() == .exit(69))
        }
        let program = try ChildProcess(
            try TestBinaries.path(of: "client-under-test"), ["settings", "2", "db password is hunter2"],
            in: other.folder, name: "program", environment: environment)
        #expect(try program.end() == .exit(0))
        #expect(other.heard == "")
        #expect(!other.hasVisitors)
    }

    @Test("Root sends nothing to another user's socket, unless ISSUED_SOCKET_USER names that user")
    func namedSocket() async throws {
        let other = try await FalseDaemon()
        let named = ["ISSUED_SOCKET": other.socket]
        let control = try ChildProcess(
            try TestBinaries.path(of: "issuectl"), ["report", "db password is hunter2"], in: other.folder,
            name: "control", environment: named)
        #expect(try control.end() == .exit(69))
        #expect(control.errors.contains("is not trusted, because it is served by user 4244"))
        let program = try ChildProcess(
            try TestBinaries.path(of: "client-under-test"), ["return", "3", "db password is hunter2"],
            in: other.folder, name: "program", environment: named)
        #expect(try program.end() == .exit(0))
        // Logged once, and not for each attempt.
        #expect(program.errors.components(separatedBy: "is not trusted").count == 2, "\(program.errors)")
        #expect(other.heard == "")

        let trusting = try ChildProcess(
            try TestBinaries.path(of: "client-under-test"), ["return", "2", "nothing secret"], in: other.folder,
            name: "trusting", environment: named.merging(["ISSUED_SOCKET_USER": "4244"]) { $1 })
        #expect(try trusting.end() == .exit(0))
        #expect(other.heard.contains("nothing secret"))
    }

    @Test("The Python example names the user whose socket is not trusted, and trusts the one in ISSUED_SOCKET_USER")
    func pythonExample() async throws {
        let other = try await FalseDaemon()
        let named = ["ISSUED_SOCKET": other.socket]
        let example = "\(TestBinaries.repository)Examples/python/report.py"
        let refused = try ChildProcess(
            "/usr/bin/python3", [example, "db password is hunter2"], in: other.folder, name: "refused",
            environment: named)
        #expect(try refused.end() == .exit(1))
        #expect(refused.errors.contains("is served by user 4244: to trust them, set ISSUED_SOCKET_USER"))
        #expect(other.heard == "")
        // The false daemon never replies, so this process ends with the test.
        let trusting = try ChildProcess(
            "/usr/bin/python3", [example, "nothing secret"], in: other.folder, name: "trusting",
            environment: named.merging(["ISSUED_SOCKET_USER": "4244"]) { $1 })
        try await eventually("the report arrives") { other.heard.contains("nothing secret") }
        withExtendedLifetime(trusting) {}
    }

    @Test("An ordinary user can use another user's socket")
    func namedByUser() async throws {
        let other = try await FalseDaemon()
        let program = try other.copy("client-under-test")
        let run = try FalseDaemon.start(
            as: 4245, program, ["return", "2", "for my neighbour"], in: other.folder, name: "run",
            environment: ["ISSUED_SOCKET": other.socket])
        #expect(try run.end() == .exit(0))
        #expect(other.heard.contains("for my neighbour"))
    }

    @Test("A setuid program ignores its caller's environment")
    func setUserID() async throws {
        let other = try await FalseDaemon()
        let program = try other.copy("client-under-test", setUserID: 4246)
        try FileSystem.makeFolders(other.folder["open"], mode: 0o777)
        try FileSystem.setMode(0o777, of: other.folder["open"])
        let environment = [
            "ISSUED_SOCKET": other.socket, "ISSUED_SOCKET_USER": "4244", "XDG_RUNTIME_DIR": other.runtimeFolder,
            "ISSUED_REPORTERS": "fatalError", "STATE_DIRECTORY": other.folder["open"], "HOME": other.folder["open"],
            "XDG_STATE_HOME": other.folder["open"], "ISSUED_APP": "another",
        ]
        for mode in ["return", "settings"] {
            let run = try FalseDaemon.start(
                program, [mode, "3", "secret of user 4246"], in: other.folder, name: mode, environment: environment)
            #expect(try run.end() == .exit(0), "\(run.errors)")
        }
        #expect(other.heard == "")
        #expect(!other.hasVisitors)
        #expect(try FileSystem.names(in: other.folder["open"]) == [])
    }

    @Test("If root's HOME is the folder of another user, that user can't redirect the reports that root spools")
    func spillElsewhere() async throws {
        let other = try await FalseDaemon()
        let target = other.folder["root-only"]
        try FileSystem.makeFolders(target, mode: 0o700)
        let script = """
            mkdir -p "$1/.local/state/issued" && ln -s "$2" "$1/.local/state/issued/unsent"
            """
        let plot = try FalseDaemon.start(
            "/bin/sh", ["-c", script, "sh", other.home, target], in: other.folder, name: "plot")
        #expect(try plot.end() == .exit(0), "\(plot.errors)")
        let before = other.names
        let environment = ["HOME": other.home, "ISSUED_SOCKET": other.folder["nobody.sock"]]
        let program = try ChildProcess(
            try TestBinaries.path(of: "client-under-test"), ["return", "3", "kept"], in: other.folder, name: "program",
            environment: environment)
        #expect(try program.end() == .exit(0))
        let control = try ChildProcess(
            try TestBinaries.path(of: "issuectl"), ["report", "--spool", "kept"], in: other.folder, name: "control",
            environment: environment)
        #expect(try control.end() == .exit(69))
        #expect(control.errors.contains("could not be sent or saved"))
        #expect(try FileSystem.names(in: target) == [])
        #expect(other.names == before)
    }

    @Test("Each report is written to standard error as one line, with control characters escaped")
    func escapes() async throws {
        let folder = try ScratchFolder()
        let text = "\u{1B}[2J\u{1B}]0;title\u{7}\rforged\nMay 1 sshd: accepted \u{9B}31m\u{202E}\u{2028}end"
        let program = try ChildProcess(
            try TestBinaries.path(of: "client-under-test"), ["settings", "1", text], in: folder, name: "program",
            environment: ["ISSUED_SOCKET": ""])
        #expect(try program.end() == .exit(0))
        let lines = program.errors.split(separator: "\n")
        #expect(lines.count == 5, "\(program.errors.debugDescription)")
        #expect(lines.allSatisfy { $0.contains("forged\\nMay 1 sshd") && $0.hasPrefix("client_under_test/") })
        #expect(!program.errors.unicodeScalars.contains { $0 != "\n" && $0.properties.generalCategory == .control })
        #expect(!program.errors.unicodeScalars.contains { ["\u{202E}", "\u{2028}"].contains($0) })

        for mode in ["fatal-reporter", "precondition"] {
            let end = try ChildProcess(
                try TestBinaries.path(of: "client-under-test"), [mode, "2", text], in: folder, name: mode,
                environment: ["ISSUED_SOCKET": ""])
            _ = try end.end()
            #expect(end.errors.contains("sshd"))
            #expect(!end.errors.contains("\u{1B}"))
            #expect(!end.errors.contains("\nMay"))
        }
    }
}
