import Foundation
import Glibc
import TestSockets
import Testing
import UnixIO

@Suite("TargetFolder")
struct TargetFolderTests {
    @Test("A file is created in the folder that was opened, even if the path now leads to another folder")
    func swapped() throws {
        let scratch = try ScratchFolder()
        for name in ["a", "trap"] { try FileSystem.makeFolders(scratch.file(name)) }
        let folder = try TargetFolder(scratch.file("a"))
        try FileSystem.rename(scratch.file("a"), to: scratch.file("b"))
        try FileManager.default.createSymbolicLink(atPath: scratch.file("a"), withDestinationPath: "trap")
        try folder.replace("x", by: Array("one".utf8), mode: 0o644)
        try folder.create("y").close()
        try folder.link("y", to: "z")
        try folder.remove("y")
        let isLinked = folder.contains("z")
        let isRemoved = !folder.contains("y")
        #expect(isLinked && isRemoved)
        #expect(try FileSystem.names(in: scratch.file("b")).sorted() == ["x", "z"])
        #expect(try FileSystem.status(of: scratch.file("b/x")).mode == 0o644)
        #expect(try FileSystem.names(in: scratch.file("trap")) == [])
    }

    @Test("A file can be created in a folder that may not be read", .enabled(if: getuid() != 0, "root may read all"))
    func unreadable() throws {
        let scratch = try ScratchFolder()
        try FileSystem.makeFolders(scratch.file("box"), mode: 0o300)
        try TargetFolder(scratch.file("box")).create("x").close()
        #expect(try FileSystem.status(of: scratch.file("box/x")).kind == .regular)
    }

    @Test("A new file replaces nothing and follows no link")
    func existing() throws {
        let scratch = try ScratchFolder()
        try FileManager.default.createSymbolicLink(atPath: scratch.file("link"), withDestinationPath: "far")
        try FileSystem.writeAtomically([1], to: scratch.file("file"))
        let folder = try TargetFolder(FileSystem.parentFolder(of: scratch.file("x")))
        for name in ["link", "file"] {
            #expect(throws: Errno.alreadyExists) { try folder.create(name).close() }
        }
        #expect(try FileSystem.names(in: FileSystem.parentFolder(of: scratch.file("x"))).sorted() == ["file", "link"])
    }

    @Test(
        "Root writes no file through a link of another user, but follows its own links",
        .enabled(if: getuid() == 0, "it needs root"), arguments: ["theirs", "theirs/inner", "own/theirs"])
    func otherUsers(path: String) throws {
        let scratch = try ScratchFolder()
        try FileSystem.makeFolders(scratch.file("target/inner"))
        try FileSystem.setOwner(4242, group: 4242, of: scratch.file("target/inner"))
        func link(_ name: String, to target: String, owner: UInt32) throws {
            try FileManager.default.createSymbolicLink(atPath: scratch.file(name), withDestinationPath: target)
            #expect(unsafe lchown(scratch.file(name), owner, owner) == 0)
        }
        try link("theirs", to: "target", owner: 4242)
        try link("own", to: "target", owner: 0)
        try link("target/theirs", to: "inner", owner: 4242)
        #expect(throws: Errno.notPermitted) {
            try FileSystem.writeAtomically([1], to: scratch.file("\(path)/x"))
        }
        #expect(try FileSystem.names(in: scratch.file("target/inner")) == [])
        // The folder itself may belong to another user, such as the user of node_exporter.
        try FileSystem.writeAtomically([1], to: scratch.file("own/inner/x"))
        #expect(try FileSystem.names(in: scratch.file("target/inner")) == ["x"])
    }
}
