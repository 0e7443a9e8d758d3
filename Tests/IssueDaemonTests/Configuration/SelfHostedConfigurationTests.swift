import Destinations
import IssueCore
import Testing

@testable import IssueDaemon

@Suite("Sections of self-hosted destinations")
struct SelfHostedConfigurationTests {
    @Test("By default, self-hosted destinations have no limits, use large batches, and share the times of [Forward]")
    func defaults() throws {
        let folder = try ConfigurationFolder()
        let configuration = try folder.load(
            """
            [Limits]
            GroupBurst=3
            [Forward]
            BatchRecords=7
            BatchDelay=2s
            [ClickHouse]
            URL=http://ch:8123
            [Elasticsearch second]
            URL=https://es:9200
            GroupBurst=9
            BatchRecords=50
            """)
        #expect(configuration.destinations.map(\.name) == ["clickhouse", "second"])
        #expect(configuration.destinations.map(\.kind.section) == ["ClickHouse", "Elasticsearch"])
        let (first, second) = (
            configuration.destinations[0].settings, configuration.destinations[1].settings
        )
        #expect(first.limits.groupBurst == 0)
        #expect(first.limits.globalBurst == 0)
        #expect(first.forward.batchRecords == 10_000)
        #expect(first.forward.batchBytes == 8 << 20)
        #expect(first.forward.batchDelay == .seconds(2))
        #expect(first.forward.sendRate.isUnlimited)
        #expect(first[option: "Database"] == "issued")
        #expect(first[option: "Table"] == "records")
        #expect(second.limits.groupBurst == 9)
        #expect(second.forward.batchRecords == 50)
        let text = configuration.text
        #expect(text.contains("[Elasticsearch second]\nURL=https://es:9200/\n"))
        #expect(try folder.load(text) == configuration)
    }

    @Test(
        "An invalid section is reported with its line",
        arguments: [
            ("[OTLP]\n", "issued.conf:1: [OTLP] has no address"),
            ("[OTLP]\nURL=http://a\nDatabase=x\n", "issued.conf:3: [OTLP] has no key Database="),
            ("[ClickHouse]\nURL=http://a\nCredential=/none\n", "issued.conf:3: [ClickHouse] has no credential"),
            ("[ClickHouse]\nURL=http://a\nTable=a b\n", "issued.conf:3: Invalid Table=a b;"),
            (
                "[OTLP]\nURL=http://a\nUser=x\n",
                "issued.conf:3: [OTLP] has no key User=; expected it in [Limits NAME] or [ClickHouse] or [Elasticsearch]."
            ),
            (
                "[Limits]\nUser=x\n",
                "issued.conf:2: [Limits] has no key User=; expected it in [Limits NAME] or [ClickHouse] or [Elasticsearch]."
            ),
            (
                "[OTLP]\nURL=http://a\nToken=x\n",
                "issued.conf:3: A token or password must not be in a configuration file. Write it to a file that only "
                    + "the daemon's user can read, and set Credential= to the file's absolute path."
            ),
            (
                "[ClickHouse]\nURL=http://a\nPassword=x\n",
                "issued.conf:3: A token or password must not be in a configuration file."
            ),
            (
                "[Elasticsearch]\nURL=http://a\nAPIKey=x\n",
                "issued.conf:3: A token or password must not be in a configuration file."
            ),
            (
                "[Notify]\nCommand=/bin/true\nSecret=x\n",
                "issued.conf:3: A token or password must not be in a configuration file."
            ),
            ("[OTLP]\nUrl=http://a\n", "issued.conf:2: [OTLP] has no key Url=. Did you mean URL=?"),
            ("[OTLP]\nURL=http://a\nCAFile=/etc/hosts\n", "issued.conf:3: CAFile=/etc/hosts contains no certificate"),
            (
                "[Elasticsearch]\nURL=https://u:p@h\n",
                "issued.conf:2: Invalid URL=…; expected an address such as https://search.example.com:9200, without a "
                    + "“?”; a user belongs in User=, and the password in the file that Credential= names."
            ),
            (
                "[ClickHouse]\nURL=h\n",
                "issued.conf:2: Invalid URL=…; expected an address such as https://clickhouse.example.com:8443,"
            ),
            (
                "[OTLP]\nURL=h\n",
                "issued.conf:2: Invalid URL=…; expected an address such as https://collector.example.com:4318,"
            ),
            ("[Elasticsearch]\nURL=http://a\nUser=a:b\n", "issued.conf:3: Invalid User=…;"),
            ("[ClickHouse]\nURL=http://a\nUser=a b\n", "issued.conf:3: Invalid User=…;"),
            ("[OTLP x]\nURL=http://a\n[ClickHouse x]\nURL=http://b\n", "issued.conf:3: Two destinations are named “x”"),
        ])
    func faults(text: String, beginning: String) throws {
        let problems = try ConfigurationFolder().problems(of: text)
        #expect(problems.first?.hasPrefix(beginning) == true, "\(problems)")
    }

