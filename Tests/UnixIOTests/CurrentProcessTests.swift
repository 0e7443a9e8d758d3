import Foundation
import Glibc
import TestSockets
import Testing
import UnixIO

@Suite("The current process and its host")
struct CurrentProcessTests {
    @Test("Process, user and host are known")
    func ourselves() throws {
        #expect(CurrentProcess.pid == ProcessInfo.processInfo.processIdentifier)
        #expect(CurrentProcess.userID == geteuid())
        #expect(try "\(Host.name)\n" == String(contentsOfFile: "/proc/sys/kernel/hostname", encoding: .utf8))
    }

    @Test("Root is found by name and by id")
    func users() {
        #expect(UserDatabase.groupID(named: "root") == 0)
        #expect(UserDatabase.userID(named: "root") == 0)
        #expect(UserDatabase.user(named: "0")?.name == "root")
        #expect(UserDatabase.homeFolder(of: 0)?.hasPrefix("/") == true)
        #expect(UserDatabase.groupID(named: "no such group") == nil)
    }

    @Test("The environment can be read and changed")
    func environment() async {
        // Changed in a process of its own, since other tests read the environment at the same time.
        await #expect(processExitsWith: .success) {
            #expect(ProcessEnvironment["PATH"] == ProcessInfo.processInfo.environment["PATH"])
            #expect(ProcessEnvironment["UIO_TEST"] == nil)
            try ProcessEnvironment.set("UIO_TEST", to: "a=b")
            #expect(ProcessEnvironment["UIO_TEST"] == "a=b")
            try ProcessEnvironment.remove("UIO_TEST")
            #expect(ProcessEnvironment["UIO_TEST"] == nil)
        }
    }

    @Test("Random numbers differ")
    func randomness() {
        #expect(Randomness.uint64() != Randomness.uint64())
    }

    @Test("The limit of open files can be raised to its maximum")
    func openFiles() throws {
        var limit = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max - 1
        try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        let raised = try CurrentProcess.raiseOpenFileLimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #expect(UInt64(limit.rlim_cur) == raised)
        #expect(limit.rlim_cur == limit.rlim_max)
    }
}
