import IssueProtocol
import IssueTestSupport
import Issues
import Testing
import UnixIO

@testable import IssueCommands

@Suite("issuectl backup, repair and purge")
struct MaintenanceTests {
    private static let copied = #"{"path":"/state/issues.db.backup-T","bytes_done":3145728,"bytes_total":3145728}"#
    private static let copying = #"{"bytes_done":1048576,"bytes_total":3145728}"#

    @Test("Without FILE, a backup stays in the daemon's folder and its path is printed")
    func backup() {
        let outcome = issuectl(["backup"], .parts([Self.copying, Self.copied], nil))
        #expect(outcome.code == .success)
        #expect(outcome.output == lines("/state/issues.db.backup-T: 3.0 MiB"))
        #expect(outcome.errors == "")
        #expect(outcome.calls == ["Backup {}"])
    }

    private static let passed = #"{"descriptor":0,"bytes_done":3145728,"bytes_total":3145728}"#

    @Test("A backup that the daemon passes as a descriptor is written to FILE, or into a folder under a default name")
    func savedBackup() {
        let saved = issuectl(["backup", "/srv/copy.db"], .file([Self.copying, Self.passed]))
        #expect(saved.output == lines("/srv/copy.db: 3.0 MiB"))
        #expect(saved.calls == [#"Backup {"descriptor":true}"#])
        let json = issuectl(["backup", "/srv/copy.db", "--json"], .file([Self.passed]))
        #expect(json.output == lines(#"{"path":"/srv/copy.db","bytes_done":3145728,"bytes_total":3145728}"#))
        let folder = issuectl(["backup", "/srv/"], .file([Self.passed]))
        #expect(folder.output == lines("/srv/issues.db.backup-2026-11-21T12:00:00.000Z: 3.0 MiB"))
        let full = issuectl(["backup", "/full/copy.db"], .file([Self.passed]))
        #expect(full.code == .refused)
        #expect(full.errors == lines("issuectl: the disk is full"))
        // FILE is checked before anything is copied.
        let output = issuectl(["backup", "-"])
        #expect(output.code == .usage && output.calls.isEmpty && output.errors.contains("use ./-"))
        let taken = issuectl(["backup", "/taken/copy.db"])
        #expect(taken.code == .refused)
        #expect(taken.calls.isEmpty)
    }

    @Test("A FILE that ends with a slash is a folder, which must exist")
    func missingFolder() throws {
        let folder = try ScratchFolder()
        let (absent, file) = (folder["absent"], try folder.write("text", to: "file"))
        for path in [absent + "/", file + "/"] {
            let failure = CommandFailure(.refused, "\(path) is not an existing folder: nothing was copied")
            #expect(throws: failure) { try FileSaving.process.check(path) }
        }
        try FileSaving.process.check(folder.path + "/")
        try FileSaving.process.check(absent)
    }

    @Test("A FILE on a file system without free space is refused before anything is copied")
    func noFreeSpace() {
        let failure = CommandFailure(.refused, "the file system of /proc has no free space: nothing was copied")
        #expect(throws: failure) { try FileSaving.process.check("/proc/copy.db") }
    }

    @Test("If the daemon replies with a path instead of a file descriptor, the path is shown, but not used")
    func pathInsteadOfFile() {
        let outcome = issuectl(["backup", "/srv/copy.db"], .parts([Self.copied], nil))
        #expect(outcome.code == .refused)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.contains("/state/issues.db.backup-T"))
        // A descriptor that the reply does not mention is not used either.
        #expect(issuectl(["backup", "/srv/copy.db"], .file([Self.copied])).code == .refused)
    }