    @Test("Only a password for basic authentication may contain spaces")
    func password() throws {
        let folder = try ConfigurationFolder()
        let file = try folder.write("p@ss word\n", to: "password", mode: 0o600)
        let text = "[Elasticsearch]\nURL=http://127.0.0.1\nUser=ops@example.com\nCredential=\(file)\n"
        let configuration = try folder.load(text)
        #expect(try configuration.destinations[0].tokenFile?.read().text == "p@ss word")
        #expect(configuration.destinations[0].settings[option: "User"] == "ops@example.com")
        #expect(try folder.load(configuration.text) == configuration)
        #expect(folder.problems(of: text.replacing("ops@", with: "a:b")).count == 1)
        for other in ["Elasticsearch", "OTLP", "ClickHouse"] {
            let problems = folder.problems(of: "[\(other)]\nURL=http://127.0.0.1\nCredential=\(file)\n")
            #expect(problems.count == 1 && problems[0].contains("it is not a token: it contains blanks"))
        }
        try folder.write("a\nb", to: "password", mode: 0o600)
        #expect(folder.problems(of: text).first?.contains("it is not a password") == true)
    }

    @Test("Settings that are probably a mistake cause a warning, and are used")
    func warnings() throws {
        let folder = try ConfigurationFolder()
        let token = try folder.write("token", to: "token", mode: 0o600)
        let configuration = try folder.load(
            """
            [LogzIO]
            URL=http://logs.example.com:8070
            Credential=\(token)
            [ClickHouse]
            URL=http://127.0.0.1:8123
            Credential=\(token)
            [ClickHouse far]
            URL=http://ch.example.com:8123
            Credential=\(token)
            [ClickHouse near]
            URL=http://ch.example.com:8123
            [Elasticsearch]
            URL=https://es.example.com
            Credential=\(token)
            Index=Issues
            """)
        #expect(
            configuration.warnings.map { $0.prefix { $0 != "," } } == [
                "Destination logzio: its shipping token is sent to logs.example.com:8070 unencrypted",
                "Destination far: its credential is sent to ch.example.com:8123 unencrypted",
                "Destination elasticsearch: Index=Issues has capital letters",
            ])
    }

    @Test("A KeepFree= that is more than half of the file system causes a warning")
    func keepFree() throws {
        let folder = try ConfigurationFolder()
        let path = "\(folder.path)/new/issues.db"
        let warnings = try folder.load("[Store]\nPath=\(path)\nKeepFree=1024T\n", for: .inspecting).warnings
        #expect(warnings.count == 1)
        let start = "[Store] KeepFree=1024T is more than half of the file system of \(path)"
        #expect(warnings.first?.hasPrefix(start) == true)
        #expect(try folder.load("[Store]\nPath=\(path)\nKeepFree=1M\n", for: .inspecting).warnings == [])
    }

    @Test("A ResolveAfter= that is not shorter than MaxAge= causes a warning")
    func resolveAfter() throws {
        let folder = try ConfigurationFolder()
        #expect(
            try folder.load("[Store]\nMaxAge=1h\nResolveAfter=1d\n", for: .inspecting).warnings == [
                "[Store] ResolveAfter=1d is not shorter than MaxAge=1h, so issues are removed before they are resolved."
            ])
        #expect(try folder.load("[Store]\nMaxAge=1d\nResolveAfter=23h\n", for: .inspecting).warnings == [])
    }
}
