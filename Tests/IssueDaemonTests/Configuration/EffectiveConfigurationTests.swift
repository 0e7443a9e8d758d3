import Destinations
import Foundation
import IssueCore
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Running despite configuration errors")
struct EffectiveConfigurationTests {
    private let source = ConfigurationSource.default

    /// Returns the configuration that a daemon uses when it starts with the file `text` or, if `running` is not nil,
    /// when it reloads after the file has changed from `running` to `text`.
    private func decide(
        _ text: String, lastValid: String? = nil, running: String? = nil, in folder: borrowing ConfigurationFolder
    ) throws -> EffectiveConfiguration {
        let variables = ["STATE_DIRECTORY": "\(folder.path)/state"]
        func read(_ text: String) throws -> ConfigurationReading {
            try folder.write(text, to: "issued.conf")
            var reader = ConfigurationReader(environment: folder.environment(variables), purpose: .running)
            return reader.read(source)
        }
        let lastValid = try lastValid.map { try read($0).configuration }
        let running = try running.map { EffectiveConfiguration(try read($0), lastValid: lastValid) }
        return EffectiveConfiguration(try read(text), lastValid: lastValid, running: running)
    }

    @Test("Without errors the files are used, even if a credential is missing")
    func valid() throws {
        let folder = try ConfigurationFolder()
        let plain = try decide("[Store]\nMaxAge=1d\n", in: folder)
        #expect(plain.isValid && plain.basis == .files && plain.problems.isEmpty && plain.faults.isEmpty)
        let text = "[LogzIO]\nRegion=eu\nCredential=/none\n[Store]\nMaxAge=2d\n"
        let found = try decide(text, lastValid: "[Store]\nMaxAge=1d\n", in: folder)
        #expect(found.isValid && found.basis == .files)
        #expect(found.configuration.store.retention.maxAge == .seconds(2 * 86_400))
        #expect(found.configuration.destinations.map(\.name) == ["logzio"])
        #expect(found.problems.map(\.scope) == [.credential("logzio")])
        #expect(found.adviceByDestination["logzio"]?.contains("issued.conf:3: [LogzIO] has no shipping token") == true)
        // The state of the destination shows that the credential is missing, and is updated when the file appears.
        #expect(found.faults.isEmpty)
    }

    @Test(
        "An error in a destination's section pauses only that destination",
        arguments: [
            "Region=mars", "URL=http://a\nRegion=eu", "Region=eu\nNonsense=1", "Region=eu\nCAFile=/none", "",
            "Region=eu\nGroupBurst=x", "Region=eu\na pasted line", "Region=eu\nRegion=eu",
            "Region=eu\nConnectTimeout=60s\nRequestTimeout=5s", "Region=eu\nToken=abc",
        ])
    func destination(lines: String) throws {
        let folder = try ConfigurationFolder()
        let token = try folder.write("token", to: "token", mode: 0o600)
        let text = """
            [LogzIO]
            Credential=\(token)
            Backlog=all
            \(lines)
            [LogzIO second]
            Region=us
            Credential=\(token)
            [OTLP]
            URL=http://localhost:4318
            [Store]
            MaxAge=2d
            """
        let found = try decide(text, lastValid: "[Store]\nMaxAge=1d\n", in: folder)
        #expect(found.basis == .files && !found.isValid)
        #expect(found.configuration.misconfigured.map(\.name) == ["logzio"])
        #expect(found.configuration.misconfigured.map(\.kind.name) == ["logzio"])
        #expect(found.configuration.misconfigured.map(\.settings.backlog) == [.all])
        #expect(found.configuration.destinations.map(\.name) == ["second", "otlp"])
        #expect(found.configuration.store.retention.maxAge == .seconds(2 * 86_400))
        #expect(found.problems.allSatisfy { $0.scope == .destination("logzio") })
        #expect(found.faults.count == found.problems.count && found.faults[0].text.contains("issued.conf:"))
    }

