import Foundation
import IssueTestSupport
import TestSockets
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Sockets of the service manager")
struct InheritedSocketsTests {
    /// Returns an inherited listener: a plain descriptor that is not closed on exec.
    private func inherited(_ path: String) throws -> CInt {
        let listener = try Socket.listenUnix(at: .unix(path), mode: 0o600)
        try #require(fcntl(listener.rawValue, F_SETFD, 0) == 0)
        try listener.setNonBlocking(false)
        return listener.release()
    }

    /// Moves two descriptors to free consecutive numbers, and returns the first one.
    private func consecutive(_ one: CInt, _ other: CInt) throws -> CInt {
        defer {
            close(one)
            close(other)
        }
        var minimum: CInt = 100
        while true {
            let first = fcntl(one, F_DUPFD, minimum)
            let second = fcntl(other, F_DUPFD, first + 1)
            try #require(first >= minimum && second > first)
            if second == first + 1 { return first }
            close(first)
            close(second)
            minimum = second
        }
    }

    @Test("An inherited listener accepts connections, and is closed on exec")
    func taken() throws {
        let folder = try ConfigurationFolder()
        let number = try inherited("\(folder.path)/s")

        var sockets = try InheritedSockets(pid: "7", count: "1", names: "issued", ownPID: 7, firstDescriptor: number)
        guard let listener = try sockets.takeListener(named: "issued") else {
            Issue.record("The listener was not found")
            return
        }

        #expect(fcntl(number, F_GETFD) == FD_CLOEXEC)
        #expect(fcntl(number, F_GETFL) & O_NONBLOCK != 0)
        let client = try Socket.connect(to: .unix("\(folder.path)/s"), timeout: .seconds(60))
        let isAccepted = try listener.accept() != nil
        #expect(isAccepted)
        let isFound = try sockets.takeListener(named: "issued") != nil
        #expect(!isFound)
        _ = consume client
    }

    @Test("Path= and Mode= have no effect on an inherited socket; another Path= causes a warning, and needs no restart")
    func socketFile() {
        let own = SocketFile(path: "/a", mode: 0o666, isInherited: false)
        let inherited = SocketFile(path: "/a", mode: 0o666, isInherited: true)
        var settings = SocketSettings()
        settings.path = "/b"
        #expect(own.needsRestart(for: settings) && own.warning(about: settings) == nil)
        #expect(!inherited.needsRestart(for: settings))
        #expect(inherited.warning(about: settings)?.contains("set ListenStream= of issued.socket") == true)
        settings.path = "/a"
        #expect(!own.needsRestart(for: settings) && inherited.warning(about: settings) == nil)
        settings.mode = 0o600
        #expect(own.needsRestart(for: settings) && !inherited.needsRestart(for: settings))
        // Nobody has chosen the default path, so it causes no warning.
        #expect(inherited.warning(about: SocketSettings()) == nil)
        settings.maxKeys = 7
        #expect(own.applied(to: settings).maxKeys == 7 && own.applied(to: settings).mode == 0o666)
    }

    @Test("A socket that is not taken is closed")
    func closed() async throws {
        let folder = try ConfigurationFolder()
        let number = try inherited("\(folder.path)/s")
        do {
            _ = try InheritedSockets(pid: "7", count: "1", names: nil, ownPID: 7, firstDescriptor: number)
        }
        // A process that another test started meanwhile may have inherited the socket. It keeps it open until it ends.
        try await eventually("No process has the socket") {
            do {
                _ = try Socket.connect(to: .unix("\(folder.path)/s"), timeout: .zero)
                return false
            } catch let error as Errno where error == .connectionRefused {
                return true
            }
        }
    }

    @Test(
        "A listener is found by its name, otherwise the first one is used",
        arguments: [
            ("a:issued", "second"), ("a:b", "first"), ("issued:issued", "first"), ("", "first"),
        ])
    func named(names: String, which: String) throws {
        let folder = try ConfigurationFolder()
        let first = try consecutive(inherited("\(folder.path)/first"), inherited("\(folder.path)/second"))

        var sockets = try InheritedSockets(pid: "7", count: "2", names: names, ownPID: 7, firstDescriptor: first)
        guard let listener = try sockets.takeListener(named: "issued") else {
            Issue.record("The listener was not found")
            return
        }

        let client = try Socket.connect(to: .unix("\(folder.path)/\(which)"), timeout: .seconds(60))
        let isAccepted = try listener.accept() != nil
        #expect(isAccepted)
        _ = consume client
    }

    @Test("A listener with a fixed name is found by that name only")
    func onlyNamed() throws {
        let folder = try ConfigurationFolder()
        let descriptor = try inherited("\(folder.path)/first")
        var sockets = try InheritedSockets(
            pid: "7", count: "1", names: "issued", ownPID: 7, firstDescriptor: descriptor)
        let isFound = try sockets.takeListener(onlyNamed: "issued-metrics") != nil
        #expect(!isFound)
        let isLeft = try sockets.takeListener(onlyNamed: "issued") != nil
        #expect(isLeft)
    }

    @Test("A descriptor that is not a listener is ignored")
    func noListener() throws {
        let folder = try ConfigurationFolder()
        let file = try FileDescriptor.open(folder.write("x", to: "f")).release()
        var sockets = try InheritedSockets(pid: "7", count: "1", names: "issued", ownPID: 7, firstDescriptor: file)
        let isFound = try sockets.takeListener(named: "issued") != nil
        #expect(!isFound)
    }

    @Test(
        "Variables for another process, or with invalid values, are ignored",
        arguments: [
            (nil, "1"), ("8", "1"), ("", "1"), ("x", "1"), ("7", nil), ("7", "0"), ("7", "-1"), ("7", "x"),
            ("7", "99999"), ("7", "99999999999999"),
        ] as [(String?, String?)])
    func leftAlone(pid: String?, count: String?) throws {
        let folder = try ConfigurationFolder()
        let number = try inherited("\(folder.path)/s")
        defer { close(number) }
        var sockets = try InheritedSockets(
            pid: pid, count: count, names: nil, ownPID: 7, firstDescriptor: number)
        let isFound = try sockets.takeListener(named: "issued") != nil
        #expect(!isFound)
    }

    @Test("A number that is not an open descriptor is an error")
    func noDescriptor() {
        #expect(throws: Errno(rawValue: EBADF)) {
            _ = try InheritedSockets(pid: "7", count: "1", names: nil, ownPID: 7, firstDescriptor: 1_000_000)
        }
    }

    @Test("The variables are removed from the environment")
    func unset() async {
        // Changed in a process of its own, since other tests read the environment at the same time.
        await #expect(processExitsWith: .success) {
            let names = [
                "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_USEC", "WATCHDOG_PID", "NOTIFY_SOCKET",
            ]
            for name in names { try ProcessEnvironment.set(name, to: "1") }
            _ = try InheritedSockets.takeFromEnvironment()
            #expect(Watchdog.takeIntervalFromEnvironment() == nil)
            #expect(!ServiceNotification.takeFromEnvironment().hasServiceManager)
            for name in names { #expect(ProcessEnvironment[name] == nil) }
        }
    }
}
