import IssueCore
import IssueDaemon
import Testing

@Suite("Sections of the team's own stores")
struct OwnStoreConfigurationTests {
    @Test("They take everything in large batches, unless the section says else, and share the times of [Forward]")
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
        #expect(configuration.ownStores.map(\.name) == ["clickhouse", "second"])
        #expect(configuration.ownStores.map(\.kind.section) == ["ClickHouse", "Elasticsearch"])
        let (first, second) = (configuration.ownStores[0].settings, configuration.ownStores[1].settings)
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
        "One that cannot work is complained of with a line",
        arguments: [
            ("[OTLP]\n", "issued.conf:1: [OTLP] does not say where to"),
            ("[OTLP]\nURL=http://a\nDatabase=x\n", "issued.conf:3: [OTLP] has no key Database="),
            ("[ClickHouse]\nURL=http://a\nCredential=/none\n", "issued.conf:3: [ClickHouse] has no shipping token"),
            ("[ClickHouse]\nURL=http://a\nTable=a b\n", "issued.conf:3: Table=a b cannot be"),
            ("[OTLP x]\nURL=http://a\n[ClickHouse x]\nURL=http://b\n", "issued.conf:3: There are two destinations “x”"),
        ])
    func faults(text: String, beginning: String) throws {
        let problems = try ConfigurationFolder().problems(of: text)
        #expect(problems.first?.hasPrefix(beginning) == true, "\(problems)")
    }
}