    @Test("Of two destinations with one name, neither is used")
    func sameName() throws {
        let folder = try ConfigurationFolder()
        let text = "[OTLP otlp]\nURL=http://localhost:1\n[Elasticsearch OTLP]\nURL=http://localhost:2\n"
        let found = try decide(text, in: folder)
        #expect(found.configuration.destinations.isEmpty)
        #expect(found.configuration.misconfigured.map(\.name) == ["otlp"])
    }

    @Test(
        "An error that is not confined to one destination or notifier leads to the last valid configuration",
        arguments: [
            "[Store]\nMaxSize=plenty\n", "[Nonsense]\n", "[Store\nMaxAge=1d\n", "nonsense\n", "[Log]\nLevle=info\n",
            "[Socket]\nMaxRecordSize=2M\n", "[Limits shop]\nGroupBurst=x\n", "[Access]\nReaders=no-such-group-here\n",
            "[Store]\nPath=relative\n", "[LogzIO a/b]\nRegion=eu\n", "[Log]\nLevel=\u{1}\n",
        ])
    func general(text: String) throws {
        let folder = try ConfigurationFolder()
        let last = "[Store]\nMaxAge=1d\nPath=/a/b\n"
        let found = try decide(text + "[Forward]\nBatchRecords=7\n", lastValid: last, in: folder)
        #expect(found.basis == .lastValid && !found.isValid && !found.suspendsRetention)
        #expect(
            found.configuration.store.path == "/a/b" && found.configuration.store.retention.maxAge == .seconds(86_400))
        #expect(found.configuration.forward.batchRecords == Configuration.default.forward.batchRecords)
        #expect(
            found.faults[0].text.contains("last valid configuration") && found.faults[0].text.contains("issued.conf:"))
    }

    @Test("Without a last valid configuration the lines without errors are used, and defaults for the others")
    func validLines() throws {
        let folder = try ConfigurationFolder()
        let found = try decide(
            "[Socket]\nMaxConnections=10\nMaxDepth=x\nMaxKeys=99\n[Log]\nLevel=info\nTarget=x\n", in: folder)
        #expect(found.basis == .validLines && found.problems.count == 3)
        #expect(found.configuration.socket.maxKeys == 99 && found.configuration.log.level == .info)
        #expect(found.configuration.socket.maxDepth == 32 && found.configuration.log.target == .auto)
        // A maximum of 10 for all users and 1,024 for one user contradict each other.
        #expect(found.configuration.socket.maxConnections == Configuration.default.socket.maxConnections)
        #expect(!found.suspendsRetention)
    }

    @Test("Keys below an invalid header belong to no section")
    func brokenHeader() throws {
        let folder = try ConfigurationFolder()
        let found = try decide(
            "[OTLP]\nURL=http://localhost:1\n[OTLP second\nURL=http://localhost:2\nBacklog=all\n[Log]\nLevel=info\n",
            in: folder)
        #expect(found.problems.map(\.location.line) == [3])
        #expect(
            found.configuration.destinations.count == 1
                && found.configuration.text.contains("URL=http://localhost:1/"))
        #expect(found.configuration.destinations.map(\.settings.backlog) == [.new])
        #expect(found.configuration.log.level == .info)
    }

    @Test(
        "An error never grants rights",
        arguments: [
            // The line is valid, and the error is elsewhere.
            ("[Access]\nOperators=1 2\n[Log]\nLevel=x\n", [2]),
            ("[Access]\nReaders=2\nOperators=2 no-such-group-here\n", []),
            ("[Access]\nOperatrs=\n", []),
            // The invalid section may have withdrawn rights.
            ("[Acess]\nOperators=\n[Access]\nOperators=1 2\n", [2]),
        ] as [(String, Set<UInt32>)])
    func access(text: String, operators: Set<UInt32>) throws {
        let folder = try ConfigurationFolder()
        let withLast = try decide(text, lastValid: "[Access]\nOperators=2 3\n", in: folder)
        #expect(withLast.configuration.access.operatorIDs == operators)
        let without = try decide(text, in: folder)
        #expect(without.configuration.access.operatorIDs == (text.contains("[Log]") ? [1, 2] : []))
        #expect(without.configuration.access.readerIDs == [])
    }

    @Test(
        "Instead of an invalid Mode=, that of the last valid configuration applies, or else the documented default",
        arguments: ["0999", "rw-rw----", "06600"])
    func mode(text: String) throws {
        let folder = try ConfigurationFolder()
        let lines = "[Socket]\nMode=\(text)\n"
        let found = try decide(lines, lastValid: "[Socket]\nMode=0660\n", in: folder)
        #expect(found.configuration.socket.mode == 0o660)
        #expect(try decide(lines, in: folder).configuration.socket.mode == 0o666)
    }

    @Test("With an error elsewhere, ContainerUsers=no applies only if the last valid configuration has it, too")
    func containerUsers() throws {
        let folder = try ConfigurationFolder()
        let lines = "[Access]\nContainerUsers=no\n"
        let other = "[Log]\nLevel=x\n"
        #expect(try decide(lines + other, lastValid: lines, in: folder).configuration.access.containerUsers == false)
        #expect(try decide(lines + other, lastValid: "", in: folder).configuration.access.containerUsers)
        #expect(try decide(other, lastValid: lines, in: folder).configuration.access.containerUsers)
    }

    @Test("Retention is suspended while its settings are unknown")
    func retention() throws {
        let folder = try ConfigurationFolder()
        let database = try folder.write(String(repeating: "x", count: 5_000), to: "state/issues.db")
        try folder.write("[Store]\nPath=\(database)\nMaxSize=100GB\nMaxAge=7d\n", to: "issued.conf")
        let environment = folder.environment(["STATE_DIRECTORY": "\(folder.path)/state"])
        let store = EffectiveConfiguration(source, in: environment).configuration.store
        #expect(store.retention.maxSize == 5_000 + 1 << 30)
        #expect(store.retention.maxAge > .seconds(3_000 * 86_400))
        #expect(store.path == database)
    }

    @Test("Retention is suspended while the maximum age of an application is unknown")
    func applicationAges() throws {
        let folder = try ConfigurationFolder()
        try folder.write(
            "[Store]\nMaxAge=1d\n[Limits shop]\nMaxAge=9 lives\n[Limits import]\nMaxAge=1h\n", to: "issued.conf")
        let retention = EffectiveConfiguration(source, in: folder.environment([:])).configuration.retention
        #expect(retention.maxAge > .seconds(3_000 * 86_400))
        #expect(retention.applicationAges.isEmpty)
    }

    @Test("A daemon with --config does not use the default database if errors hide which one is meant")
    func namedFile() throws {
        let folder = try ConfigurationFolder()
        let file = ConfigurationSource.file("\(folder.path)/typo.conf")
        let environment = folder.environment(userID: 0)
        let standard = "/var/lib/issued/issues.db"
        let missing = EffectiveConfiguration(file, in: environment)
        #expect(missing.configuration.store.path == "/var/lib/issued/unknown-config/issues.db")
        #expect(missing.faults.first?.text.contains("/typo.conf: The file can't be read") == true)
        #expect(missing.faults.first?.text.contains("/var/lib/issued/unknown-config/issues.db") == true)
        for text in ["[Store]\nPath=relative\n", "[Store\n", "[Store]\nMaxSize=x\n"] {
            try folder.write(text, to: "typo.conf")
            #expect(EffectiveConfiguration(file, in: environment).separateStore != nil, "\(text)")
        }
        // The database is known, or the error does not concern it.
        let known = "[Store]\nPath=\(standard)\n"
        for text in ["\(known)MaxSize=x\n", "\(known)Paths=/elsewhere\n", "[Log]\nLevel=x\n", ""] {
            try folder.write(text, to: "typo.conf")
            let effective = EffectiveConfiguration(file, in: environment)
            #expect(effective.configuration.store.path == standard, "\(text)")
            #expect(effective.separateStore == nil)
        }
        // No other daemon uses the state directory of a service.
        try folder.write("[Store\n", to: "typo.conf")
        let service = folder.environment(userID: 0, ["STATE_DIRECTORY": "\(folder.path)/state"])
        #expect(EffectiveConfiguration(file, in: service).separateStore == nil)
    }

    @Test("A reload with an error changes nothing, unless only a credential is missing")
    func reload() throws {
        let folder = try ConfigurationFolder()
        let token = try folder.write("token", to: "token", mode: 0o600)
        let good = "[LogzIO]\nRegion=eu\nCredential=\(token)\n"
        let bad = "[LogzIO]\nRegion=mars\nCredential=\(token)\n[Store]\nMaxAge=1d\n"
        let kept = try decide(bad, lastValid: good, running: good, in: folder)
        #expect(kept.basis == .lastValid)
        #expect(kept.configuration.destinations.count == 1 && kept.configuration.store == StoreSettings())
        // The same error in a second reload changes nothing, either.
        let again = EffectiveConfiguration(
            source, in: folder.environment(["STATE_DIRECTORY": "\(folder.path)/state"]),
            lastValid: kept.configuration, running: kept)
        #expect(again.basis == .lastValid && again.configuration == kept.configuration && !again.problems.isEmpty)
        // At the start the destination is paused, and it stays paused after a reload with the same error.
        let started = try decide(bad, lastValid: good, running: bad, in: folder)
        #expect(started.basis == .files && started.configuration.misconfigured.count == 1)
        let lost = try decide("[LogzIO]\nRegion=us\nCredential=/none\n", lastValid: good, running: good, in: folder)
        #expect(lost.isValid && lost.configuration.destinations.first?.address.url == "https://listener.logz.io:8071/")
    }

    @Test("A private copy of a valid configuration is kept, and is found despite errors in the files")
    func lastValid() throws {
        let folder = try ConfigurationFolder()
        for name in ["state", "elsewhere"] {
            try FileManager.default.createDirectory(atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
        }
        let environment = folder.environment(["STATE_DIRECTORY": "\(folder.path)/state:/other"])
        let copy = LastValidConfiguration(source: source, environment: environment)
        let database = "\(folder.path)/elsewhere/issues.db"
        try folder.write("[Store]\nPath=\(database)\nMaxAge=3d\n[Access]\nReaders=root\n", to: "issued.conf")
        let valid = EffectiveConfiguration(source, in: environment)
        try copy.write(valid.configuration)
        for name in ["state", "elsewhere"] {
            let status = try FileSystem.status(of: "\(folder.path)/\(name)/\(LastValidConfiguration.fileName)")
            #expect(status.mode == 0o600)
        }

        // The line with the path of the database is invalid.
        try folder.write("[Store]\nPath=elsewhere\nMaxAge=4d\n", to: "issued.conf")
        let found = EffectiveConfiguration(source, in: environment)
        #expect(found.basis == .lastValid && found.configuration.store.path == database)
        #expect(found.configuration.store.retention.maxAge == .seconds(3 * 86_400))

        // A copy that others could have written, or one of other files, is not used.
        try folder.write("[Log]\nLevel=x\n", to: "issued.conf")
        #expect(copy.read(nextTo: database) == valid.configuration)
        #expect(LastValidConfiguration(source: .file("/x"), environment: environment).read(nextTo: database) == nil)
        for name in ["state", "elsewhere"] {
            try FileSystem.setMode(0o666, of: "\(folder.path)/\(name)/\(LastValidConfiguration.fileName)")
        }
        #expect(copy.read(nextTo: database) == nil)
        #expect(EffectiveConfiguration(source, in: environment).basis == .validLines)
    }

    @Test("At most ten errors are shown individually")
    func many() throws {
        let folder = try ConfigurationFolder()
        let found = try decide("[Log]\n" + String(repeating: "Levle=x\n", count: 500), in: folder)
        #expect(found.problems.count == 500 && found.faults.count == 11)
        #expect(found.faults.last?.text == "490 more configuration errors: see issued --check")
    }
}
