import Glibc
import Testing

@testable import UnixIO

@Suite("Process information from /proc")
struct ProcessMetadataTests {
    private func stat(command: String, startTime: String = "4242") -> [UInt8] {
        let between = (4...21).map { "\($0)" }.joined(separator: " ")
        return Array("17 (\(command)) S \(between) \(startTime) 23 24 25\n".utf8)
    }

    @Test(
        "The start time is found for any name of the process",
        arguments: [
            "a", "", "two words", "a) S 1 2 3", "((((", "))))", ") R 1 (", "a\nb", "1 2 3 4 5 6 7 8 9 10 11 12 13",
        ])
    func hostileNames(name: String) {
        #expect(ProcessMetadata.startTime(inStat: stat(command: name)) == 4242)
    }

    @Test("A line without a valid start time has none", arguments: ["-1", "x", "4x", "18446744073709551616"])
    func hostileNumbers(number: String) {
        #expect(ProcessMetadata.startTime(inStat: stat(command: "a", startTime: number)) == nil)
    }

    @Test("A truncated line has no start time, or the one that its remaining digits form")
    func truncations() {
        let line = stat(command: "a) (b", startTime: "77")
        for count in 0..<line.count {
            let found = ProcessMetadata.startTime(inStat: Array(line.prefix(count)))
            #expect(found == nil || found == 7 || found == 77)
        }
        #expect(ProcessMetadata.startTime(inStat: []) == nil)
        #expect(ProcessMetadata.startTime(inStat: [UInt8](repeating: UInt8(ascii: ")"), count: 5000)) == nil)
    }

    @Test("Only the line end is removed from a command")
    func command() {
        #expect(ProcessMetadata.command(inComm: Array("nginx\n".utf8)) == "nginx")
        #expect(ProcessMetadata.command(inComm: Array("a\n\n".utf8)) == "a\n")
        #expect(ProcessMetadata.command(inComm: []) == "")
        #expect(ProcessMetadata.command(inComm: [0xFF, 0x0A]) == "\u{FFFD}")
    }

    @Test("An executable that was replaced keeps its name")
    func executable() {
        #expect(ProcessMetadata.executable(inLink: Array("/usr/bin/app (deleted)".utf8)) == "/usr/bin/app")
        #expect(ProcessMetadata.executable(inLink: Array("/usr/bin/app".utf8)) == "/usr/bin/app")
        #expect(ProcessMetadata.executable(inLink: []) == "")
    }

    @Test(
        "The unit is the first one on the path, because only the system manager can create that one",
        arguments: [
            ("0::/system.slice/nginx.service\n", "nginx.service"),
            ("0::/system.slice/docker.service/payload/inner\n", "docker.service"),
            ("0::/user.slice/user-0.slice/session-3.scope", "session-3.scope"),
            ("0::/user.slice/user-0.slice/user@0.service/app.slice/shop.service\n", "user@0.service"),
            ("0::/user.slice/user-1000.slice/user@1000.service/system.slice/sshd.service\n", "user@1000.service"),
            ("0::/system.slice/shop.service/sshd.service\n", "shop.service"),
            ("0::/system.slice/system-getty.slice/getty@tty1.service\n", "getty@tty1.service"),
            ("0::/machine.slice/machine-a.scope/payload/system.slice/sshd.service\n", "machine-a.scope"),
            ("12:cpu,cpuacct:/other.service\n1:name=systemd:/system.slice/cron.service\n0::/\n", "cron.service"),
            ("1:name=systemd:/system.slice/old.service\n0::/system.slice/new.service\n", "new.service"),
            ("0::/system.slice/_cgroup.service\n", "cgroup.service"),
            ("0::/system.slice/a:b@c:1.service\n", "a:b@c:1.service"),
        ])
    func unit(cgroup: String, unit: String) {
        #expect(ProcessMetadata.unit(inCgroup: Array(cgroup.utf8)) == unit)
    }

