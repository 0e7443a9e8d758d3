import IssueProtocol
import IssueStore
import UnixIO

/// Brings over what is readable from databases that were set aside, and renames those that are done with.
struct RepairJob {
    private let file: String?
    private let isDryRun: Bool

    init(_ parameters: RepairParameters) {
        file = parameters.file
        isDryRun = parameters.isDryRun ?? false
    }

    func run(_ run: inout JobRun) throws -> RepairReply {
        let beginning = "\(run.fileName).damaged-"
        let known = try FileSystem.names(in: run.folder).sorted()
            .filter { $0.hasPrefix(beginning) && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
        if let file, !known.contains(file) { throw CollectorError.notFound(id: file) }
        var reply = RepairReply(files: file.map { [$0] } ?? known)
        if !isDryRun {
            for name in reply.files { try repair(name, &reply, &run) }
        }
        reply.isDone = true
        return reply
    }

    private func repair(_ name: String, _ reply: inout RepairReply, _ run: inout JobRun) throws {
        let path = "\(run.folder)/\(name)"
        let before = reply
        guard let store = try open(path, run) else {
            reply.hopeless.append(name)
            return
        }
        var isReadable = false
        while let portion = store.step() {
            isReadable = isReadable || !portion.submissions.isEmpty
            reply.recovered += try bringOver(portion.submissions, run.writer)
            reply.unreadable += portion.unreadable
            try run.progress(reply)
        }
        try bringOverNotes(of: store, run)
        guard !store.hasGivenUp, isReadable || reply.unreadable == before.unreadable else {
            reply.hopeless.append(name)
            run.log.warning(
                "None of the records of a database that was set aside can be read, leaving it",
                [
                    "file": path, "records": "\(reply.recovered - before.recovered)",
                    "unreadable": "\(reply.unreadable - before.unreadable)",
                    "ended": store.hasGivenUp ? "reading it came to no end" : "all was tried",
                ])
            return
        }
        try putAway(name, run)
        run.log.notice(
            "What could be read of a database that was set aside was brought over",
            [
                "file": path, "records": "\(reply.recovered - before.recovered)",
                "unreadable": "\(reply.unreadable - before.unreadable)",
            ])
    }

    private func open(_ path: String, _ run: JobRun) throws -> SetAsideStore? {
        // Who opens a pipe may wait for ever.
        guard (try? FileSystem.status(of: path).kind) == .regular else {
            run.log.warning("What was set aside in place of a database is no file, leaving it", ["file": path])
            return nil
        }
        do throws(StoreFailure) {
            return try SetAsideStore(path: path, randomBits: Randomness.uint64())
        } catch {
            if error.mayBeOfItsSchema, let store = try openByFreshSchema(path, run) { return store }
            run.log.warning(
                "Nothing can be read of a database that was set aside, leaving it",
                ["file": path, "error": "\(error)"])
            return nil
        }
    }

    /// The file into which a database is copied whose schema is replaced.
    private static func copy(of path: String) -> String { "\(path).repairing" }

    /// Removes what a daemon has left behind that ended in the middle of a repair.
    static func removeLeftovers(of path: String) {
        StoreFiles.remove(copy(of: path))
    }

    /// Opens a copy that has the schema of a fresh store; nothing where that does not help.
    private func openByFreshSchema(_ path: String, _ run: JobRun) throws -> SetAsideStore? {
        let copy = Self.copy(of: run.path)
        StoreFiles.remove(copy)
        // Whoever has opened it goes on reading it, and nothing is left behind by a daemon that ends meanwhile.
        defer { StoreFiles.remove(copy) }
        let log = (try? FileSystem.status(of: path + "-wal").size) ?? 0
        try run.expectRoom(for: try FileSystem.status(of: path).size + log)
        try SchemaPages(makingStoreAt: copy).copy(path, to: copy, goOn: run.goOn)
        guard let store = try? SetAsideStore(path: copy, original: path, randomBits: Randomness.uint64()) else {
            return nil
        }
        run.log.notice(
            "What names the tables of a database that was set aside is gone, reading it by that of a new one",
            ["file": path])
        return store
    }

    private func bringOver(_ submissions: [Submission], _ writer: WriterService) throws -> Int64 {
        guard !submissions.isEmpty else { return 0 }
        return try writer.perform { writer in
            try writer.bringOver(submissions, wall: Clock.wall, monotonic: Clock.monotonic)
        }
    }

    private func bringOverNotes(of store: SetAsideStore, _ run: JobRun) throws {
        var last: Int64 = 0
        while let (notes, next) = store.notes(above: last) {
            last = next
            try run.writer.perform { try $0.bringOver(notes) }
            try run.goOn()
        }
    }

    /// What is done with is not gone through again, and stays until somebody takes it away.
    private func putAway(_ name: String, _ run: JobRun) throws {
        let path = "\(run.folder)/\(name)"
        let beginning = "\(run.folder)/\(run.fileName)"
        let done = beginning + ".repaired-" + path.dropFirst(beginning.count + ".damaged-".count)
        for ending in ["", "-wal", "-shm"] {
            do throws(Errno) {
                try FileSystem.rename(path + ending, to: done + ending)
            } catch {
                guard error == .noSuchFile else { throw error }
            }
        }
    }
}
