import Foundation
import Glibc
import Testing
import UnixIO

@Suite("Files and folders")
struct FileSystemTests {
    @Test("An atomically written file is complete, has its mode, and leaves no temporary file")
    func writeAtomically() throws {
        let folder = try ScratchFolder()
        let path = folder.file("settings")
        try FileSystem.writeAtomically(Array("one".utf8), to: path, mode: 0o640)
        try FileSystem.writeAtomically(Array("two".utf8), to: path, mode: 0o640)

        #expect(try FileSystem.read(path, limit: 3) == Array("two".utf8))
        #expect(try FileSystem.status(of: path).mode == 0o640)
        #expect(try FileSystem.names(in: folder.path) == ["settings"])
    }

    @Test("A failed write keeps the old file and leaves no temporary file")
    func failedWrite() throws {
        let folder = try ScratchFolder()
        let path = folder.file("taken")
        try FileSystem.makeFolders(path)
        #expect(throws: Errno(rawValue: EISDIR)) { try FileSystem.writeAtomically([1], to: path) }
        #expect(try FileSystem.names(in: folder.path) == ["taken"])
    }

    @Test("A file is read up to the limit and rejected beyond it", arguments: [0, 1, 511, 512, 513, 100_000])
    func read(size: Int) throws {
        let folder = try ScratchFolder()
        let path = folder.file("f")
        let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try FileSystem.writeAtomically(content, to: path)
        #expect(try FileSystem.read(path, limit: size) == content)
        if size > 0 {
            #expect(throws: Errno.fileTooLarge) { _ = try FileSystem.read(path, limit: size - 1) }
        }
    }

    @Test("A file that reports a size of zero, such as one of /proc, is read up to the same limit")
    func readProc() throws {
        #expect(try !FileSystem.read("/proc/self/status", limit: 100_000).isEmpty)
        #expect(throws: Errno.fileTooLarge) { _ = try FileSystem.read("/proc/self/status", limit: 10) }
    }

    @Test("Missing folders are created, and existing ones stay unchanged")
    func makeFolders() throws {
        let folder = try ScratchFolder()
        let path = folder.file("a/b//c/")
        try FileSystem.makeFolders(path, mode: 0o700)
        try FileSystem.makeFolders(path, mode: 0o755)
        try FileSystem.makeFolders(folder.file("new/."))
        #expect(try FileSystem.status(of: folder.file("a/b/c")).kind == .directory)
        #expect(try FileSystem.status(of: folder.file("a/b/c")).mode == 0o700)

        try FileSystem.writeAtomically([], to: folder.file("file"))
        #expect(throws: Errno.notDirectory) { try FileSystem.makeFolders(folder.file("file")) }
        #expect(throws: Errno.notDirectory) { try FileSystem.makeFolders(folder.file("file/below")) }
    }

    @Test("Names can be listed, files can be renamed and removed, and links can be read")
    func names() throws {
        let folder = try ScratchFolder()
        for name in ["b", "a", "ü"] { try FileSystem.writeAtomically([], to: folder.file(name)) }
        try FileSystem.rename(folder.file("b"), to: folder.file("c"))
        try FileSystem.remove(folder.file("a"))
        unsafe symlink("/nowhere", folder.file("link"))

        #expect(try FileSystem.names(in: folder.path).sorted() == ["c", "link", "ü"].sorted())
        #expect(try FileSystem.status(of: folder.file("link"), followingLinks: false).kind == .symbolicLink)
        #expect(throws: Errno.noSuchFile) { _ = try FileSystem.status(of: folder.file("link")) }
        #expect(try FileSystem.readLink(folder.file("link")) == Array("/nowhere".utf8))
        #expect(throws: Errno.noSuchFile) { _ = try FileSystem.names(in: folder.file("none")) }
    }

    @Test(
        "The parent folder of a path ignores extra slashes; that of a name without a folder is the working folder",
        arguments: [("/a/b", "/a"), ("/a", "/"), ("a", "."), ("a/b/", "a"), ("/", "/"), ("//a", "/"), ("", ".")])
    func parentFolder(path: String, parent: String) {
        #expect(FileSystem.parentFolder(of: path) == parent)
    }

    @Test("The free space roughly matches the result of Foundation")
    func freeBytes() throws {
        let folder = try ScratchFolder()
        let attributes = try FileManager.default.attributesOfFileSystem(forPath: folder.path)
        let expected = try #require(attributes[.systemFreeSize] as? NSNumber).doubleValue
        // Other processes write to the same disk meanwhile.
        #expect(abs(Double(try FileSystem.freeBytes(at: folder.path)) - expected) < expected * 0.2 + 1e8)
    }

    @Test("A locked file cannot be locked again until the lock is released")
    func lock() throws {
        let folder = try ScratchFolder()
        let path = folder.file("lock")
        do {
            let lock = try FileLock(path)
            #expect(throws: Errno.wouldBlock) { try tryLock(path) }
            extendLifetime(lock)
        }
        try tryLock(path)
    }

    @Test("A lock is released even if a copy of its descriptor is still open, as in a child process before execve")
    func lockWithCopy() throws {
        let folder = try ScratchFolder()
        let path = folder.file("lock")
        let file = try FileDescriptor.open(path, [.readWrite, .create])
        let copy = FileDescriptor(owning: dup(file.rawValue))
        _ = try FileLock(file)
        try tryLock(path)
        extendLifetime(copy)
    }

    private func tryLock(_ path: String) throws(Errno) {
        _ = try FileLock(path)
    }
}
