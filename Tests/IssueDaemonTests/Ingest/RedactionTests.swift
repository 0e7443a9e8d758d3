import IssueCore
import IssueProtocol
import IssueStore
import Synchronization
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Redaction in the daemon")
struct RedactionTests {
    private var hashing: RedactionSettings {
        var settings = RedactionSettings()
        settings[.email] = .hash
        return settings
    }

    private let log = Log(level: .notice, form: .plain) { _ in }

    @Test("The key for hashes is created once, when it is first needed, and only the daemon's user can read it")
    func key() throws {
        let folder = try ConfigurationFolder()
        let file = RedactionKeyFile(nextTo: "\(folder.path)/issues.db")
        var masking = file.redactor(RedactionSettings(), log)
        #expect(masking.text("pwd=hunter2") == "pwd=[@password]")
        #expect((try? FileSystem.status(of: file.path)) == nil)
        var first = file.redactor(hashing, log)
        #expect(try FileSystem.status(of: file.path).mode & 0o777 == 0o600)
        var second = file.redactor(hashing, log)
        let text = first.text("mail ann@example.net")
        #expect(text.hasPrefix("mail [@email:"))
        #expect(second.text("mail ann@example.net") == text)
    }

    @Test("If the file with the key is damaged, values are masked instead of hashed, and the file is left unchanged")
    func damagedKey() throws {
        let folder = try ConfigurationFolder()
        let file = RedactionKeyFile(nextTo: "\(folder.path)/issues.db")
        try FileSystem.writeAtomically([1, 2, 3], to: file.path)
        let (log, lines) = keptLog()
        var redactor = file.redactor(hashing, log)
        #expect(redactor.text("mail ann@example.net") == "mail [@email]")
        #expect(lines().joined().contains("config.redaction-key-unusable"))
        #expect(try FileSystem.read(file.path, limit: 16) == [1, 2, 3])
    }

    @Test("The redacted values of a report that is read twice are counted once, and those of a refused report never")
    func counts() throws {
        var reader = ReportReader(limits: RecordLimits(), seed: 1, redactor: Redactor(RedactionSettings()))
        var batch = RecordBatch()
        let parameters = Array(#"{"records":[{"message":"pwd=hunter2"}]}"#.utf8)
        let unusual = Array(
            #"{"method":"org.issued.Collector.Report","parameters":{"records":[{"message":"pwd=hunter2"}]},"x":1}"#.utf8
        )
        #expect(try reader.readInOnePass(unusual.span, token: 0, into: &batch) == nil)
        #expect(reader.takeRedactions() == nil)
        _ = try reader.read(parameters.span, token: 0, into: &batch)
        #expect(reader.takeRedactions()?[.password] == 1)
        #expect(reader.takeRedactions() == nil)
        let invalid = Array(#"{"records":[{"message":"pwd=hunter2"}],"sequence":"x"}"#.utf8)
        #expect(throws: CollectorError.self) { _ = try reader.read(invalid.span, token: 0, into: &batch) }
        #expect(reader.takeRedactions() == nil)
    }
}
