import IssueCommands
import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("issuectl retention")
struct RetentionTests {
    private static let reply = """
        {"records": 2001, "oldest": "2026-11-18T13:00:00.000Z", "bytes": 1048576, "max_bytes": 1073741824,
         "free_bytes": 107374182400, "keep_free": 268435456, "growth": 2097152, "rules": [
            {"rule": "max_age", "app": "shop", "uid": 33, "age": 604800000, "at": "2026-11-21T11:00:00.000Z", "records": 12},
            {"rule": "max_age", "age": 2592000000, "at": "2026-12-18T13:00:00.000Z", "records": 65536},
            {"rule": "max_size", "uid": 1000},
            {"rule": "keep_free"}, {"rule": "of the future"}
        ]}
        """

    @Test("The rules are shown in the order in which they remove records, with times and numbers")
    func table() {
        let outcome = issuectl(["retention"], .reply(Self.reply))
        #expect(outcome.calls == ["Retention {}"])
        #expect(outcome.code == .success)
        #expect(outcome.output.contains("  Records  2,001\n"))
        #expect(outcome.output.contains("  Used     1.0 MiB of 1.0 GiB, about 2.0 MiB more each day\n"))
        #expect(outcome.output.contains("  Free     100.0 GiB on the disk; KeepFree= is 256.0 MiB\n"))
        #expect(
            outcome.output.hasSuffix(
                """
                RULE                        NEXT          RECORDS  REMOVES
                MaxAge=7d of shop, user 33  now                12  the oldest records
                MaxAge=30d                  in 27 days     65,536  the oldest records
                MaxSize=                    not expected        -  -
                KeepFree=                   not expected        -  -
                of the future               not expected        -  -

                """), "\(outcome.output)")
    }

    @Test("If all records of a MaxAge= rule are in the open range, the next removal is \"after the open range\"")
    func openRange() {
        let reply = """
            {"records": 1, "bytes": 1048576, "max_bytes": 1073741824, "keep_free": 268435456, "rules": [
                {"rule": "max_age", "app": "shop", "uid": 33, "age": 604800000}]}
            """
        let lines = issuectl(["retention"], .reply(reply)).output.split(separator: "\n")
        let row = "MaxAge=7d of shop, user 33  after the open range        -  -"
        #expect(lines.last?.contains(row) == true, "\(lines)")
    }

    @Test("Above MaxSize=, the next removal is \"after the open range\" if all records are in that range")
    func sizeOfOpenRange() {
        let reply = """
            {"records": 1, "bytes": 8388609, "max_bytes": 8388608, "keep_free": 268435456, "rules": [
                {"rule": "max_size"}, {"rule": "keep_free"}]}
            """
        let output = issuectl(["retention"], .reply(reply)).output
        #expect(output.contains("\nMaxSize=   after the open range        -  -"), "\(output)")
        #expect(output.contains("\nKeepFree=  unknown "))
    }

    @Test("If other files fill the disk, no removal is expected for KeepFree=")
    func unreachable() {
        let reply = """
            {"records": 1, "bytes": 8388608, "max_bytes": 16777216, "free_bytes": 1024, "keep_free": 268435456,
             "unreachable": true, "rules": [{"rule": "max_size", "uid": 1000}, {"rule": "keep_free", "uid": 1000}]}
            """
        let output = issuectl(["retention"], .reply(reply)).output
        #expect(output.contains("KeepFree= is 256.0 MiB, but other files fill the disk\n"), "\(output)")
        #expect(output.contains("\nMaxSize=   unknown             -  the frequent issues of user 1000\n"), "\(output)")
        #expect(output.contains("\nKeepFree=  not expected        -  -\n"), "\(output)")
    }

    @Test("An unknown growth is left out, and then the next removal for MaxSize= is unknown")
    func unknownGrowth() {
        let unknown = Self.reply.replacing(#""growth": 2097152, "#, with: "")
        let output = issuectl(["retention"], .reply(unknown)).output
        #expect(output.contains("  Used     1.0 MiB of 1.0 GiB\n"))
        #expect(output.contains("\nMaxSize=                    unknown "))
        let none = issuectl(["retention"], .reply(Self.reply.replacing("2097152", with: "0"))).output
        #expect(none.contains("  Used     1.0 MiB of 1.0 GiB\n"))
        #expect(none.contains("\nMaxSize=                    not expected "))
    }

    @Test(
        "With --ndjson, the totals and each rule are a line; a user without permission is told who may see retention")
    func forms() {
        let lines = issuectl(["retention", "--ndjson"], .reply(Self.reply)).output.split(separator: "\n")
        #expect(lines.count == 6)
        #expect(
            lines[0].hasPrefix(#"{"records":"#) && lines[0].contains(#""max_bytes":"#) && !lines[0].contains("rule"))
        #expect(lines.dropFirst().allSatisfy { $0.contains("\"rule\"") })
        let denied = issuectl(["retention"], .failure(.refused(.denied)))
        #expect(
            denied.errors
                == "issuectl: permission denied: only root, the daemon's user and the groups in Operators= and Readers= "
                + "(issued.conf) see retention\n")
        let silences = issuectl(["silence"], .failure(.refused(.denied)))
        #expect(silences.errors.hasSuffix(" and Readers= (issued.conf) see silences\n"))
        #expect(issuectl(["retention", "now"]).code == .usage)
    }
}