    @Test("An unknown database is an error that names the file as given", arguments: ["nope", "../nope"])
    func unknownDatabase(operand: String) {
        let outcome = issuectl(["repair", operand], .failure(.refused(.notFound(id: "nope"))))
        #expect(outcome.code == .refused)
        #expect(outcome.calls == [#"Repair {"file":"nope"}"#])
        #expect(
            outcome.errors == lines("issuectl: no database '\(operand)' was moved aside: see issuectl repair --list"))
    }

    @Test("On a terminal, a job shows its progress")
    func progress() {
        let outcome = issuectl(["backup"], width: 80, .parts([Self.copying, Self.copied], nil))
        #expect(outcome.errors == "\r\u{1B}[K1.0 MiB of 3.0 MiB copied\r\u{1B}[K")
        for words in [["backup"], ["backup", "/copy"]] {
            let failed = issuectl(words, width: 80, .parts([Self.copying, Self.copying], .closed))
            let shown = "\r\u{1B}[K1.0 MiB of 3.0 MiB copied\r\u{1B}[Kissuectl: the daemon"
            #expect(failed.errors.contains(shown), "\(failed.errors.debugDescription)")
        }
    }

    @Test("A missing permission and a full disk are reported")
    func refused() {
        let denied = issuectl(["backup"], .failure(.refused(.denied)))
        #expect(denied.code == .refused)
        #expect(denied.errors.contains("Operators="))
        #expect(issuectl(["backup"], .parts([Self.copying], .refused(.noSpace))).code == .tryAgain)
    }

    @Test("A purge requires a filter, and --yes if it cannot ask")
    func purgeUsage() {
        #expect(issuectl(["purge", "--yes"]).code == .usage)
        let destination = issuectl(["purge", "--destination", "logzio", "--yes"])
        #expect(destination.code == .usage && destination.errors.contains("--destination needs --fate"))
        for option in [["--until", "2026-11-01"], ["--severity", "error"], ["--since", "1d"], ["--text", "x"]] {
            let repeated = issuectl(["purge", "--app", "shop", "--yes"] + option + option)
            #expect(repeated.code == .usage && repeated.errors.contains("\(option[0]) can be given only once"))
        }
        let abbreviated = issuectl(["purge", "--group", "gab12", "--yes"])
        #expect(abbreviated.code == .usage && abbreviated.errors.contains("purge needs the whole id"))
        let piped = issuectl(["purge", "--app", "shop"])
        #expect(piped.code == .usage)
        #expect(piped.errors.contains("--yes"))
        #expect(piped.calls.isEmpty)
    }

    @Test("With --yes, a purge is performed and lists where copies may remain")
    func purge() {
        let reply =
            #"{"count":1234,"unreachable":["the backup /b","3 of the erased records at the destination logzio"]}"#
        let outcome = issuectl(
            ["purge", "--app", "shop", "--yes"], .parts([#"{"count":512,"unreachable":[]}"#, reply], nil))
        #expect(outcome.code == .success)
        #expect(outcome.calls == [#"Purge {"filter":{"apps":["shop"]}}"#])
        #expect(
            outcome.output
                == lines(
                    """
                    1,234 records were erased.
                    Copies may remain in:
                      the backup /b
                      3 of the erased records at the destination logzio
                    """))
    }

    @Test("A dry run of a purge only counts the records")
    func dryRun() {
        let outcome = issuectl(["purge", "--user", "1001", "-n"], .parts([#"{"count":1,"unreachable":[]}"#], nil))
        #expect(outcome.output == lines("1 record would be erased."))
        #expect(outcome.calls == [#"Purge {"filter":{"users":[1001]},"dry_run":true}"#])
    }

    @Test(
        "On a terminal, a purge shows the number of records and the conditions, and asks for confirmation",
        arguments: ["y\n", "yes\n", "n\n", ""])
    func asks(answer: String) {
        let count = ScriptedLink.Reply.parts([#"{"count":2,"unreachable":[]}"#], nil)
        let outcome = issuectl(
            ["purge", "--app", "shop"], width: 80, input: answer.isEmpty ? [] : [answer], count, count)
        #expect(outcome.output.hasPrefix("Permanently erase 2 records with --app shop? [y/N] "))
        let isConfirmed = answer.hasPrefix("y")
        #expect(outcome.code == (isConfirmed ? .success : .refused))
        #expect(outcome.calls.count == (isConfirmed ? 2 : 1))
        #expect(outcome.calls.first == #"Purge {"filter":{"apps":["shop"]},"dry_run":true}"#)
    }

    @Test("If nothing matches, a purge does not ask")
    func nothing() {
        let outcome = issuectl(["purge", "--app", "x"], width: 80, .parts([#"{"count":0,"unreachable":[]}"#], nil))
        #expect(outcome.output == lines("No records match."))
    }

    @Test("A backup prints how many records of the copy can't be read; a repair prints how many were already stored")
    func countsOfOthers() {
        let copied = #"{"path":"/state/issues.db.backup-T","bytes_done":1,"bytes_total":1,"unreadable":256}"#
        let backup = issuectl(["backup"], .parts([copied], nil))
        #expect(backup.code == .success)
        #expect(backup.errors.contains("256 records in the copy can't be read"))
        let reply = #"{"recovered":7,"earlier":12000,"unreadable":3,"done":true,"files":["issues.db.damaged-A"]}"#
        #expect(
            issuectl(["repair"], .parts([reply], nil)).output.hasPrefix(
                "7 records recovered, 12,000 already stored, 3 could not be read, from:"))
    }

    @Test(
        "If the number of records that a repair could not read is only a minimum, the output says so",
        arguments: [
            (3, "7 records recovered, at least 3 could not be read"),
            (0, "7 records recovered, at least 0 could not be read"),
        ])
    func minimum(unreadable: Int, text: String) {
        let reply = #"""
            {"recovered":7,"unreadable":\#(unreadable),"at_least":true,"done":true,"files":["issues.db.damaged-A"]}
            """#
        #expect(issuectl(["repair"], .parts([reply], nil)).output == lines("\(text), from:\n  issues.db.damaged-A"))
    }

    @Test("A backup of a damaged database fails with the advice to keep older backups")
    func damagedCopy() {
        let copied = #"{"path":"/state/issues.db.backup-T","bytes_done":1,"bytes_total":1,"damaged":true}"#
        let backup = issuectl(["backup"], .parts([copied], nil))
        #expect(backup.code == .refused)
        #expect(backup.output.hasPrefix("/state/issues.db.backup-T: "))
        #expect(backup.errors.contains("keep older backups"))
    }

    @Test("A repair lists the databases that it could not read to the end, and exits with 1")
    func unreadableFiles() {
        let reply = #"""
            {"recovered":7,"unreadable":0,"done":true,"files":["issues.db.damaged-A","issues.db.damaged-B"],"hopeless":["issues.db.damaged-B"]}
            """#
        let outcome = issuectl(["repair"], .parts([reply], nil))
        #expect(outcome.code == .refused)
        #expect(
            outcome.output
                == lines(
                    """
                    7 records recovered, from:
                      issues.db.damaged-A
                    These could not be read, or not to the end; they are unchanged (see journalctl -u issued):
                      issues.db.damaged-B
                    """))
    }

    @Test("A repair lists the databases that were moved aside, and processes all or the named one")
    func repair() {
        let reply = #"{"recovered":1200,"unreadable":3,"done":true,"files":["issues.db.damaged-A"]}"#
        let all = issuectl(["repair"], .parts([reply], nil))
        #expect(all.calls == ["Repair {}"])
        #expect(
            all.output
                == lines("1,200 records recovered, 3 could not be read, from:\n  issues.db.damaged-A"))
        let one = issuectl(["repair", "/state/issues.db.damaged-A"], .parts([reply], nil))
        #expect(one.calls == [#"Repair {"file":"issues.db.damaged-A"}"#])
        let list = issuectl(["repair", "--list"], .parts([reply], nil))
        #expect(list.calls == [#"Repair {"dry_run":true}"#])
        #expect(list.output == lines("issues.db.damaged-A"))
        let none = issuectl(["repair"], .parts([#"{"recovered":0,"unreadable":0,"done":true,"files":[]}"#], nil))
        #expect(none.output == lines("No database was moved aside."))
    }

    @Test(
        "A backup gets its name even on a file system without hard links, and replaces no file",
        // The last two are ENOSYS and EMLINK.
        arguments: [.notPermitted, .notSupported, Errno(rawValue: 38), Errno(rawValue: 31)] as [Errno])
    func withoutHardLinks(error: Errno) throws {
        let folder = try ScratchFolder()
        let (copy, other) = (folder["copy"], folder["other"])
        try folder.write("new", to: "tmp")
        let target = try TargetFolder(folder.path)
        let refuse = { (_: borrowing TargetFolder, _: String, _: String) throws(Errno) in throw error }
        try FileSaving.rename("tmp", to: "copy", in: target, link: refuse)
        #expect(try FileSystem.read(copy, limit: 10) == Array("new".utf8))
        #expect(folder.names == ["copy"])
        try FileSystem.writeAtomically(Array("old".utf8), to: other)
        #expect(throws: Errno.alreadyExists) { try FileSaving.rename("copy", to: "other", in: target, link: refuse) }
        #expect(throws: Errno.alreadyExists) { try FileSaving.rename("copy", to: "other", in: target) }
        #expect(try FileSystem.read(other, limit: 10) == Array("old".utf8))
    }
}
