import Foundation
import Glibc
import Testing
import UnixIO

@Suite("This process and its host")
struct CurrentProcessTests {
    @Test("We know who we are")
    func ourselves() {
        #expect(CurrentProcess.pid == ProcessInfo.processInfo.processIdentifier)
        #expect(CurrentProcess.userID == geteuid())
        #expect(Host.name == ProcessInfo.processInfo.hostName || !Host.name.isEmpty)
        #expect(UUID(uuidString: Host.bootID ?? "") != nil)
    }

    @Test("Root is known by name and number")
    func users() {
        #expect(UserDatabase.groupID(named: "root") == 0)
        #expect(UserDatabase.groupName(of: 0) == "root")
        #expect(UserDatabase.userID(named: "root") == 0)
        #expect(UserDatabase.userName(of: 0) == "root")
        #expect(UserDatabase.homeFolder(of: 0)?.hasPrefix("/") == true)
        #expect(UserDatabase.groupID(named: "no such group") == nil)
        #expect(UserDatabase.groupName(of: 4_000_000_123) == nil)
    }

    @Test("The environment is read and changed")
    func environment() throws {
        #expect(Environment["PATH"] == ProcessInfo.processInfo.environment["PATH"])
        #expect(Environment["UIO_NOT_THERE"] == nil)
        try Environment.set("UIO_TEST", to: "a=b")
        #expect(Environment["UIO_TEST"] == "a=b")
        try Environment.remove("UIO_TEST")
        #expect(Environment["UIO_TEST"] == nil)
    }

    @Test("Chance fills what it is asked to fill, and differs")
    func randomness() {
        #expect(Randomness.bytes(0).isEmpty)
        #expect(Randomness.bytes(1000).count == 1000)
        #expect(Set(Randomness.bytes(1000)).count > 100)
        #expect(Randomness.uint64() != Randomness.uint64())
    }

    @Test("As many files as allowed may be open")
    func openFiles() throws {
        let raised = try CurrentProcess.raiseOpenFileLimit()
        var limit = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #expect(UInt64(limit.rlim_cur) == raised)
        #expect(limit.rlim_cur == limit.rlim_max)
    }
}
