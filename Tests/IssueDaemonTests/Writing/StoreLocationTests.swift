import Foundation
import IssueStore
import TestSockets
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("The location of the database")
struct StoreLocationTests {
    private func folder(_ uid: UInt32, _ mode: UInt32) throws -> FileStatus {
        var status = try FileSystem.status(of: "/")
        (status.uid, status.mode) = (uid, mode)
        return status
    }

    @Test(
        "Root uses only folders that only root can write to; other users also use those that their group can write to",
        arguments: [
            (0, 0, 0o755, nil), (0, 1000, 0o700, .ownedBy(1000)), (0, 0, 0o775, .writableByOthers(0o775)),
            (0, 0, 0o1777, .writableByOthers(0o1777)), (1000, 1000, 0o700, nil), (1000, 0, 0o755, nil),
            (1000, 1000, 0o775, nil), (1000, 1001, 0o755, .ownedBy(1001)), (1000, 0, 0o1777, .writableByOthers(0o1777)),
        ] as [(UInt32, UInt32, UInt32, StoreLocation.Objection?)])
    func objections(user: UInt32, owner: UInt32, mode: UInt32, objection: StoreLocation.Objection?) throws {
        #expect(StoreLocation.objection(to: try folder(owner, mode), userID: user) == objection)
        // In a folder with the sticky bit, such as /tmp, users can't rename the entries of other users.
        let above = StoreLocation.objection(to: try folder(owner, mode), userID: user, isAncestor: true)
        #expect(above == (mode & 0o1000 != 0 ? nil : objection))
    }

    @Test("A symbolic link in place of a database file is refused, and so is a folder, unless its parent is private")
    func names() throws {
        let scratch = try ConfigurationFolder()
        let target = try scratch.write("precious", to: "target")
        let files = FileManager.default
        for name in ["issues.db", "issues.db-wal"] {
            let state = "\(scratch.path)/of-\(name)"
            try files.createDirectory(atPath: state, withIntermediateDirectories: true)
            try files.createSymbolicLink(atPath: "\(state)/\(name)", withDestinationPath: target)
            #expect(throws: StoreFailure.self) { try StoreLocation("\(state)/issues.db").check() }
            #expect(try FileSystem.status(of: "\(state)/\(name)", followingLinks: false).kind == .symbolicLink)
        }
        let taken = "\(scratch.path)/state/issues.db"
        try files.createDirectory(atPath: taken, withIntermediateDirectories: true)
        #expect(throws: StoreFailure.self) { try StoreLocation(taken).check() }
        try FileSystem.setMode(0o700, of: "\(scratch.path)/state")
        #expect(throws: Never.self) { try StoreLocation(taken).check() }
        #expect(throws: StoreFailure.self) { try StoreLocation("/dev/null").check() }
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "precious")
    }

    @Test(
        "The advice about a folder or link with a database file's name fits the file",
        arguments: [
            ("", "set [Store] Path= to its target", "[Store] Path= must name a file in it"),
            ("-wal", "move it away", "move it away"), ("-shm", "move it away", "move it away"),
        ])
    func advice(ending: String, forLink: String, forFolder: String) throws {
        let scratch = try ConfigurationFolder()
        let state = "\(scratch.path)/state"
        let path = "\(state)/issues.db"
        let files = FileManager.default
        try files.createDirectory(atPath: path + ending, withIntermediateDirectories: true)
        // Other users can enter the folder, so nothing in it is moved aside.
        try FileSystem.setMode(0o755, of: state)
        #expect(throws: StoreFailure.unusableLocation("\(path + ending) is a folder; \(forFolder)")) {
            try StoreLocation(path).check()
        }
        try files.removeItem(atPath: path + ending)
        try files.createSymbolicLink(atPath: path + ending, withDestinationPath: "/nowhere")
        let text = "\(path + ending) is a symbolic link, which is not followed; \(forLink)"
        #expect(throws: StoreFailure.unusableLocation(text)) { try StoreLocation(path).check() }
    }

    @Test(
        "A folder may be reached through a symbolic link, but root follows only links of root",
        .enabled(if: getuid() == 0))
    func links() throws {
        let scratch = try ConfigurationFolder()
        let files = FileManager.default
        try files.createDirectory(atPath: "\(scratch.path)/state", withIntermediateDirectories: true)
        let link = "\(scratch.path)/link"
        try files.createSymbolicLink(atPath: link, withDestinationPath: "\(scratch.path)/state")
        try StoreLocation("\(link)/issues.db").check()
        try Process.run(URL(filePath: "/usr/bin/chown"), arguments: ["-h", "4242:4242", link]).waitUntilExit()
        #expect(throws: StoreFailure.self) { try StoreLocation("\(link)/issues.db").check() }
        try FileSystem.setOwner(4242, group: 4242, of: "\(scratch.path)/state")
        #expect(throws: StoreFailure.self) { try StoreLocation("\(scratch.path)/state/issues.db").check() }
        #expect(throws: StoreFailure.self) { try StoreLocation("\(scratch.path)/state/deep/issues.db").check() }
        #expect(throws: Never.self) { try StoreLocation("\(scratch.path)/state/issues.db", userID: 4242).check() }
    }
}
