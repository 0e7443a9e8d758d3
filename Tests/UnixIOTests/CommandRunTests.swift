import Glibc
import Testing

@testable import UnixIO

@Suite("Runs of other programs")
struct CommandRunTests {
    private func run(
        _ script: String, input: String = "", timeout: Duration = .seconds(20), isCancelled: () -> Bool = { false }
    ) throws -> (run: CommandRun, text: String) {
        try? Signal.pipe.ignore()
        let run = try CommandRun(
            ["/bin/sh", "-c", script], environment: ["PATH=/usr/bin:/bin", "LANG=C"], input: Array(input.utf8),
            timeout: timeout, isCancelled: isCancelled)
        return (run, String(decoding: run.output, as: UTF8.self))
    }

    /// Waits up to a minute for the processes of a group to end, since a killed process may need some time. The first
    /// line of `text` is the group's id. Returns `true` if a process of the group still runs after that minute.
    private func isLeft(group text: String) throws -> Bool {
        let group = try #require(text.split(separator: "\n").first)
        let deadline = MonotonicClock.now.advanced(by: .seconds(60))
        while try isAlive(group) {
            guard MonotonicClock.now < deadline else { return true }
            _ = usleep(1000)
        }
        return false
    }

    private func isAlive(_ group: Substring) throws -> Bool {
        for name in try FileSystem.names(in: "/proc") where Int32(name) != nil {
            guard let stat = try? FileSystem.read("/proc/\(name)/stat", limit: 4096) else { continue }
            // The state, the parent and the process group follow the name, which is in parentheses.
            let fields = String(decoding: stat, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
            if fields.count > 2, fields[2] == group, fields[0] != "Z", fields[0] != "X" { return true }
        }
        return false
    }

    @Test("The program gets the input, and its output and exit status are returned")
    func plain() throws {
        let found = try run("cat; echo problem >&2; exit 7", input: "hello\n")
        #expect(found.run.end == .exit(7))
        #expect(found.text == "hello\nproblem\n")
        #expect(try run("exit 0").run.end == .exit(0))
        #expect(try run("kill -9 $$").run.end == .signal(SIGKILL))
    }

    @Test("The arguments are passed verbatim, without a shell")
    func arguments() throws {
        let words = ["/usr/bin/printf", "%s|", "a b", "$HOME", "*", ""]
        let found = try CommandRun(words, environment: [], input: [], timeout: .seconds(20)) { false }
        #expect(found.end == .exit(0) && String(decoding: found.output, as: UTF8.self) == "a b|$HOME|*||")
    }

    @Test("The program has only the given environment, the standard streams and default signals")
    func surroundings() throws {
        let pipe = try DescriptorPair.pipe()
        try #require(fcntl(pipe.first.rawValue, F_SETFD, 0) == 0)
        #expect(try run("env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= | sort").text == "LANG=C\nPATH=/usr/bin:/bin\n")
        // Descriptor 3 is the folder that ls itself has open.
        #expect(try run("ls /proc/self/fd | tr '\\n' ' '").text == "0 1 2 3 ")
        // Signals 32 and 33 belong to glibc.
        let signals = try run("grep -E 'Sig(Blk|Ign)' /proc/self/status").text
        let masks = signals.split(separator: "\n").compactMap { UInt64($0.suffix(16), radix: 16) }
        #expect(masks.map { $0 & 0x7FFF_FFFF } == [0, 0])
        _ = consume pipe
    }

    @Test("A program that cannot be started is an error")
    func missing() throws {
        #expect(throws: Errno.noSuchFile) {
            try CommandRun(["/nonexistent"], environment: [], input: [], timeout: .seconds(1)) { false }
        }
        #expect(throws: Errno.accessDenied) {
            try CommandRun(["/etc/passwd"], environment: [], input: [], timeout: .seconds(1)) { false }
        }
    }

    @Test("A program that never ends is killed at the timeout, with its children")
    func timeout() throws {
        let found = try run(
            "echo $$; trap '' TERM; sleep 1000 & sleep 1000 & wait; sleep 1000", timeout: .milliseconds(300))
        #expect(found.run.end == .timeout)
        #expect(try !isLeft(group: found.text))
    }

    @Test("A program with endless output is killed, and the end of its output is kept")
    func flood() throws {
        let found = try run("while :; do echo 0123456789; done")
        #expect(found.run.end == .tooMuchOutput)
        #expect(found.run.output.count == CommandRun.keptOutput)
    }

    @Test("Without a limit on the output, its end is kept, and the timeout applies")
    func unlimited() throws {
        func run(_ script: String, timeout: Duration) throws -> CommandRun {
            try CommandRun(["/bin/sh", "-c", script], environment: [], keeping: 100, limit: nil, timeout: timeout)
        }
        let long = try run("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done", timeout: .seconds(60))
        #expect(long.end == .exit(0) && long.isCut && long.output.count == 100)
        #expect(String(decoding: long.output, as: UTF8.self).hasSuffix("line 1998\nline 1999\n"))
        let endless = try run("while :; do echo 0123456789; done", timeout: .milliseconds(100))
        #expect(endless.end == .timeout && endless.isCut && endless.output.count == 100)
        let short = try run("echo out", timeout: .seconds(60))
        #expect(!short.isCut && String(decoding: short.output, as: UTF8.self) == "out\n")
    }

    @Test("A program that was not reaped when its run ended is reaped later")
    func unreaped() throws {
        let arguments = ["/bin/true"]
        var words = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        var pid: Int32 = 0
        let code = unsafe posix_spawn(&pid, "/bin/true", nil, nil, &words, nil)
        try #require(code == 0)
        UnreapedCommands.add(pid)
        let deadline = MonotonicClock.now.advanced(by: .seconds(60))
        while UnreapedCommands.count > 0, MonotonicClock.now < deadline {
            UnreapedCommands.reap()
            _ = usleep(1000)
        }
        #expect(UnreapedCommands.count == 0)
        let isReaped = waitpid(pid, nil, WNOHANG) == -1
        #expect(isReaped)
    }

    @Test("A child that keeps the pipes open does not delay the result, and is killed")
    func child() throws {
        let found = try run("echo $$; sleep 1000 & exit 0", timeout: .seconds(60))
        #expect(found.run.end == .exit(0))
        #expect(try !isLeft(group: found.text))
    }

    @Test("The exit status is returned even if the program does not read its input or closes its streams")
    func unread() throws {
        let large = String(repeating: "x", count: 1 << 20)
        #expect(try run("exit 3", input: large).run.end == .exit(3))
        #expect(try run("exec <&- >&- 2>&-; sleep 0.2; exit 4", input: large).run.end == .exit(4))
        #expect(try run("wc -c", input: large).text == "1048576\n")
    }

    @Test("A program is killed when the caller cancels it")
    func cancelled() throws {
        var calls = 0
        let found = try run("echo $$; sleep 1000") {
            calls += 1
            return calls > 20
        }
        #expect(found.run.end == .cancelled)
        #expect(try !isLeft(group: found.text))
    }
}
