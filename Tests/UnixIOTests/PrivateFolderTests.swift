import Foundation
import Glibc
import TestSockets
import Testing
import UnixIO

@Suite("PrivateFolder")
struct PrivateFolderTests {
    @Test("Missing folders are created for the user only; files can be written, read and removed by name")
    func files() throws {
        let scratch = try ScratchFolder()
        #expect(throws: Errno.noSuchFile) { _ = try PrivateFolder(scratch.file("a/b")).names() }
        let folder = try PrivateFolder(scratch.file("a/b"), makesMissing: true)
        #expect(try FileSystem.status(of: scratch.file("a")).mode == 0o700)
        try folder.writeAtomically(Array("one".utf8), to: "x")
        #expect(try FileSystem.status(of: scratch.file("a/b/x")).mode == 0o600)
        #expect(try folder.names() == ["x"])
        #expect(try folder.read("x", limit: 3) == Array("one".utf8))
        #expect(throws: Errno.fileTooLarge) { try folder.read("x", limit: 2) }
        try folder.rename("x", to: "y")
        try folder.remove("y")
        #expect(try folder.names() == [])
    }

    @Test("A folder that other users can access is rejected", arguments: [0o755, 0o770, 0o701] as [UInt32])
    func modes(mode: UInt32) throws {
        let scratch = try ScratchFolder()
        try FileSystem.makeFolders(scratch.file("a"), mode: 0o700)
        try FileSystem.setMode(mode, of: scratch.file("a"))
        #expect(throws: Errno.notPermitted) { _ = try PrivateFolder(scratch.file("a")).names() }
    }

    @Test("A path is rejected if other users can change a part of it", arguments: [0o757, 0o777] as [UInt32])
    func parents(mode: UInt32) throws {
        let scratch = try ScratchFolder()
        try FileSystem.makeFolders(scratch.file("a/b"), mode: 0o700)
        try FileSystem.setMode(mode, of: scratch.file("a"))
        #expect(throws: Errno.notPermitted) { _ = try PrivateFolder(scratch.file("a/b")).names() }
        // In a sticky folder such as /tmp, only owners can move their entries.
        try FileSystem.setMode(mode | 0o1000, of: scratch.file("a"))
        #expect(try PrivateFolder(scratch.file("a/b")).names() == [])
    }

    @Test("A link of the user is followed; cycles, files and relative paths are errors")
    func links() throws {
        let scratch = try ScratchFolder()
        try FileSystem.makeFolders(scratch.file("real/inner"), mode: 0o700)
        try FileManager.default.createSymbolicLink(atPath: scratch.file("there"), withDestinationPath: "./real")
        try FileManager.default.createSymbolicLink(
            atPath: scratch.file("far"), withDestinationPath: scratch.file("real/../there/inner"))
        try PrivateFolder(scratch.file("far")).writeAtomically([1], to: "x")
        #expect(try FileSystem.names(in: scratch.file("real/inner")) == ["x"])
        try FileManager.default.createSymbolicLink(atPath: scratch.file("circle"), withDestinationPath: "circle")
        #expect(throws: Errno.tooManyLinks) { _ = try PrivateFolder(scratch.file("circle")).names() }
        #expect(throws: Errno.notDirectory) { _ = try PrivateFolder(scratch.file("real/inner/x")).names() }
        #expect(throws: Errno.invalidArgument) { _ = try PrivateFolder("real").names() }
    }

    @Test("An open folder stays the same, even if it is replaced at its path")
    func swapped() throws {
        let scratch = try ScratchFolder()
        let folder = try PrivateFolder(scratch.file("a"), makesMissing: true)
        try FileSystem.rename(scratch.file("a"), to: scratch.file("b"))
        try FileSystem.makeFolders(scratch.file("elsewhere"), mode: 0o700)
        try FileManager.default.createSymbolicLink(atPath: scratch.file("a"), withDestinationPath: "elsewhere")
        try folder.writeAtomically([1], to: "x")
        #expect(try FileSystem.names(in: scratch.file("b")) == ["x"])
        #expect(try FileSystem.names(in: scratch.file("elsewhere")) == [])
    }

    @Test("Links and pipes in the folder are not opened")
    func odd() throws {
        let scratch = try ScratchFolder()
        let folder = try PrivateFolder(scratch.file("a"), makesMissing: true)
        try FileManager.default.createSymbolicLink(atPath: scratch.file("a/link"), withDestinationPath: "/etc/passwd")
        #expect(throws: Errno.tooManyLinks) { _ = try folder.open("link").status() }
        #expect(unsafe mkfifo(scratch.file("a/pipe"), 0o600) == 0)
        #expect(throws: Errno.notSupported) { _ = try folder.open("pipe").status() }
    }

    @Test("Folders of other users are rejected", .enabled(if: geteuid() == 0, "only root can give a folder away"))
    func others() throws {
        let scratch = try ScratchFolder()
        try FileSystem.makeFolders(scratch.file("theirs/own"), mode: 0o700)
        try FileSystem.setOwner(4242, group: 4242, of: scratch.file("theirs"))
        #expect(throws: Errno.notPermitted) { _ = try PrivateFolder(scratch.file("theirs/own")).names() }
        #expect(throws: Errno.notPermitted) { _ = try PrivateFolder(scratch.file("theirs")).names() }
    }

    @Test("A user namespace has an overflow user if its map contains only some of the users")
    func namespaces() {
        func overflowUserID(_ map: String) -> UInt32? {
            IdentityMap(map: Array(map.utf8), overflow: Array("65534\n".utf8)).overflowUserID
        }
        #expect(overflowUserID("         0          0 4294967295\n") == nil)
        #expect(overflowUserID("         0       1000          1\n") == 65534)
        #expect(overflowUserID("0 1000 1\n1 100000 65536\n") == 65534)
        #expect(overflowUserID("") == nil)
        let map = IdentityMap(map: Array("0 1000 1\n1 100000 65536\nx\n".utf8), overflow: [])
        #expect(map.contains(65534))
        #expect(!map.contains(65537))
        #expect(map.overflowUserID == nil)
    }
}
