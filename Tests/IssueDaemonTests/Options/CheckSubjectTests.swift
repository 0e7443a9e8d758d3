import Foundation
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("The user as which --check checks files")
struct CheckSubjectTests {
    private let users = [
        UserDatabase.User(name: "root", userID: 0, groupID: 0),
        UserDatabase.User(name: "issued", userID: 990, groupID: 991),
        UserDatabase.User(name: "alice", userID: 1000, groupID: 1000),
    ]

    private func subject(
        _ option: String? = nil, callerID: UInt32, unit: ServiceUnit = ServiceUnit(folders: []), without: String = ""
    ) throws -> CheckSubject {
        try CheckSubject(option: option, callerID: callerID, unit: unit) { name in
            users.first { $0.name != without && ($0.name == name || "\($0.userID)" == name) }
        }
    }

    @Test("Root checks as the user of the unit, other users as themselves, and the check names the user")
    func choice() throws {
        #expect(try subject(callerID: 0).choice == .other(users[1]))
        #expect(try subject(callerID: 0).explanation == "user issued, the user of issued.service")
        #expect(try subject(callerID: 990).choice == .caller)
        #expect(try subject(callerID: 990).explanation == "user issued")
        #expect(try subject(callerID: 1000).choice == .caller)
        #expect(try subject(callerID: 1000).explanation == "user alice, not as issued: only root can do that")
        #expect(try !subject(callerID: 1000).isDaemonUser)
        #expect(try subject(callerID: 0).isDaemonUser && subject(callerID: 990).isDaemonUser)
        #expect(try subject("alice", callerID: 0).choice == .other(users[2]))
        #expect(try subject("root", callerID: 0).choice == .caller)
        #expect(throws: UsageError.self) { try subject("nobody-here", callerID: 0) }
        let missing = try subject(callerID: 0, without: "issued")
        #expect(missing.choice == .caller)
        #expect(missing.explanation == "user root because there is no user issued")
    }

    @Test("The unit's user and writable folders are read from the unit and its drop-ins")
    func unit() throws {
        let folder = try ConfigurationFolder()
        try folder.write("[Service]\nUser=issued\nProtectSystem=strict\n", to: "lib/issued.service")
        try folder.write("[Service]\nUser=alice\n", to: "lib/issued.service.d/10.conf")
        try folder.write("[Service]\nUser=\nUser=1000\n", to: "etc/issued.service.d/10.conf")
        try folder.write("[Service]\nReadWritePaths=-/srv /data\n", to: "etc/issued.service.d/20.conf")
        let unit = ServiceUnit(folders: ["\(folder.path)/etc", "\(folder.path)/lib"])
        #expect(unit.isInstalled && unit.user == "1000" && unit.writablePaths == ["/srv", "/data"])
        #expect(unit.sourcePath == "\(folder.path)/etc/issued.service.d/10.conf")
        let subject = try subject(callerID: 0, unit: unit)
        #expect(subject.choice == .other(users[2]))
        #expect(subject.warnings(on: "/srv/x/issues.db", unit: unit) == [])
        #expect(subject.warnings(on: "/var/lib/issued/issues.db", unit: unit) == [])
        #expect(subject.warnings(on: "/opt/issues.db", unit: unit).first?.contains("ReadWritePaths=/opt") == true)
    }

    @Test("A unit without User= runs as root, unless it is masked")
    func withoutUser() throws {
        let folder = try ConfigurationFolder()
        try folder.write("[Service]\nProtectSystem=strict\n", to: "lib/issued.service")
        let lib = "\(folder.path)/lib"
        #expect(ServiceUnit(folders: [lib]).user == "root")
        #expect(try subject(callerID: 0, unit: ServiceUnit(folders: [lib])).explanation == "user root")
        try folder.write("[Service]\nUser=alice\n", to: "lib/issued.service.d/10.conf")
        #expect(ServiceUnit(folders: [lib]).user == "alice")
        try folder.write("", to: "masked/issued.service")
        let masked = ServiceUnit(folders: ["\(folder.path)/masked"])
        #expect(masked.user == "issued" && !masked.isInstalled)
    }

    @Test("A database that can't be created at Path= is an error")
    func path() throws {
        let folder = try ConfigurationFolder()
        func problems(_ path: String) throws -> [String] {
            folder.problems(of: "[Store]\nPath=\(path)\n", for: .inspecting)
        }
        #expect(try problems(folder.path).first?.hasPrefix("issued.conf:2: Path=") == true)
        #expect(try problems(folder.path).first?.contains("is a folder") == true)
        #expect(try problems("/dev/null").count == 1)
        #expect(try problems("\(folder.path)/new/issues.db") == [])
        #expect(try problems("/var/lib/issued/issues.db") == [])
    }
}