    @Test(
        "If no line of systemd's hierarchy has a service or similar unit after its slices, there is no unit",
        arguments: [
            "", "\n", "0", "0:", "0::", "0::/", "0::/.service\n", "0::/../sshd.service\n",
            "0::/docker/system.slice/sshd.service", "0::/a.slice", "4:memory:/a.service\n", "x::/a.service\n",
        ])
    func noUnit(cgroup: String) {
        #expect(ProcessMetadata.unit(inCgroup: Array(cgroup.utf8)) == nil)
    }

    @Test("The information about the current process is correct")
    func ourselves() throws {
        let metadata = try #require(try ProcessMetadata.read(pid: getpid()))
        #expect(metadata.pid == getpid())
        #expect(metadata.executable?.hasPrefix("/") == true)
        #expect(metadata.executable == CurrentProcess.executable)
        #expect(!metadata.command.isEmpty)
        #expect(metadata.startTime > 0)
        #expect(try ProcessMetadata.read(pid: getpid()) == metadata)
    }

    /// Creates a folder like `/proc` with one process in it.
    private func makeProcess(at root: String, startTime: String = "4242") throws {
        try FileSystem.makeFolders("\(root)/17")
        try FileSystem.writeAtomically(stat(command: "shop", startTime: startTime), to: "\(root)/17/stat")
        try FileSystem.writeAtomically(Array("shop\n".utf8), to: "\(root)/17/comm")
        try FileSystem.writeAtomically(Array("0::/system.slice/shop.service\n".utf8), to: "\(root)/17/cgroup")
    }

    @Test("If the kernel cannot identify the process, only a process of the expected user is accepted")
    func otherUser() throws {
        let folder = try ScratchFolder()
        let root = folder.file("proc")
        try makeProcess(at: root)
        let metadata = try #require(try ProcessMetadata.read(pid: 17, uid: geteuid(), root: root))
        #expect(
            metadata
                == ProcessMetadata(
                    pid: 17, command: "shop", executable: nil, unit: "shop.service", startTime: 4242))
        #expect(try ProcessMetadata.read(pid: 17, uid: geteuid() + 1, root: root) == nil)
        // A process that has changed its user since then is accepted if the kernel identifies it.
        #expect(try ProcessMetadata.read(pid: 17, uid: geteuid() + 1, root: root) { .same } == metadata)
    }

    @Test("A process that has been reaped has no information, and one that reuses its pid is never read instead")
    func recycled() throws {
        let folder = try ScratchFolder()
        let root = folder.file("proc")
        try makeProcess(at: root)
        #expect(try ProcessMetadata.read(pid: 17, root: root) { .gone } == nil)
        var times = 0
        let ending: () -> ProcessMetadata.Identity = {
            times += 1
            return times == 1 ? .same : .gone
        }
        #expect(try ProcessMetadata.read(pid: 17, root: root, identity: ending) == nil)
        // The folder belongs to another process by the time its files are read.
        let replacing: () -> ProcessMetadata.Identity = {
            try? FileSystem.rename("\(root)/17", to: "\(root)/18")
            try? makeProcess(at: root, startTime: "9999")
            return .unknown
        }
        #expect(try ProcessMetadata.read(pid: 17, root: root, identity: replacing)?.startTime == 4242)
    }

    @Test("The process that connected is found through its connection")
    func connected() throws {
        let folder = try ScratchFolder()
        let address = try SocketAddress.unix(folder.file("s"))
        let listener = try Socket.listenUnix(at: address, mode: 0o600)
        let client = try Socket.connect(to: address, timeout: .seconds(60))
        let server = try accept(listener)
        let peer = try server.peerCredentials()
        #expect(try ProcessMetadata.read(of: peer, on: server) == ProcessMetadata.read(pid: getpid()))
        _ = consume client
    }

    @Test("A process that does not exist has no information")
    func nobody() throws {
        #expect(try ProcessMetadata.read(pid: .max) == nil)
        #expect(try ProcessMetadata.read(pid: -1) == nil)
    }
}
